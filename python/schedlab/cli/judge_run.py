"""The output of ``schedlab judge``."""

from __future__ import annotations

from pathlib import Path

from schedlab.api import judging
from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.console import make
from schedlab.cli.interruption import UNDONE
from schedlab.cli.options import lasting
from schedlab.cli.watching import Shown
from schedlab.errors import Exit
from schedlab.findings.campaign import Standing, standing
from schedlab.report.answers.judge import compose_asked, compose_confirmation, compose_opened, compose_status
from schedlab.store import campaigns
from schedlab.store.file import open_store
from schedlab.store.location import Location

INTERRUPTED = f"{UNDONE}. The same command goes on."


def _watch() -> Shown:
    return Shown(make(stderr=True), interrupted=INTERRUPTED)


def _standing(store: Location, campaign: int) -> Standing:
    engine = open_store(store, create=False)
    return standing(engine, campaigns.campaign(engine, campaign))


def open_campaign(
    baseline: Path,
    alpha: float,
    delta: str | None,
    blocks: int | None,
    store: Location,
    target: str | None,
    sysroot: Path | None,
    form: AnswerFormat,
    output: Path | None,
) -> None:
    """``judge open``: check the baseline file and store the campaign."""
    campaign = judging.judge_open(
        baseline, alpha=alpha, delta=delta, blocks=blocks, store=store, target=target, sysroot=sysroot, watch=_watch()
    )
    present(compose_opened(campaign, lasting(store)), form, output)


def ask_and_print(
    store: Location, number: int | None, file: Path, blocks: int | None, form: AnswerFormat, output: Path | None
) -> int:
    """``judge ask``: measure a candidate, and print the answer; return the exit code."""
    result = judging.judge_ask(file, campaign=number, blocks=blocks, store=store, watch=_watch())
    campaign = _standing(store, result.candidate.campaign_id)
    present(compose_asked(campaign, result, str(file), lasting(store)), form, output)
    return Exit.FINE


def confirm_and_print(
    store: Location, number: int | None, name: str | None, blocks: int, form: AnswerFormat, output: Path | None
) -> int:
    """``judge confirm``: measure the winner in held-out blocks, and print the verdict; return the exit code."""
    winner, verdict = judging.judge_confirm(campaign=number, name=name, blocks=blocks, store=store, watch=_watch())
    campaign = _standing(store, winner.campaign_id)
    present(compose_confirmation(campaign, winner, verdict, lasting(store)), form, output)
    return Exit.FINE


def show_status(store: Location, number: int | None, form: AnswerFormat, output: Path | None) -> None:
    """``judge status``: print the candidates of a campaign."""
    present(compose_status(judging.judge_status(campaign=number, store=store), lasting(store)), form, output)

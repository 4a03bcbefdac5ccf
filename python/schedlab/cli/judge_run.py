"""The steps of ``schedlab judge``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlalchemy import Engine

from schedlab.cli import experiment_run
from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.console import make
from schedlab.cli.interruption import UNDONE, ending, measuring, show_failure
from schedlab.cli.options import lasting
from schedlab.errors import Exit, ExperimentError, SchedlabError, StoreError
from schedlab.execution.campaign import Answer, answer, ask
from schedlab.execution.loop import execute, require_runnable
from schedlab.experiment import changes
from schedlab.experiment.candidates import Proposal, check_baseline, propose
from schedlab.experiment.changes import Changes
from schedlab.experiment.load import load, parse
from schedlab.experiment.plan import Plan, of_one_row, plan
from schedlab.findings.campaign import standing
from schedlab.findings.run import findings
from schedlab.notation.units import parse_share
from schedlab.report.answers.judge import compose_asked, compose_confirmation, compose_opened, compose_status
from schedlab.results.words import Word
from schedlab.store import campaigns, reader
from schedlab.store.campaigns import Campaign, Candidate
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.store.run_rows import Run
from schedlab.targets.protocol import Target
from schedlab.targets.selection import choose

INTERRUPTED = f"{UNDONE}. The same command goes on."


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
    _, text = load(baseline)
    experiment = check_baseline(text, str(baseline))
    try:
        margin = experiment.analysis.delta if delta is None else parse_share(delta)
    except ValueError as error:
        raise SchedlabError(str(error), where="--delta", todo="write a share such as 2%") from None
    campaign = Campaign(
        name=experiment.experiment.name,
        alpha=alpha,
        delta=margin,
        blocks=experiment.design.blocks if blocks is None else blocks,
        experiment_file=text,
        experiment_path=str(baseline),
        target=target or "",
        sysroot=str(sysroot or ""),
    )
    _ready(campaign, of_one_row(experiment, 0), None)
    number = campaigns.open_campaign(open_store(store, create=True), campaign)
    present(compose_opened(replace(campaign, id=number), lasting(store)), form, output)


def ask_and_print(
    store: Location, number: int | None, file: Path, blocks: int | None, form: AnswerFormat, output: Path | None
) -> int:
    """``judge ask``: measure a candidate, and print the answer; return the exit code."""
    engine = open_store(store, create=False)
    campaign = campaigns.campaign(engine, number)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(
            f"cannot be read: {error}", where=str(file), todo="give a candidate's TOML file"
        ) from error
    proposal = propose(campaign.experiment_file, text, str(file), file.stem, campaign.alpha, campaign.delta)
    # Every question spends the candidate's share of alpha, so that the candidate is stored before the first trial.
    candidate = campaigns.candidate(engine, campaign.id, proposal.content, proposal.name)
    if candidate.run_id is None or not (result := answer(engine, campaign, candidate)).final:
        with ending(make(stderr=True), INTERRUPTED):
            result = _ask(engine, store, campaign, candidate, proposal, campaign.blocks if blocks is None else blocks)
    present(compose_asked(standing(engine, campaign), result, str(file), lasting(store)), form, output)
    return Exit.FINE


def _ask(
    engine: Engine, store: Location, campaign: Campaign, candidate: Candidate, proposal: Proposal, blocks: int
) -> Answer:
    """Measure fresh blocks of a candidate in the candidate's run, which the first question begins."""
    if candidate.run_id is None:
        run, experiment, text = None, proposal.experiment, proposal.text
    else:
        # The stored text contains the first name of the candidate.
        run = reader.run(engine, candidate.run_id)
        experiment, text = parse(run.experiment_file, f"run {run.id}"), run.experiment_file
    trial_plan = of_one_row(experiment, run.seed if run else None)
    target = _ready(campaign, trial_plan, run)
    if run is None:
        begun = _begin(engine, store, campaign, trial_plan, text, target, proposal.content)
        campaigns.set_run(engine, candidate.id, begun, "run_id")
        candidate = replace(candidate, run_id=begun)
    aside = make(stderr=True)
    with measuring(aside, target):
        return ask(trial_plan, target, engine, campaign, candidate, blocks, partial(show_failure, aside))


def confirm_and_print(
    store: Location, number: int | None, name: str | None, blocks: int, form: AnswerFormat, output: Path | None
) -> int:
    """``judge confirm``: measure the winner in held-out blocks, and print the verdict; return the exit code."""
    engine = open_store(store, create=False)
    campaign = campaigns.campaign(engine, number)
    winner = _winner(engine, campaign, name)
    run = None if winner.holdout_id is None else reader.run(engine, winner.holdout_id)
    if run is None or run.state != "complete":
        with ending(make(stderr=True), INTERRUPTED):
            winner = _confirm(engine, store, campaign, winner, run, blocks)
    (verdict,) = findings(engine, winner.holdout_id).verdicts
    present(compose_confirmation(standing(engine, campaign), winner, verdict, lasting(store)), form, output)
    return Exit.FINE


def _confirm(
    engine: Engine, store: Location, campaign: Campaign, winner: Candidate, run: Run | None, blocks: int
) -> Candidate:
    """Run the held-out blocks, or the rest of an interrupted confirmation; return the candidate with the run."""
    assert winner.run_id is not None
    file = reader.run(engine, winner.run_id).experiment_file if run is None else run.experiment_file
    experiment = parse(file, "the candidate's run")
    if run is None:
        experiment, file = changes.apply(Changes(blocks=blocks), experiment, file, "the candidate's run")
    trial_plan = plan(experiment, of_one_row(experiment, run.seed if run else None).seed)
    target = _ready(campaign, trial_plan, run)
    if run is None:
        begun = _begin(engine, store, campaign, trial_plan, file, target, "")
        campaigns.set_run(engine, winner.id, begun, "holdout_id")
        winner = replace(winner, holdout_id=begun)
    assert winner.holdout_id is not None
    aside = make(stderr=True)
    with measuring(aside, target):
        execute(trial_plan, target, engine, winner.holdout_id, partial(show_failure, aside))
    return winner


def _winner(engine: Engine, campaign: Campaign, name: str | None) -> Candidate:
    """Return the candidate to confirm: the candidate of an earlier confirmation, or the best better candidate."""
    listed = campaigns.candidates(engine, campaign.id)
    where = f"campaign {campaign.id}"
    confirmed = next((each for each in listed if each.holdout_id is not None), None)
    if confirmed is not None:
        if name not in (None, confirmed.name):
            todo = "open a new campaign for another confirmation: a second choice would be a selection"
            raise SchedlabError(f"the campaign has confirmed {confirmed.name!r}", where=where, todo=todo)
        return confirmed
    answers = [answer(engine, campaign, each) for each in listed if each.run_id is not None]
    better = [each for each in answers if each.word is Word.BETTER and name in (None, each.candidate.name)]
    if not better:
        todo = "'schedlab judge status' lists the candidates; ask more often, or propose other candidates"
        raise SchedlabError(f"{'no candidate' if name is None else repr(name)} is better", where=where, todo=todo)
    return max(better, key=lambda each: each.gain).candidate


def _ready(campaign: Campaign, trial_plan: Plan, run: Run | None) -> Target:
    """Return the campaign's target if the plan can run there; StoreError if the run was begun elsewhere."""
    sysroot = Path(campaign.sysroot) if campaign.sysroot else None
    target = choose(campaign.target or None, trial_plan.experiment, sysroot)
    require_runnable(trial_plan, target, experiment_run.show_download)
    if run is not None and (run.target != target.name or target.changes(run.fingerprint)):
        changed = "; ".join(target.changes(run.fingerprint)) if run.target == target.name else target.name
        raise StoreError(
            f"run {run.id} was begun on another machine or configuration: {changed}",
            where=run.store,
            todo="ask on that machine, or open a new campaign: a campaign judges on one machine",
        )
    return target


def _begin(
    engine: Engine, store: Location, campaign: Campaign, trial_plan: Plan, text: str, target: Target, content: str
) -> int:
    name = campaign.experiment_path
    source = experiment_run.Source(name, ("judge",), lambda: (trial_plan.experiment, text))
    request = experiment_run.Request(source, store, False, None, False, None)
    return experiment_run.begin(engine, request, trial_plan, text, target, candidate=content)


def show_status(store: Location, number: int | None, form: AnswerFormat, output: Path | None) -> None:
    """``judge status``: print the candidates of a campaign."""
    engine = open_store(store, create=False)
    campaign = campaigns.campaign(engine, number)
    present(compose_status(standing(engine, campaign), lasting(store)), form, output)

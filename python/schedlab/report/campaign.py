"""The answers of a campaign as JSON (documented in ``docs/judge.md``) and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.analysis.eprocess import spent
from schedlab.analysis.verdicts import Verdict
from schedlab.execution.campaign import Answer
from schedlab.notation.units import counted
from schedlab.report.numbers import change, interval
from schedlab.report.render.columns import Column, Columns
from schedlab.report.words import rare_event
from schedlab.results.metrics import finite
from schedlab.results.words import Word
from schedlab.store.campaigns import Campaign, Candidate


def to_json(campaign: Campaign, candidates: int, answer: Answer) -> dict[str, Any]:
    """Return the fields of an answer. ``candidates`` is the number of candidates of the campaign so far."""
    return {
        "campaign": campaign.id,
        "candidate": answer.candidate.position,
        "name": answer.candidate.name,
        "run": answer.candidate.run_id,
        "verdict": str(answer.word),
        "event_share": finite(answer.event_share),
        "ratio": finite(answer.ratio),
        "interval": [finite(answer.low), finite(answer.high)],
        "direction": answer.question.direction,
        "alpha": answer.alpha,
        "alpha_spent": campaign.alpha * spent(candidates),
        "e_value": answer.e_value,
        "blocks": answer.blocks,
        "failed_blocks": answer.failed,
        "reason": answer.reason,
    }


def confirmation_json(campaign: Campaign, candidate: Candidate, verdict: Verdict) -> dict[str, Any]:
    """Return the fields of a confirmation."""
    return {
        "campaign": campaign.id,
        "candidate": candidate.position,
        "name": candidate.name,
        "run": candidate.holdout_id,
        "verdict": str(verdict.word),
        "event_share": finite(verdict.event_share),
        "ratio": finite(verdict.ratio),
        "interval": [finite(verdict.low), finite(verdict.high)],
        "direction": verdict.question.direction,
        "p": finite(verdict.p),
        "blocks": verdict.n,
        "failed_trials": verdict.failed,
        "reason": verdict.reason,
    }


def sentence(name: str, judged: Answer | Verdict, blocks: int) -> str:
    """Return a verdict in one sentence."""
    size = f"{change(judged.ratio)} ({interval(judged.low, judged.high)})" if blocks else "no ratio"
    remark = f"; {rare_event(judged.event_share)}" if judged.word is Word.EQUIVALENT else ""
    return f"{name!r} is {judged.word}: {size}, {counted(blocks, 'block')}{remark}."


def render(campaign: Campaign, answers: Sequence[Answer]) -> RenderableType:
    """Return the state of a campaign for a terminal: the spent error rate, and a table of the candidates' answers."""
    head = Text.assemble((f"campaign {campaign.id}: {campaign.name}", "bold"))
    level = f"{100 * campaign.alpha:g} %"
    spending = (
        f'{counted(len(answers), "candidate")}; at most {level} chance of any false "{Word.BETTER}"; '
        f"the candidates have spent {100 * campaign.alpha * spent(len(answers)):.3g} %"
    )
    lines = [_line(answer) for answer in answers]
    headings = ("", "candidate", "verdict", "change", "bounds", "blocks", "evidence", "needed")
    columns = [
        Column(heading, [Text(line[place]) for line in lines], "name" if place in (1, 2) else "number")
        for place, heading in enumerate(headings)
    ]
    table: tuple[RenderableType, ...] = (Text(), Columns(columns)) if answers else ()
    shares = [answer.event_share for answer in answers if answer.word is Word.EQUIVALENT]
    note = (Text(f"{Word.EQUIVALENT}: {rare_event(max(shares))}", style="dim"),) if shares else ()
    return Group(head, Text(spending, style="dim"), *table, *note)


def _line(answer: Answer) -> tuple[str, ...]:
    bounds = interval(answer.low, answer.high) if finite(answer.low) and finite(answer.high) else "-"
    return (
        str(answer.candidate.position),
        answer.candidate.name,
        str(answer.word),
        change(answer.ratio) if answer.blocks else "-",
        bounds,
        str(answer.blocks),
        f"{answer.e_value:.3g}",
        f"{1 / answer.alpha:.3g}",
    )

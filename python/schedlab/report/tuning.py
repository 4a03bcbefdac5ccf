"""The result of a search as text and as JSON (documented in ``docs/tuning.md``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import expm1
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.analysis.verdicts import Verdict
from schedlab.execution.tuning import SearchedPoint, Tuning
from schedlab.experiment.sweep_table import Factor, Value
from schedlab.experiment.tuning import winner_names
from schedlab.notation.units import counted
from schedlab.report.answers.judge import size_of
from schedlab.report.numbers import change
from schedlab.report.render.columns import Column, Columns
from schedlab.results.metrics import finite
from schedlab.results.words import Word

LISTED = 5
"""Most points that the text lists, the best first. The JSON has all points."""


WARM = "warm start: "
"""Beginning of a run's note on the points of another search."""


@dataclass(frozen=True)
class Confirmed:
    """The confirmation of a search's winners.

    Attributes:
        run: number of the confirming run.
        number: position among the confirmations of the search, from 1.
        alpha: error rate of all verdicts of the confirmation together.
        verdicts: the verdicts of each winner: on the objectives, then on the constraints.
    """

    run: int
    number: int
    alpha: float
    verdicts: Sequence[Sequence[Verdict]]


Values = Mapping[str, Value]


def to_json(found: Tuning, confirmed: Confirmed | None, first: Sequence[Values]) -> dict[str, Any]:
    """Return the fields of the JSON object. ``first`` are the points of ``[tune] first``."""
    best, objective = found.best, found.objectives[0]
    return {
        "run": found.run.id,
        "name": found.run.name,
        "target": found.run.target,
        "kind": found.run.kind,
        "sampler": found.run.design.tuning,
        "metric": objective.metric,
        "unit": objective.unit,
        "direction": objective.direction,
        "objectives": [question.metric for question in found.objectives],
        "constraints": [question.metric for question in found.constraints],
        "points": [
            {
                "values": dict(point.values),
                "blocks": point.blocks,
                "ratio": found.ratio(point, objective),
                "ratios": _ratios(found, point),
                "keeps_constraints": found.keeps(point),
            }
            for point in found.points
        ],
        "warm_start": _warm_start(found, first),
        "winner": None if best is None else dict(best.values),
        "optimistic_ratio": None if best is None else found.ratio(best, objective),
        "confirmation": None if confirmed is None else _confirmation(confirmed, confirmed.verdicts[0][0]),
        "winners": [
            {
                "values": dict(point.values),
                "optimistic_ratios": _ratios(found, point),
                "confirmation": None
                if confirmed is None
                else {
                    verdict.question.metric: _confirmation(confirmed, verdict) for verdict in confirmed.verdicts[place]
                },
            }
            for place, point in enumerate(found.winners)
        ],
    }


def _warm_start(found: Tuning, first: Sequence[Values]) -> dict[str, Any] | None:
    notes = _notes(found)
    if not first and not notes:
        return None
    return {"points": len(first), "rank_correlation": found.rank_correlation(first), "notes": notes}


def _notes(found: Tuning) -> list[str]:
    return [note for note in found.run.notes if note.startswith(WARM)]


def _ratios(found: Tuning, point: SearchedPoint) -> dict[str, float]:
    questions = (*found.objectives, *found.constraints)
    return {question.metric: found.ratio(point, question) for question in questions}


def _confirmation(confirmed: Confirmed, verdict: Verdict) -> dict[str, Any]:
    return {
        "run": confirmed.run,
        "number": confirmed.number,
        "alpha": confirmed.alpha,
        "verdict": str(verdict.word),
        "event_share": finite(verdict.event_share),
        "ratio": finite(verdict.ratio),
        "interval": [finite(verdict.low), finite(verdict.high)],
        "p": finite(verdict.p),
        "p_adjusted": finite(verdict.p_adjusted),
        "blocks": verdict.n,
        "reason": verdict.reason,
    }


def render(
    found: Tuning, factors: Mapping[str, Factor], confirmed: Confirmed | None, first: Sequence[Values]
) -> RenderableType:
    """Return the result for a terminal."""
    return Group(*_parts(found, factors, confirmed, first))


def _parts(
    found: Tuning, factors: Mapping[str, Factor], confirmed: Confirmed | None, first: Sequence[Values]
) -> Iterator[RenderableType]:
    run, questions = found.run, (*found.objectives, *found.constraints)
    size = f"{counted(len(found.points), 'point')}, sampler {run.design.tuning}"
    yield Text.assemble((f"run {run.id}: {run.name}", "bold"), f" on {run.target}, {run.kind}")
    for place, question in enumerate(questions):
        metric = f"{question.workload} {question.metric} ({question.unit}, {question.direction} is better)"
        role = f"; {size}" if place == 0 else ""
        if question in found.constraints:
            role = f": at most {100 * expm1(found.margin):.2g} % worse than the default"
        yield Text(f"{metric}{role}", style="dim")
    yield Text()
    ordered = sorted(found.points, key=lambda point: (not found.keeps(point), -point.gain(found.objectives[0])))[
        :LISTED
    ]
    heading = "change in the search"
    yield Columns(
        [
            Column("values", [Text(_values(point, factors)) for point in ordered], "remark"),
            Column("blocks", [Text(str(point.blocks)) for point in ordered]),
            *(
                Column(
                    heading if len(questions) == 1 else question.metric,
                    [Text(change(found.ratio(point, question))) for point in ordered],
                )
                for question in questions
            ),
        ]
    )
    yield Text()
    for note in _notes(found):
        yield Text(note, style="dim")
    if first:
        correlation = found.rank_correlation(first)
        agreement = "unknown" if correlation is None else f"{correlation:+z.2f}"
        yield Text(f"rank correlation of their order with their figures: {agreement}", style="dim")
    if not found.winners:
        reason = "keeps the constraints and is better" if found.constraints else "is better"
        yield Text(f"No point {reason} than the default in the search; nothing was confirmed.", style="bold")
        return
    for place, (name, point) in enumerate(zip(winner_names(len(found.winners)), found.winners, strict=True)):
        yield Text(f"{name}: {_values(point, factors)}", style="bold")
        changes = ", ".join(
            f"{question.metric + ' ' if len(questions) > 1 else ''}{change(found.ratio(point, question))}"
            for question in questions
        )
        points = counted(len(found.points), "point")
        yield Text(f"in the search: {changes}, optimistic as the best of {points}", style="dim")
        if confirmed is not None:
            for verdict in confirmed.verdicts[place]:
                yield from _verdict(found, name, confirmed.run, verdict, len(questions))
    if confirmed is None:
        yield Text("not confirmed yet: the same command with --resume measures fresh blocks", style="yellow")
    else:
        yield Text(_error_rate(found, confirmed), style="dim")


def _error_rate(found: Tuning, confirmed: Confirmed) -> str:
    """Return what the confirmation may spend of the search's error rate."""
    verdicts = counted(sum(map(len, confirmed.verdicts)), "verdict")
    spent, whole = (f"{100 * share:.3g} %" for share in (confirmed.alpha, found.run.design.alpha))
    return (
        f"confirmation {confirmed.number} of this search: at most {spent} chance of any false verdict ({verdicts}); "
        f"all its confirmations together: {whole}"
    )


def _verdict(found: Tuning, name: str, run_id: int, verdict: Verdict, questions: int) -> Iterator[Text]:
    metric = f"{verdict.question.metric}: " if questions > 1 else ""
    words = f"{name!r} is {verdict.word}: {size_of(verdict, verdict.n)}."
    yield Text(f"confirmed on fresh blocks (run {run_id}): {metric}{words}", style="bold")
    limits = {question.metric for question in found.constraints}
    if verdict.question.metric in limits and verdict.word not in (Word.BETTER, Word.EQUIVALENT):
        breaks = verdict.word is Word.WORSE
        says = "breaks the constraint" if breaks else "is not shown to keep the constraint"
        yield Text(f"{name} {says} on {verdict.question.metric}", style="red" if breaks else "yellow")


def _values(point: SearchedPoint, factors: Mapping[str, Factor]) -> str:
    return ", ".join(f"{factors[name].label} {factors[name].shown(value)}" for name, value in point.values.items())

"""The answer of a search for the best values: does a point beat the default, confirmed or only in the search?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import Verdict
from schedlab.execution.tuning import WARM, Confirmed, SearchedPoint, Tuning, Values
from schedlab.experiment.tuning import winner_names
from schedlab.findings.settings import baseline_of
from schedlab.notation.units import counted
from schedlab.report.answer import (
    QUIET,
    Answer,
    Cell,
    Column,
    Line,
    Next,
    Section,
    Sentence,
    Setting,
    Span,
    Table,
    Warning,
)
from schedlab.report.answers import stored
from schedlab.report.answers.judge import size_of
from schedlab.report.fields.tune import fields
from schedlab.report.numbers import UNKNOWN, bounds, change, p_value
from schedlab.report.words import listed, measure
from schedlab.results.metrics import finite
from schedlab.results.words import Word

MOST_POINTS = 5
"""Points that the text lists."""

CORRECTED = (
    "p is corrected over the verdicts of this confirmation; the interval leaves room for the search's further "
    "confirmations."
)

TEXTS = {
    Word.BETTER: "is better",
    Word.WORSE: "is worse",
    Word.UNCONFIRMED: "differs, but unconfirmed, as the machine was disturbed",
    Word.EQUIVALENT: "does not differ",
    Word.INCONCLUSIVE: "has no verdict",
}
"""Verdicts of a sentence."""


def compose(
    found: Tuning,
    confirmed: Confirmed | None,
    first: Sequence[Values],
    at: stored.Store = (),
    words: Sequence[str] = (),
) -> Answer:
    """Return the answer.

    Args:
        found: the search.
        confirmed: the complete confirmation of the search's winners.
        first: the points of ``[tune] first``.
        at: see :data:`.stored.Store`.
        words: the command line of the search, if known.
    """
    run, names = found.run, winner_names(len(found.winners))
    default, text = baseline_of(run.experiment_file)
    points = _points(found)
    return Answer(
        kind="tune",
        title=stored.title(run),
        data=fields(found, confirmed, first),
        question=run.design.question,
        badges=stored.badges(run),
        facts=[*_facts(found, confirmed, first)],
        sentences=[*_sentences(found, names, confirmed)],
        warnings=[*_warnings(found, names, confirmed)],
        settings=[
            Setting(default, text or "the default"),
            *(Setting(name, exact(found, point)) for name, point in zip(names, found.winners, strict=True)),
        ],
        parts=[_winners(found, names, confirmed), Section("Points of the search", [points])] if names else [points],
        commands=[*_commands(found, confirmed, at, words)],
    )


def values_of(found: Tuning, point: SearchedPoint) -> str:
    """Return the values of a point as text."""
    factors = found.factors
    return ", ".join(f"{factors[name].label} {factors[name].shown(value)}" for name, value in point.values.items())


def exact(found: Tuning, point: SearchedPoint) -> str:
    """Return the values of a point with the numbers that an experiment file takes."""
    texts = []
    for name, value in point.values.items():
        shown = found.factors[name].shown(value)
        number = "" if str(value) in shown.split() else f" (= {value})"
        texts.append(f"{found.factors[name].label} {shown}{number}")
    return ", ".join(texts)


def _changes(found: Tuning, point: SearchedPoint) -> str:
    return ", ".join(f"{question.metric} {change(found.ratio(point, question))}" for question in found.questions)


def _sentences(found: Tuning, names: Sequence[str], confirmed: Confirmed | None) -> Iterator[Sentence]:
    points = counted(len(found.points), "point")
    if not names:
        which = "keeps the constraints and is better" if found.constraints else "is better"
        yield Sentence("", f"none of {points} {which} than the default in the search; nothing was confirmed",
                       Word.INCONCLUSIVE)  # fmt: skip
    for place, (name, point) in enumerate(zip(names, found.winners, strict=True)):
        subject = f"{name} ({values_of(found, point)})"
        searched = f"in the search {_changes(found, point)}, optimistic as the best of {points}"
        if confirmed is None:
            yield Sentence(subject, f"better than the default only {searched}; not confirmed", Word.UNCONFIRMED)
            continue
        verdicts = confirmed.verdicts[place]
        texts = [f"{each.question.metric} {TEXTS[each.word]}, {size_of(each, each.n)}" for each in verdicts]
        yield Sentence(subject, f"on fresh blocks (run {confirmed.run}) {'; '.join(texts)}; {searched}",
                       verdicts[0].word)  # fmt: skip


def _warnings(found: Tuning, names: Sequence[str], confirmed: Confirmed | None) -> Iterator[Warning]:
    if names and confirmed is None:
        yield Warning(Word.UNCONFIRMED, "The winner has not been measured again: its figure is partly luck.",
                      "the same command with --resume measures fresh blocks")  # fmt: skip
    limits = {question.metric for question in found.constraints}
    for name, verdicts in zip(names, confirmed.verdicts if confirmed else [], strict=False):
        for verdict in verdicts:
            metric = verdict.question.metric
            if metric in limits and verdict.word not in (Word.BETTER, Word.EQUIVALENT):
                says = "breaks" if verdict.word is Word.WORSE else "is not shown to keep"
                yield Warning("constraint", f"{name} {says} the constraint on {metric}.",
                              "use the default, or confirm with more blocks")  # fmt: skip
            if verdict.reason:
                yield Warning("no-verdict", f"{name}, {metric}: {verdict.reason}")


def _facts(found: Tuning, confirmed: Confirmed | None, first: Sequence[Values]) -> Iterator[tuple[str, str]]:
    goals = [f"{question.workload} {measure(question.metric, question.unit)}, {question.direction} is better"
             for question in found.objectives]  # fmt: skip
    yield "improve", "; ".join(goals)
    if found.constraints:
        limits = listed([question.metric for question in found.constraints])
        yield "constraint", f"{limits} at most {100 * found.run.design.delta:.2g} % worse than the default"
    yield from stored.facts(found.run, f"{counted(len(found.points), 'point')}, sampler {found.run.design.tuning},")
    yield from (("warm start", note.removeprefix(WARM)) for note in found.warm_notes)
    if first:
        correlation = found.rank_correlation(first)
        agreement = "unknown" if correlation is None else f"{correlation:+z.2f}"
        yield "first points", f"rank correlation of their order with their figures: {agreement}"
    if confirmed is not None:
        spent, whole = (f"{100 * share:.3g} %" for share in (confirmed.alpha, found.run.design.alpha))
        yield (
            "error rate",
            (
                f"confirmation {confirmed.number} of this search: at most {spent} chance of any false verdict "
                f"({counted(confirmed.count, 'verdict')}); all its confirmations together: {whole}"
            ),
        )


def _winners(found: Tuning, names: Sequence[str], confirmed: Confirmed | None) -> Table:
    """Return the summary: a line for each winner and metric."""
    level = "" if confirmed is None else f"{100 * confirmed.confidence:.3g} % "
    columns = [
        Column("winner", "name"), Column("metric", "name"), Column("in the search"), Column("confirmed"),
        Column(f"{level}interval", beside=True), Column("", "bar", "ratio"), Column("verdict", "remark"), Column("p"),
    ]  # fmt: skip
    lines = []
    for place, (name, point) in enumerate(zip(names, found.winners, strict=True)):
        verdicts: Sequence[Verdict | None] = confirmed.verdicts[place] if confirmed else [None] * len(found.questions)
        for question, verdict in zip(found.questions, verdicts, strict=True):
            lines.append(_winner(found, question, point, name, verdict))
    return Table(columns, lines, notes=[CORRECTED] if confirmed else [],
                 delta=found.run.design.delta)  # fmt: skip


def _winner(found: Tuning, question: Question, point: SearchedPoint, name: str, verdict: Verdict | None) -> Line:
    ratio = found.ratio(point, question)
    head = [Cell(name), Cell(question.metric), Cell(change(ratio), ratio)]
    if verdict is None:
        return Line([*head, Cell(UNKNOWN), Cell(UNKNOWN), Cell(""), Cell(Word.UNCONFIRMED, tone=Word.UNCONFIRMED),
                     Cell(UNKNOWN)], name)  # fmt: skip
    span = Span(finite(verdict.low), finite(verdict.high), finite(verdict.ratio))
    return Line([*head, Cell(change(verdict.ratio), finite(verdict.ratio)), Cell(bounds(verdict.low, verdict.high)),
                 Cell("", span=span), Cell(verdict.word, tone=verdict.word), Cell(p_value(verdict.p_adjusted))],
                name)  # fmt: skip


def _points(found: Tuning) -> Table:
    columns = [Column("values", "name"), Column("blocks")]
    columns += [Column(f"{question.metric}, mean change") for question in found.questions]
    lines = [
        Line([Cell(values_of(found, point), remark="" if found.keeps(point) else "breaks a constraint"),
              Cell(str(point.blocks), point.blocks),
              *(Cell(change(ratio), ratio) for ratio in (found.ratio(point, each) for each in found.questions))],
             tone="" if found.keeps(point) else QUIET)
        for point in found.ranked
    ]  # fmt: skip
    return Table(
        columns, lines, most=MOST_POINTS, more="points", notes=["mean change: against the default, optimistic"]
    )


def _commands(found: Tuning, confirmed: Confirmed | None, at: stored.Store, words: Sequence[str]) -> Iterator[Next]:
    words = words or ["tune", found.run.experiment_path, *(at or [])]
    if not found.winners:
        yield from stored.resumed(words, at, "search more points", "--trials", found.more_points)
    elif confirmed is None:
        yield from stored.resumed(words, at, "measure the winner in fresh blocks")
    else:
        if not confirmed.is_decided:
            reason = "confirm the winner again, with more blocks"
            yield from stored.resumed(words, at, reason, "--confirm", confirmed.more_blocks)
        reason = "the confirmation in full, with the machine and its conditions"
        yield from stored.follow_up(["report", confirmed.run], at, reason)

"""The answer of a sweep: which factors matter, and which points may be the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from schedlab.analysis.sensitivity import HIGHER, SEEDS, Level, Mean
from schedlab.experiment.sweep import Sweep
from schedlab.findings.sweep import FactorLevels, Response, SweepFindings
from schedlab.notation.units import counted
from schedlab.report.answer import (
    QUIET,
    Answer,
    Cell,
    Column,
    Line,
    Listing,
    Next,
    Part,
    Section,
    Sentence,
    Setting,
    Span,
    Table,
    Warning,
)
from schedlab.report.answers import stored
from schedlab.report.fields.sweep import fields
from schedlab.report.numbers import UNKNOWN, figure, p_value, percent
from schedlab.report.words import listed, measure
from schedlab.results.metrics import finite
from schedlab.results.words import Word

MOST_LEVELS = 40
"""Levels of a factor above which the page has no heat maps of the factor."""

MOST_POINTS = 10
"""Points and reasons of failures that the text lists."""

NO_EFFECT = (
    "A source without effect has a share of 0 on average, and p ≤ 0.05 for any such source in 5 % of the sweeps."
)

OTHERS = {HIGHER: "interactions of three or more factors", SEEDS: "blocks (random seeds, noise)"}


def compose(found: SweepFindings, at: stored.Store = ()) -> Answer:
    """Return the answer. ``at``: see :data:`.stored.Store`."""
    run, several = found.run, len(found.responses) > 1
    return Answer(
        kind="sweep",
        title=stored.title(run),
        data=fields(found),
        question=run.design.question,
        badges=stored.badges(run),
        facts=[*stored.facts(run, f"{size(found.sweep)}, {run.recorded:,} of {run.planned:,} cells")],
        sentences=[sentence for response in found.responses for sentence in _sentences(found, response)]
        or [Sentence("", "no point has a value in each block", Word.INCONCLUSIVE)],
        warnings=[*_warnings(found)],
        settings=[
            Setting(f"best {response.metric if several else 'point'}", values_of(found, response.best[0]))
            for response in found.responses
        ],
        parts=[*([_levels(found)] if found.responses else []),
               *(part for response in found.responses for part in _details(found, response, several)),
               *_failures(found)],
        commands=[*_commands(found, at)],
    )  # fmt: skip


def size(whole: Sweep) -> str:
    """Return the numbers of points and blocks as text."""
    return f"{counted(len(whole.points), 'point')} in {counted(whole.plan.experiment.design.blocks, 'block')}"


def values_of(found: SweepFindings, point: int) -> str:
    """Return the values of a point as text."""
    values = found.sweep.points[point].values
    return ", ".join(f"{each.factor.label} {each.factor.shown(values[each.factor.name])}" for each in found.factors)


def _sentences(found: SweepFindings, response: Response) -> Iterator[Sentence]:
    yield Sentence(response.metric, _importance(found, response))
    value = _figures(response.of_point(response.best[0]), response.unit)
    if len(response.best) == 1:
        where = values_of(found, response.best[0])
        yield Sentence(f"best {response.metric}", f"{value}, optimistic, at {where}")
        return
    levels = [(each.factor.label, found.region(response, each)) for each in found.factors]
    common = ", ".join(f"{name} {listed(present)}" for name, present in levels if present) or "at every level"
    points = counted(len(response.points), "point")
    alike = f"{len(response.best)} of {points} may be the best ({common})"
    if len(response.best) == len(response.points):
        alike = f"any of {points} may be the best"
    yield Sentence(f"best {response.metric}", f"{alike}; the best figure, {value}, is optimistic")


def _importance(found: SweepFindings, response: Response) -> str:
    """Say which factors matter, and the best and the worst level of the factor that matters most."""
    important = [source for source in response.sources if source.matters]
    if not response.sources:
        return "unknown which factor matters: one block, or too few points"
    if not important:
        return "no factor is shown to matter"
    names = [f"{_name(found, source.factors)} ({percent(100 * source.share, 0)})" for source in important]
    text = f"{names[0].removesuffix(')')} of the variance) matters most"
    text += f", then {listed(names[1:])}" if names[1:] else ""
    ends = [each for each in found.factors if (each.factor.name,) == important[0].factors]
    for each in ends:
        best, worst = response.ends(each.factor.name)
        text += f"; {_level(each, response, best)} is best, {_level(each, response, worst)} worst"
    others = [each.factor for each in found.factors if not any(each.factor.name in s.factors for s in important)]
    hardly = listed([factor.label for factor in others])
    return f"{text}. Little or no influence: {hardly}" if others else text


def _level(levels: FactorLevels, response: Response, level: Level) -> str:
    value = f"{figure(response.figure(level.mean).value)} {response.unit}".strip()
    return f"{levels.factor.label} {levels.labels[level.level]} ({value})"


def _name(found: SweepFindings, factors: Sequence[str]) -> str:
    labels = {each.factor.name: each.factor.label for each in found.factors} | OTHERS
    return " × ".join(labels[name] for name in factors)


def _figures(value: Mean, unit: str) -> str:
    bounds = _interval(value)
    return f"{figure(value.value)} {unit}".strip() + (f" ({bounds})" if bounds != UNKNOWN else "")


def _interval(value: Mean) -> str:
    low, high = finite(value.low), finite(value.high)
    return UNKNOWN if low is None or high is None else f"{figure(low)} … {figure(high)}"


def _warnings(found: SweepFindings) -> Iterator[Warning]:
    points = counted(len(found.sweep.points), "point")
    yield Warning("optimistic", f"The best of {points} is partly luck: its figure is optimistic.",
                  "measure again with another --seed, and compare the best points")  # fmt: skip
    if found.left_out:
        yield Warning("left-out", f"{counted(found.left_out, 'point')} without a value in each block: not analysed.",
                      "repeat the missing cells with --resume")  # fmt: skip
    if found.sweep.plan.experiment.design.blocks == 1:
        yield Warning("one-block", "One block shows no noise: there are no intervals.", "set blocks in [design]")


def _levels(found: SweepFindings) -> Table:
    """Return the summary: a line for each level, the figures of each metric beside each other."""
    logs = {response.logs for response in found.responses}
    means = "Geometric means" if logs == {True} else "Means" if logs == {False} else "Means, geometric above 0,"
    several = len(found.responses) > 1
    columns = [column for response in found.responses for column in _mean_columns(response, page_only=several)]
    lines = []
    for each in found.factors:
        by_level = [{level.level: level for level in response.levels[each.factor.name]} for response in found.responses]
        for number, label in enumerate(each.labels):
            cells = [Cell(f"{each.factor.label} {label}")]
            for response, levels in zip(found.responses, by_level, strict=True):
                cells += _mean_cells(response.figure(levels[number].mean) if number in levels else None)
            lines.append(Line(cells, each.factor.name))
    directions = ", ".join(f"{response.metric}: {response.direction} is better" for response in found.responses)
    title = f"{means} over all points of each level; {directions}"
    return Table([Column("level", "name"), *columns], lines, title, most=MOST_LEVELS, more="levels")


def _mean_columns(response: Response, *, page_only: bool = False) -> list[Column]:
    """Return the columns of a mean, its interval, which a terminal may have no room for, and its bar."""
    heading = measure(response.metric, response.unit)
    return [Column(heading), Column("95 % interval", beside=True, page_only=page_only), Column("", "bar")]


def _mean_cells(mean: Mean | None) -> list[Cell]:
    if mean is None:
        return [Cell(UNKNOWN), Cell(UNKNOWN), Cell("")]
    span = Span(finite(mean.low), finite(mean.high), mean.value)
    return [Cell(figure(mean.value), mean.value), Cell(_interval(mean)), Cell("", span=span)]


def _details(found: SweepFindings, response: Response, several: bool) -> Iterator[Part]:
    of_metric = f" of {response.metric}" if several else ""
    if response.sources:
        lines = [
            Line([Cell(_name(found, source.factors)), Cell(percent(100 * source.share), source.share),
                  Cell("", span=Span(0.0, source.share)), Cell(p_value(source.p), finite(source.p))],
                 tone="" if source.matters else QUIET)
            for source in response.sources
        ]  # fmt: skip
        columns = [Column("source", "remark"), Column("share"), Column("", "bar", "share"), Column("p")]
        yield Section(f"Sources of the variance{of_metric}", [Table(columns, lines, notes=[NO_EFFECT])])
    yield Section(f"Points that may be the best{of_metric}", [_best(found, response)])
    maps = [
        _heat_map(first, second, response)
        for first, second in combinations(found.factors, 2)
        if max(len(first.labels), len(second.labels)) <= MOST_LEVELS
    ]
    if maps:
        yield Section(f"Pairs of factors{of_metric}", maps, folded=True, page_only=True)


def _best(found: SweepFindings, response: Response) -> Table:
    columns = [*(Column(each.factor.label, "name") for each in found.factors), *_mean_columns(response)]
    lines = [
        Line([*(Cell(each.factor.shown(found.sweep.points[point].values[each.factor.name])) for each in found.factors),
              *_mean_cells(response.of_point(point))])
        for point in response.best
    ]  # fmt: skip
    return Table(columns, lines, most=MOST_POINTS, more="points")


def _heat_map(first: FactorLevels, second: FactorLevels, response: Response) -> Table:
    squares = response.surface(first, second)
    lines = []
    for row, label in enumerate(first.labels):
        cells = [Cell(label)]
        for column in range(len(second.labels)):
            square = squares.get((row, column))
            if square is None:
                cells.append(Cell(UNKNOWN))
                continue
            tone = "" if square.better is None else Word.BETTER if square.better else Word.WORSE
            tip = f"95 % interval: {_interval(square.mean)}"
            cells.append(Cell(figure(square.mean.value), tone=tone, depth=square.strength, tip=tip))
        lines.append(Line(cells))
    columns = [Column("", "name"), *(Column(label) for label in second.labels)]
    return Table(columns, lines, f"{first.factor.label} (lines) and {second.factor.label} (columns)")


def _failures(found: SweepFindings) -> Iterator[Part]:
    if found.reasons:
        items = [f"{number} × {reason.partition(chr(10))[0]}" for reason, number in found.reasons]
        yield Listing(items, f"Failed cells: {len(found.failures)}", "warning", MOST_POINTS)


def _commands(found: SweepFindings, at: stored.Store) -> Iterator[Next]:
    file = found.run.experiment_path
    if found.run.state != "complete" or len(found.failures):
        yield from stored.follow_up(["sweep", file, "--resume"], at, "measure the cells that are missing")
    yield from stored.follow_up(["sweep", file, "--seed", found.run.seed + 1], at,
                           "measure again with another random seed: the best points should be the same")  # fmt: skip

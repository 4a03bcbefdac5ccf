"""Histories of rows: the level of each row over many runs, and where it changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from schedlab.analysis.history import ALPHA, LEAST_RUNS, ChangePoint
from schedlab.findings.history import Point, Series
from schedlab.notation.units import counted
from schedlab.report.answer import (
    Answer,
    Cell,
    Column,
    Line,
    Next,
    Paragraph,
    Part,
    Section,
    Sentence,
    Setting,
    Span,
    Table,
)
from schedlab.report.fields.history import fields
from schedlab.report.numbers import UNKNOWN, change, figure, p_value
from schedlab.report.words import measure
from schedlab.results.words import Word

METHOD = (
    "mean: geometric over the blocks of a run, with Student's 95 % interval. A change of level is a shift that the "
    "noise of the runs and the likeness of neighbouring runs do not explain. A row without change shows one at any run "
    f"with a probability of at most {100 * ALPHA:g} %; of simulated histories, 0 to 5 % do. A change may be of the "
    f"machine: it is a place to look at, not a verdict. Rows with fewer than {LEAST_RUNS} runs cannot show any."
)

NAMED = 3
"""Changes that the sentence names."""


def compose(all_series: Sequence[Series]) -> Answer:
    """Return the answer: a list of rows, or the course of a single row."""
    single = all_series[0] if len(all_series) == 1 else None
    return Answer(
        kind="history",
        title=f"{single.key.row} under {single.key.variant}" if single else counted(len(all_series), "row"),
        data=fields(all_series),
        sentences=[_sentence(all_series)],
        settings=[Setting(single.key.variant, _settings(single))] if single and _settings(single) else [],
        parts=[*(_course(single) if single else _listing(all_series)), *_order(all_series), Paragraph(METHOD, "quiet")],
        facts=[("machine", f"{single.key.experiment} on {single.key.machine}")] if single else [],
        commands=list(_next(all_series)),
    )


def _order(all_series: Sequence[Series]) -> Iterator[Part]:
    """Yield a remark on rows with points that have no date."""
    rows = [series for series in all_series if not all(point.dated for point in series.points)]
    if rows:
        runs = {point.run: point.dated for series in rows for point in series.points}
        undated = sum(not dated for dated in runs.values())
        of_rows = "" if len(rows) == len(all_series) == 1 else f" of {counted(len(rows), 'row')}"
        yield Paragraph(
            f"The source of {undated} of {counted(len(runs), 'run')}{of_rows} states no date: the order is that of the "
            "runs' numbers, and the date that of the import."
        )


def _settings(series: Series) -> str:
    return "" if series.key.settings == "{}" else series.key.settings


def _changed(all_series: Sequence[Series]) -> list[tuple[Series, ChangePoint]]:
    """Return the last change of each series that has one, the newest first."""
    changed = [(series, series.changes[-1]) for series in all_series if series.changes]
    return sorted(changed, key=lambda pair: -pair[0].points[pair[1].index].started)


def _sentence(all_series: Sequence[Series]) -> Sentence:
    changed = _changed(all_series)
    worse = [pair for pair in changed if pair[0].word(pair[1]) is Word.WORSE]
    rows = counted(len(all_series), "row")
    if not changed:
        return Sentence("", f"No change of level in {rows}.", Word.INCONCLUSIVE)
    named = [_change_of(*pair, name=len(all_series) > 1) for pair in (worse or changed)[:NAMED]]
    rest = len(changed) - len(named)
    more = f"; {counted(rest, 'other row')} changed too" if rest else ""
    few = sum(len(series.points) < LEAST_RUNS for series in all_series)
    unable = f"; {few} have too few runs to show a change" if few else ""
    count = "" if len(all_series) == 1 else f"{len(changed)} of {rows} changed{unable}. "
    return Sentence("", f"{count}{'; '.join(named)}{more}.", Word.WORSE if worse else Word.BETTER)


def _change_of(series: Series, found: ChangePoint, *, name: bool) -> str:
    point = series.points[found.index]
    before = series.points[found.index - 1].kernel
    kernel = f" (kernel {point.kernel}; the run before had {before or UNKNOWN})" if point.kernel else ""
    row = f"{series.key.row} under {series.key.variant} is " if name else ""
    place = f" on {series.key.machine}" if name else ""
    levels = f"{figure(found.before)} → {figure(found.after)} {series.key.unit}".strip()
    since = f"{series.word(found)} since run {point.run}, {when(point)[:-6]}{kernel}"
    return f"{row}{since}{place}: {size(found)}, {levels}"


def date(seconds: float) -> str:
    """Format seconds since 1970 as date and time, UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def when(point: Point) -> str:
    """Format the date of a point; of an import without a date, the date of the import."""
    return date(point.started) if point.dated else f"imported {date(point.started)}"


def size(found: ChangePoint) -> str:
    """Format the size of a change: per cent where both means are above 0, otherwise the difference."""
    ratio = change(found.ratio)
    return ratio if ratio != UNKNOWN else f"{figure(found.before)} → {figure(found.after)}"


def _listing(all_series: Sequence[Series]) -> Iterator[Part]:
    """Yield a table for each experiment on each machine."""
    columns = [Column("row", "name"), Column("variant", "name"), Column("metric", "remark"), Column("runs"),
               Column("newest"), Column("last change", "remark"), Column("since", "name")]  # fmt: skip
    for (machine, experiment), of_machine in groupby(all_series, lambda series: series.key[:2]):
        yield Section(f"{experiment} on {machine}", [Table(columns, [_line(series) for series in of_machine])])


def _line(series: Series) -> Line:
    key, last = series.key, series.changes[-1] if series.changes else None
    cells = [Cell(key.row), Cell(key.variant), Cell(measure(key.metric, key.unit)), Cell(str(len(series.points))),
             Cell(figure(series.points[-1].value))]  # fmt: skip
    if last is None:
        return Line([*cells, Cell(""), Cell("")])
    word = series.word(last)
    return Line([*cells, Cell(f"{word} {size(last)}", tone=word), Cell(date(series.points[last.index].started)[:10])])


def _course(series: Series) -> Iterator[Part]:
    """Yield a line for each run, the oldest first."""
    key, changed = series.key, {found.index: found for found in series.changes}
    named = [Column("import", "name")] if any(point.name for point in series.points) else []
    columns = [Column("run"), *named, Column("date (UTC)", "remark"), Column("kernel", "name"), Column("mean")]
    columns += [Column("95 % interval"), Column("level", "bar"), Column("blocks"), Column("change", "remark")]
    lines = [_point(series, point, changed.get(index)) for index, point in enumerate(series.points)]
    yield Table(columns, lines, title=f"{measure(key.metric, key.unit)}, {key.direction} is better")


def _point(series: Series, point: Point, found: ChangePoint | None) -> Line:
    word = series.word(found) if found else ""
    remark = f"{word} {size(found)} (p {p_value(found.p)})" if found else ""
    name = [Cell(point.name)] if point.name else []
    return Line([
        Cell(str(point.run)), *name, Cell(when(point)), Cell(point.kernel or UNKNOWN), Cell(figure(point.value)),
        Cell(bounds(point)), Cell("", span=Span(point.low, point.high, point.value), tone=word),
        Cell(str(point.blocks)), Cell(remark, tone=word),
    ])  # fmt: skip


def bounds(point: Point) -> str:
    """Format the interval of a level; empty when it is unknown."""
    low, high = figure(point.low), figure(point.high)
    return "" if UNKNOWN in (low, high) else f"{low} … {high}"


def _next(all_series: Sequence[Series]) -> Iterator[Next]:
    for series, found in _changed(all_series)[:1]:
        runs = series.points[found.index - 1].run, series.points[found.index].run
        of_variant = "" if series.points[found.index].name else f":{series.key.variant}"
        words = f"schedlab compare {runs[0]}{of_variant} {runs[1]}{of_variant}"
        yield Next(words, "compare the runs before and after the newest change, with the differences of the machine")

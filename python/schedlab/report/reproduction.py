"""Published reports beside their simulation and figures of a real kernel, and scores, as text.

``docs/reproduce.md`` explains the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.notation.units import counted
from schedlab.report.numbers import figure
from schedlab.report.render.columns import Column, Columns
from schedlab.reproduction import published
from schedlab.reproduction.published import PublishedReport, PublishedTable, Row
from schedlab.reproduction.score import CONFIDENCE, FEWEST_ROWS, FEWEST_SEEDS, Miss, Outcome, Scores, score, totals
from schedlab.reproduction.simulated import Comparison, Level, Simulated
from schedlab.results.instructions import NS_PER_INSTRUCTION
from schedlab.results.metrics import finite
from schedlab.store.run_rows import Run

MISSING = "–"
SKILL = "skill"
INTERVAL = "interval"

MARKS = (
    "*: the published effect is beyond the published noise. Gains are in per cent, positive where the column is "
    "better. ±: standard error over random seeds."
)
"""Explanation of the marks in tables."""

QUICK = "quick: few rows and short programs, so scores are rough and levels are not compared."


@dataclass(frozen=True)
class Reproduction:
    """A report, the runs that simulate it, and the effects and levels of both.

    ``guest`` is the run on a real kernel, or None. ``with_guest`` says whether the user asked for its figures.
    """

    name: str
    report: PublishedReport
    runs: tuple[Run, ...]
    comparisons: Sequence[Comparison]
    levels: Sequence[Level]
    guest: Run | None = None
    with_guest: bool = False

    @cached_property
    def scores(self) -> Scores:
        """The scores of the simulation."""
        return score(self.report, self.comparisons, self.levels)


def frozen(results: Sequence[Reproduction]) -> str:
    """Return a hash of published figures, experiments, models and simulator.

    SHA-256 over the SHA-256 of each part. The parts of a report are its ``published.toml``, and of each run the
    experiment's file, whether the run is quick, and the fingerprint hash (machine, kernel and build). The order of the
    reports on the command line does not matter.
    """
    whole = sha256()
    for result in sorted(results, key=lambda result: result.report.number):
        figures = published.figures_file(result.name).read_text(encoding="utf-8")
        parts = [(run.experiment_file, f"quick {run.quick}", run.fingerprint_hash) for run in result.runs]
        for part in (figures, *chain.from_iterable(parts)):
            whole.update(sha256(part.encode()).digest())
    return whole.hexdigest()


def frozen_line(results: Sequence[Reproduction]) -> str:
    """Return the hash with its explanation."""
    return f"figures, experiments, models and simulator: {frozen(results)}"


def render(results: Sequence[Reproduction], *, tables: bool = True) -> RenderableType:
    """Return the reports' tables and the scores for a terminal."""
    return Group(*_parts(results, tables=tables))


def _parts(results: Sequence[Reproduction], *, tables: bool) -> Iterator[RenderableType]:
    if tables:
        yield Text(f"{MARKS}\n", style="dim")
        for result in results:
            yield from _tables(result)
    yield Text(frozen_line(results), style="dim")
    yield Text("\nscores of the simulation", style="bold")
    yield _scores(results)
    yield Text(f"in all: {totals_text(results)}")
    yield Text(legend(results), style="dim")
    yield Text("\nheadlines, reached by the simulation and by predicting no change", style="bold")
    yield _headlines(results)
    if is_quick(results):
        yield Text(f"\n{QUICK}", style="yellow")


def is_quick(results: Sequence[Reproduction]) -> bool:
    """Whether a run has only a few rows."""
    return any(run.quick for result in results for run in result.runs)


def _tables(result: Reproduction) -> Iterator[RenderableType]:
    report = result.report
    yield Text.assemble((f"report {report.number}, {result.name}: ", "bold"), report.title)
    models = ", ".join(
        f"{run.target} (run {run.id}, models and simulator {run.fingerprint_hash[:12]})" for run in result.runs
    )
    yield Text(f"{report.author}, {report.published}. {report.kernel}\nSIMULATED on {models}", style="dim")
    if result.with_guest:
        yield Text(guest_note(result), style="dim")
    yield Text()
    for table in report.table:
        of_table = [each for each in result.comparisons if each.table is table]
        levels = [level for level in result.levels if level.table is table]
        if not (any(map(has_figures, of_table)) or (levels and not table.pairs)):
            continue
        gain = "; gain over the column before" if table.steps else f"; gain over {table.columns[0]}"
        compared = gain if table.pairs else ""
        beside = "; published, and simulated beside it"
        yield Text.assemble((table.title, "bold"), f": {table.unit}, {table.better} is better{compared}{beside}")
        yield _table(table, of_table, levels)
        yield Text()


def guest_note(result: Reproduction) -> str:
    """Return the kernel and the unit of a guest's figures, or the reason why the report has no figures of a guest."""
    run = result.guest
    if run is None:
        return f"REAL, COUNTED: no figures. {result.report.guest}"
    kernel, version = run.fingerprint["kernel"]["release"], run.fingerprint["qemu"]
    return (
        f"REAL, COUNTED on {run.target} (run {run.id}, Linux {kernel}, QEMU {version}), means over "
        f"{counted(run.design.blocks, 'random seed')}: instructions, or events in a trial, of a real kernel in "
        f"an emulated guest, whose clock advances by {NS_PER_INSTRUCTION} ns for each instruction. Caches are not "
        f"counted, and the figures predict no time. {result.report.guest}"
    )


def has_figures(each: Comparison) -> bool:
    """Whether an effect was simulated or counted."""
    return each.simulated is not None or bool(each.counted)


def _table(table: PublishedTable, comparisons: Sequence[Comparison], levels: Sequence[Level]) -> Columns:
    """Return a printed table with a simulated figure, and the figures of a guest, beside each printed figure."""
    of_rows = [each.row for each in comparisons if has_figures(each)] if table.pairs else [each.row for each in levels]
    shown = [row for row in table.rows if any(row is each for each in of_rows)]
    names = table.counted if any(each.counted for each in comparisons) else []
    columns = [Column(table.parameter or "row", [Text(str(row.at)) for row in shown], "name")]
    if levels:
        columns += _level_columns(table, shown, levels)
    for index, _ in table.pairs:
        by_row = {id(each.row): each for each in comparisons if each.column == index}
        cells = [by_row[id(row)] for row in shown]
        columns.append(Column(table.columns[index], [_published(each) for each in cells]))
        columns.append(Column("simulated", [_simulated(each) for each in cells], beside=True))
        columns += [
            Column(name, [Text(counted_cell(each, name), "dim") for each in cells], beside=True) for name in names
        ]
    return Columns(columns)


def _level_columns(table: PublishedTable, shown: Sequence[Row], levels: Sequence[Level]) -> list[Column]:
    by_row = {id(level.row): level for level in levels}
    of_rows = [by_row.get(id(row)) for row in shown]
    printed = [Text(figure(level.published) if level else MISSING) for level in of_rows]
    simulated = [Text(figure(level.simulated) if level else MISSING, style="dim") for level in of_rows]
    return [Column(table.columns[0], printed), Column("simulated", simulated, beside=True)]


def _published(each: Comparison) -> Text:
    return Text(f"{signed(each.published.gain)} %{'*' if each.published.significant else ' '}")


def _simulated(each: Comparison) -> Text:
    if each.simulated is None:
        return Text(MISSING)
    wrong = each.published.significant and each.published.gain * each.simulated.gain <= 0
    return Text(_gain(each.simulated), style="red" if wrong else "dim")


def _gain(effect: Simulated) -> str:
    error = error_of(effect)
    return f"{signed(effect.gain)} ±{error}" if error else signed(effect.gain)


def error_of(effect: Simulated) -> str:
    """Return a standard error; "" for one random seed, and for equal figures under all random seeds."""
    return "" if finite(effect.error) is None or effect.gain == effect.error == 0 else f"{effect.error:.2f}"


def signed(number: float) -> str:
    """Return a gain or a score with its sign; a number that is printed as 0 has none."""
    return "0.00" if round(number, 2) == 0 else f"{number:+z.2f}"


def counted_cell(each: Comparison, name: str) -> str:
    """Return a guest's figure under the baseline and under the column, and the gain in instructions."""
    for figures in each.counted:
        if figures.figure == name:
            counts = f"{figure(figures.before)} → {figure(figures.after)}"
            return counts if figures.effect is None else f"{counts} {_gain(figures.effect)}"
    return MISSING


def _scores(results: Sequence[Reproduction]) -> Columns:
    names = [Text(f"{result.report.number} {result.name}") for result in results]
    cells = [scored_cells(result) for result in results]
    columns = [
        Column(of_reports[0][0], [_coloured(*cell) for cell in of_reports], beside=of_reports[0][0] == INTERVAL)
        for of_reports in zip(*cells, strict=True)
    ]
    return Columns([Column("report", names, "name"), *columns])


def scored_cells(result: Reproduction) -> list[tuple[str, str]]:
    """Return heading and text of each score."""
    scores = result.scores
    return [
        ("rows", _of(scores.effects, scores.effects + scores.missing)),
        ("resolved", _of(scores.resolved, scores.effects)),
        ("right sign", _of(scores.right, scores.significant)),
        ("Spearman", _score(scores.spearman)),
        ("error", _number(scores.error, ".2f")),
        ("of none", _number(scores.error_of_none, ".2f")),
        (SKILL, _score(scores.skill)),
        (INTERVAL, _ends(scores.skill_interval)),
        ("ceiling", _score(scores.ceiling)),
        ("level", _number(scores.level, ".2f", "×")),
        ("level error", _number(scores.level_error, ".1f", "×")),
        ("level p90", _number(scores.level_p90, ".1f", "×")),
    ]


def _coloured(name: str, cell: str) -> Text:
    """Return a cell; skill above and below 0 have colours."""
    if name != SKILL or cell == MISSING:
        return Text(cell)
    return Text(cell, style="red" if cell.startswith("-") else "green")


def legend(results: Sequence[Reproduction]) -> str:
    """Return the explanation of the scores."""
    missing = sum(result.scores.missing for result in results)
    not_simulated = f" {counted(missing, 'effect')} had no simulation." if missing else ""
    return (
        f"resolved: at least {FEWEST_SEEDS} random seeds and a standard error below a third of the published effect. "
        "right sign: of the effects beyond the published noise. error: median, in points; of none: of predicting no "
        "change. skill: 1 - mean error / mean error of predicting no change; interval: "
        f"{100 * CONFIDENCE:.0f} %, from resampled rows, with at least {FEWEST_ROWS} rows. ceiling: expected skill of "
        "a second measurement with the report's own noise. level: first column, simulated / published; level error "
        f"and level p90: factor between them, median and 90th percentile.{not_simulated}"
    )


def totals_text(results: Sequence[Reproduction]) -> str:
    """Return the sums over the reports as a sentence that begins in lower case."""
    sums = totals([result.scores for result in results])
    return (
        f"positive skill in {sums.positive_skill} of {counted(sums.reports, 'report')}, with an interval above 0 in "
        f"{sums.interval_above_0}; the right sign in {sums.right} of {counted(sums.significant, 'effect')} beyond the "
        f"published noise; {sums.reached} of {counted(sums.headlines, 'headline')} reached. Predicting no change "
        f"reaches {sums.of_no_change}, {sums.by_both} of them the same."
    )


def _headlines(results: Sequence[Reproduction]) -> Columns:
    rows: list[tuple[Text, Text, Text, Text]] = []
    for result in results:
        for outcome in result.scores.headlines:
            of_no_change = Text("reached" if outcome.of_no_change else MISSING)
            rows.append((Text(result.report.number), _reached(outcome), of_no_change, Text(outcome.headline.text)))
            if missed := missed_text(outcome):
                rows.append((Text(), Text(), Text(), Text(missed, "dim")))
    reports, simulated, no_change, headlines = ([row[index] for row in rows] for index in range(4))
    return Columns(
        [
            Column("report", reports, "name"),
            Column("simulation", simulated),
            Column("no change", no_change),
            Column("headline", headlines, "remark"),
        ]
    )


def _reached(outcome: Outcome) -> Text:
    words = {True: Text("reached", "green"), False: Text("not reached", "red"), None: Text("not simulated", "dim")}
    return words[outcome.reached]


def missed_text(outcome: Outcome) -> str:
    """Return the first figure that misses a headline's bounds and the number of others; "" if the headline is not
    missed."""
    if outcome.reached is not False:
        return ""
    first, *others = outcome.misses
    column = (
        f", {first.table.columns[first.column]}" if first.column is not None and len(first.table.columns) > 2 else ""
    )
    more = f"; and {counted(len(others), 'other figure')}" if others else ""
    row = f"{first.table.parameter} {first.row.at}".strip()
    return f"{first.table.title}, {row}{column}: {_missed_bounds(first)}{more}"


def _missed_bounds(miss: Miss) -> str:
    low, high = miss.bounds
    if miss.unit == "×":
        return f"simulated ×{figure(miss.figure)}, not ×{low:g} to ×{high:g}"
    if miss.column is not None:
        return f"simulated {signed(miss.figure)} %, not {low:+zg} to {high:+zg} %"
    wanted = f"{low:g} to {high:g} {miss.unit}" if miss.rises else "above the row before"
    return f"simulated {figure(miss.figure)} {miss.unit}, not {wanted}"


def _of(part: int, whole: int) -> str:
    return f"{part}/{whole}"


def _number(number: float | None, form: str, sign: str = "") -> str:
    return MISSING if number is None else f"{sign}{number:{form}}"


def _score(score: float | None) -> str:
    return MISSING if score is None else signed(score)


def _ends(interval: tuple[float, float] | None) -> str:
    return MISSING if interval is None else " … ".join(map(signed, interval))

"""Published reports beside their simulation and figures of a real kernel, and scores, as text and JSON.

``docs/reproduce.md`` explains the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.notation.units import counted
from schedlab.report.columns import Column, Columns
from schedlab.report.numbers import figure
from schedlab.reproduction.published import PublishedReport, PublishedTable, Row
from schedlab.reproduction.score import Outcome, Scores, score
from schedlab.reproduction.simulated import Comparison, Counted, Level, Simulated
from schedlab.results.instructions import NS_PER_INSTRUCTION
from schedlab.results.metrics import finite
from schedlab.store.run_rows import Run

MISSING = "–"
SKILL = "skill"


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


def to_json(results: Sequence[Reproduction]) -> dict[str, Any]:
    """Return the fields of the JSON object. Gains and errors are in per cent; a score without rows is null."""
    return {"reports": [_report(result) for result in results]}


def _report(result: Reproduction) -> dict[str, Any]:
    scores = result.scores
    return {
        "report": result.name,
        "number": result.report.number,
        "title": result.report.title,
        "runs": [
            {"run": run.id, "name": run.name, "target": run.target, "quick": run.quick, "models": run.fingerprint_hash}
            for run in result.runs
        ],
        "guest": None if result.guest is None else _guest(result.guest, result.report.guest),
        "effects": scores.effects,
        "missing": scores.missing,
        "resolved": scores.resolved,
        "significant": scores.significant,
        "right": scores.right,
        "sign": scores.sign,
        "spearman": scores.spearman,
        "error": scores.error,
        "error_of_no_change": scores.error_of_none,
        "skill": None if scores.skill is None else finite(scores.skill),
        "ceiling": scores.ceiling,
        "level": {"ratio": scores.level, "error": scores.level_error, "p90": scores.level_p90},
        "headlines": [{"text": outcome.headline.text, "reached": outcome.reached} for outcome in scores.headlines],
        "rows": [_row(each) for each in result.comparisons],
        "levels": [
            {
                "table": level.table.title,
                "at": level.row.at,
                "unit": level.table.unit,
                "published": level.published,
                "simulated": level.simulated,
            }
            for level in result.levels
        ],
    }


def _guest(run: Run, note: str) -> dict[str, Any]:
    kernel = run.fingerprint["kernel"]["release"]
    return {
        "run": run.id, "name": run.name, "target": run.target, "quick": run.quick, "kernel": kernel,
        "qemu": run.fingerprint["qemu"], "blocks": run.design.blocks, "note": note,
    }  # fmt: skip


def _row(each: Comparison) -> dict[str, Any]:
    simulated = each.simulated
    return {
        "table": each.table.title,
        "at": each.row.at,
        "column": each.table.columns[each.column],
        "baseline": each.table.columns[each.baseline],
        "published": each.published.gain,
        "published_error": each.published.error,
        "significant": each.published.significant,
        "simulated": None if simulated is None else simulated.gain,
        "simulated_error": None if simulated is None else finite(simulated.error),
        "counted": [_count(figures) for figures in each.counted],
        "scored": each.table.scored,
    }


def _count(figures: Counted) -> dict[str, Any]:
    effect = figures.effect
    return {
        "figure": figures.figure,
        "before": figures.before,
        "after": figures.after,
        "gain": None if effect is None else effect.gain,
        "gain_error": None if effect is None else finite(effect.error),
    }


def render(results: Sequence[Reproduction], *, tables: bool = True) -> RenderableType:
    """Return the reports' tables and the scores for a terminal."""
    return Group(*_parts(results, tables=tables))


def _parts(results: Sequence[Reproduction], *, tables: bool) -> Iterator[RenderableType]:
    for result in results:
        if tables:
            yield from _tables(result)
    yield Text("scores of the simulation", style="bold")
    yield _scores(results)
    yield Text(legend(results), style="dim")
    yield Text("\nheadlines", style="bold")
    yield _headlines(results)
    if any(run.quick for result in results for run in result.runs):
        yield Text(
            "\nquick: few rows and short programs, so scores are rough and levels are not compared.", style="yellow"
        )


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
        yield Text.assemble((table.title, "bold"), f": {table.unit}, {table.better} is better{compared}")
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
        columns.append(Column("simulated", [_simulated(each) for each in cells]))
        columns += [Column(name, [Text(counted_cell(each, name), "dim") for each in cells]) for name in names]
    return Columns(columns)


def _level_columns(table: PublishedTable, shown: Sequence[Row], levels: Sequence[Level]) -> list[Column]:
    by_row = {id(level.row): level for level in levels}
    of_rows = [by_row.get(id(row)) for row in shown]
    printed = [Text(figure(level.published) if level else MISSING) for level in of_rows]
    simulated = [Text(figure(level.simulated) if level else MISSING, style="dim") for level in of_rows]
    return [Column(table.columns[0], printed), Column("simulated", simulated)]


def _published(each: Comparison) -> Text:
    return Text(f"{each.published.gain:+.2f} %{'*' if each.published.significant else ' '}")


def _simulated(each: Comparison) -> Text:
    if each.simulated is None:
        return Text(MISSING)
    wrong = each.published.significant and each.published.gain * each.simulated.gain <= 0
    return Text(_gain(each.simulated), style="red" if wrong else "dim")


def _gain(effect: Simulated) -> str:
    error = "" if finite(effect.error) is None else f" ±{effect.error:.2f}"
    return f"{effect.gain:+.2f}{error}"


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
        Column(of_reports[0][0], [_coloured(*cell) for cell in of_reports]) for of_reports in zip(*cells, strict=True)
    ]
    return Columns([Column("report", names, "name"), *columns])


def scored_cells(result: Reproduction) -> list[tuple[str, str]]:
    """Return heading and text of each score."""
    scores = result.scores
    return [
        ("rows", _of(scores.effects, scores.effects + scores.missing)),
        ("right sign", _of(scores.right, scores.significant)),
        ("Spearman", _number(scores.spearman, "+.2f")),
        ("error", _number(scores.error, ".2f")),
        ("of none", _number(scores.error_of_none, ".2f")),
        (SKILL, _number(scores.skill, "+.2f")),
        ("ceiling", _number(scores.ceiling, "+.2f")),
        ("level", _number(scores.level, ".2f", "×")),
        ("level error", _number(scores.level_error, ".1f", "×")),
        ("level p90", _number(scores.level_p90, ".1f", "×")),
        ("resolved", _of(scores.resolved, scores.effects)),
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
        "right sign: of the effects beyond the published noise (*). error: median, in points; of none: of predicting "
        "no change. skill: 1 - mean error / mean error of predicting no change. ceiling: expected skill of a second "
        "measurement with the report's own noise. level: first column, simulated / published; level error and level "
        "p90: factor between them, median and 90th percentile. resolved: standard error "
        f"over random seeds below a third of the published effect.{not_simulated}"
    )


def _headlines(results: Sequence[Reproduction]) -> Columns:
    outcomes = [(result, outcome) for result in results for outcome in result.scores.headlines]
    return Columns(
        [
            Column("report", [Text(result.report.number) for result, _ in outcomes], "name"),
            Column("", [_reached(outcome) for _, outcome in outcomes]),
            Column("headline", [Text(outcome.headline.text) for _, outcome in outcomes], "remark"),
        ]
    )


def _reached(outcome: Outcome) -> Text:
    words = {True: Text("reached", "green"), False: Text("not reached", "red"), None: Text("not simulated", "dim")}
    return words[outcome.reached]


def _of(part: int, whole: int) -> str:
    return f"{part}/{whole}"


def _number(number: float | None, form: str, sign: str = "") -> str:
    return MISSING if number is None else f"{sign}{number:{form}}"

"""The answer of ``schedlab sim reproduce``: published reports beside their simulation (``docs/reproduce.md``)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from schedlab.notation.units import counted
from schedlab.report.answer import (
    QUIET,
    Answer,
    Cell,
    Column,
    Line,
    Next,
    Paragraph,
    Part,
    Plot,
    Section,
    Sentence,
    Table,
    Warning,
    headings,
    table,
)
from schedlab.report.fields.reproduction import Fields
from schedlab.report.numbers import figure, rough
from schedlab.reproduction.published import PublishedTable
from schedlab.reproduction.result import Reproduction, Reproductions
from schedlab.reproduction.score import CONFIDENCE, FEWEST_ROWS, FEWEST_SEEDS, Miss, Outcome
from schedlab.reproduction.simulated import Comparison, Level, Simulated
from schedlab.results.instructions import NS_PER_INSTRUCTION
from schedlab.results.metrics import finite
from schedlab.results.words import Word

MISSING = "–"

MARKS = (
    "*: the published effect is beyond the published noise. Gains are in per cent, positive where the column is "
    "better. ±: standard error over random seeds. wrong: not the sign of an effect beyond the published noise."
)

LEGEND = (
    f"resolved: at least {FEWEST_SEEDS} random seeds and a standard error below a third of the published effect. right "
    "sign: of the effects beyond the published noise. error: median, in points; of none: of predicting no change. "
    f"skill: 1 - mean error / mean error of predicting no change; interval: {rough(CONFIDENCE)}, from resampled "
    f"rows, with at least {FEWEST_ROWS} rows. ceiling: expected skill of a second measurement with the report's own "
    "noise. level: first column, simulated / published; level error and level p90: factor between them, median and "
    "90th percentile."
)

WORTH = {Word.BETTER: "better than", Word.WORSE: "worse than", Word.INCONCLUSIVE: "not shown to be better than"}

SMALL = Warning(
    "small-effects",
    "simulated effects below 5 % are within the errors of the random seeds",
    "confirm them on a kernel: 'schedlab sim twin FILE' measures and predicts an experiment",
)


def compose(results: Reproductions, store: Sequence[str] | None, *, tables: bool = True) -> Answer:
    """Compose the answer.

    Args:
        results: the reports.
        store: words that name the store in further commands; None if the store does not last.
        tables: whether to show the reports' tables in addition to the scores.
    """
    names = ", ".join(result.report.number for result in results.reports)
    return Answer(
        kind="sim reproduce",
        title=f"published {'report' if len(results.reports) == 1 else 'reports'} {names}, simulated",
        data=Fields.model_validate(results),
        badges=["simulated", *(["quick"] if results.quick else [])],
        facts=[("inputs", f"figures, experiments, models and simulator: {results.frozen}")],
        sentences=list(_sentences(results)),
        warnings=list(_warnings(results)),
        parts=[
            _summary(results),
            _headlines(results),
            Section("Scores", [_scores(results)], folded=True),
            *(section for result in results.reports if tables for section in _report(result)),
        ],
        commands=[] if store is None else list(_commands(results, store)),
    )


def _sentences(results: Reproductions) -> Iterator[Sentence]:
    sums = results.totals
    if sums.reports > 1:
        reached = f"{sums.reached} of {counted(sums.headlines, 'headline')} reached (by predicting no change: "
        better = f"{sums.positive_skill} of {counted(sums.reports, 'report')} predicted better than by no change"
        text = f"{reached}{sums.of_no_change}); {better}, surely so in {sums.interval_above_0}"
        signs = f"the right direction in {_of(sums.right, sums.significant)} effects beyond noise"
        yield Sentence("all", f"{text}; {signs}")
    for result in results.reports:
        scores, headlines = result.scores, len(result.scores.simulated_headlines)
        left_out = len(scores.headlines) - headlines
        missing = f" ({left_out} not simulated)" if left_out else ""
        reached = (
            f"{_of(scores.reached, headlines)} published headlines that were simulated are reached{missing}; "
            if headlines
            else ""
        )
        signs = (
            f"the right direction in {_of(scores.right, scores.significant)} published effects; "
            if scores.significant
            else ""
        )
        ends = (
            f", interval {_ends(scores.skill_interval)}" if scores.skill_interval else ", too few rows for an interval"
        )
        worth = f"{WORTH[scores.word]} predicting no change (skill {_score(scores.skill)}{ends})"
        yield Sentence(f"{result.report.number} {result.name}", f"{reached}{signs}{worth}", scores.word)


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}"


def _warnings(results: Reproductions) -> Iterator[Warning]:
    if results.quick:
        seen = "quick: few rows and short programs, so scores are rough and levels are not compared"
        yield Warning("quick", seen, "omit --quick")
    elif results.missing:
        yield Warning("missing", f"{counted(results.missing, 'effect')} had no simulation")
    yield SMALL


def _commands(results: Reproductions, store: Sequence[str]) -> Iterator[Next]:
    again = ["schedlab", "sim", "reproduce", *(result.report.number for result in results.reports), *store]
    if results.quick:
        yield Next(shlex.join(again), "all rows with their random seeds, and levels; all five reports take 13 minutes")
    if not any(result.with_guest for result in results.reports):
        quick = ["--quick"] if results.quick else []
        yield Next(shlex.join([*again, *quick, "--guest"]), "count on a real kernel too, in deterministic guests")


def _summary(results: Reproductions) -> Table:
    columns = headings("name", "report") | headings(
        "number", "headlines", "no change", "right sign", "skill", f"{rough(CONFIDENCE)} interval"
    )
    lines: list[list[str | Cell]] = [
        [
            f"{result.report.number} {result.name}", _part(scores.reached, headlines),
            _part(scores.reached_by_no_change, headlines), _part(scores.right, scores.significant),
            Cell(_score(scores.skill), tone=scores.word), _ends(scores.skill_interval),
        ]
        for result in results.reports
        for scores, headlines in [(result.scores, len(result.scores.simulated_headlines))]
    ]  # fmt: skip
    reached = "headlines: those that the simulation reaches; no change: those that predicting no change reaches."
    return table(columns, lines, notes=[f"{reached} Skill: 1 is perfect, 0 no better than predicting no change."])


def _scores(results: Reproductions) -> Table:
    scored = [(result, result.scores) for result in results.reports]
    columns = headings("name", "report") | headings(
        "number", "rows", "resolved", "Spearman", "error", "of none", "ceiling", "level", "level error", "level p90"
    )
    return table(columns, [
        [
            f"{result.report.number} {result.name}", _part(scores.effects, scores.scored),
            _part(scores.resolved, scores.effects), _score(scores.spearman), _number(scores.error, ".2f"),
            _number(scores.error_of_none, ".2f"), _score(scores.ceiling), _number(scores.level, ".2f", "×"),
            _number(scores.level_error, ".1f", "×"), _number(scores.level_p90, ".1f", "×"),
        ]
        for result, scores in scored
    ], notes=[LEGEND])  # fmt: skip


def _headlines(results: Reproductions) -> Section:
    lines: list[list[str | Cell]] = [
        [
            result.report.number, _reached(outcome), "reached" if outcome.of_no_change else MISSING,
            Cell(outcome.headline.text, remark=missed_text(outcome)),
        ]
        for result in results.reports
        for outcome in result.scores.headlines
    ]  # fmt: skip
    columns = headings("name", "report", "simulation", "no change") | headings("remark", "headline")
    return Section("Headlines", [table(columns, lines)])


def _reached(outcome: Outcome) -> Cell:
    words = {True: ("reached", Word.BETTER), False: ("not reached", Word.WORSE), None: ("not simulated", QUIET)}
    text, tone = words[outcome.reached]
    return Cell(text, tone=tone)


def missed_text(outcome: Outcome) -> str:
    """Return the first figure that misses a headline's bounds and the number of others; "" if the headline is not
    missed."""
    if outcome.reached is not False:
        return ""
    first, *others = outcome.misses
    column = f", {first.column_name}" if first.column_name is not None and len(first.table.columns) > 2 else ""
    more = f"; and {counted(len(others), 'other figure')}" if others else ""
    row = f"{first.table.parameter} {first.row.at}".strip()
    return f"({first.table.title}, {row}{column}: {_missed_bounds(first)}{more})"


def _missed_bounds(miss: Miss) -> str:
    low, high = miss.bounds
    if miss.unit == "×":
        return f"simulated ×{figure(miss.figure)}, not ×{low:g} to ×{high:g}"
    if miss.column is not None:
        return f"simulated {signed(miss.figure)} %, not {low:+zg} to {high:+zg} %"
    wanted = f"{low:g} to {high:g} {miss.unit}" if miss.rises else "above the row before"
    return f"simulated {figure(miss.figure)} {miss.unit}, not {wanted}"


def _report(result: Reproduction) -> Iterator[Section]:
    report = result.report
    models = ", ".join(
        f"{run.target} (run {run.id}, models and simulator {run.fingerprint_hash[:12]})" for run in result.runs
    )
    parts: list[Part] = [
        Paragraph(f"{report.author}, {report.published}. {report.kernel} Simulated on {models}.", "quiet")
    ]
    if result.with_guest:
        parts.append(Paragraph(_guest(result), "quiet"))
    parts.append(_plot(result.comparisons))
    for of_report in report.table:
        effects = [each for each in result.comparisons if each.table is of_report]
        levels = [level for level in result.levels if level.table is of_report]
        if any(each.has_figures for each in effects) or (levels and not of_report.pairs):
            parts.append(_table(of_report, effects, levels))
    title = f"Report {report.number}, {result.name}: {report.title}"
    yield Section(title, [*parts, Paragraph(MARKS, "quiet")], key=result.name, folded=True)


def _guest(result: Reproduction) -> str:
    """Return the kernel and the unit of a guest's figures, or the reason why the report has no figures of a guest."""
    run = result.guest
    if run is None:
        return f"Counted on a real kernel: no figures. {result.report.guest}"
    kernel, version = run.fingerprint["kernel"]["release"], run.fingerprint["qemu"]
    return (
        f"Counted on a real kernel: {run.target} (run {run.id}, Linux {kernel}, QEMU {version}), means over "
        f"{counted(run.design.blocks, 'random seed')}: instructions, or events in a trial, in an emulated guest, whose "
        f"clock advances by {NS_PER_INSTRUCTION} ns for each instruction. Caches are not counted, and the figures "
        f"predict no time. {result.report.guest}"
    )


def _plot(comparisons: Sequence[Comparison]) -> Plot:
    caption = "Simulated over published gains; filled: beyond the published noise"
    points = [
        {
            "x": each.published.gain, "y": each.simulated.gain, "significant": each.published.significant,
            "tip": f"{each.table.title}, {each.row.at}, {each.column_name}: published {signed(each.published.gain)} %, "
                   f"simulated {signed(each.simulated.gain)} %",
        }
        for each in comparisons
        if each.simulated is not None and each.table.scored
    ]  # fmt: skip
    return Plot("scatter-changes", caption, points, {"@x": "published gain, %", "@y": "simulated gain, %"})


def _table(of_report: PublishedTable, comparisons: Sequence[Comparison], levels: Sequence[Level]) -> Table:
    """Return a printed table with a simulated figure, and the figures of a guest, beside each printed figure."""
    of_rows = (
        [each.row for each in comparisons if each.has_figures] if of_report.pairs else [each.row for each in levels]
    )
    shown = [row for row in of_report.rows if any(row is each for each in of_rows)]
    names = of_report.counted if any(each.counted for each in comparisons) else []
    columns, cells = [Column(of_report.parameter or "row", "name")], [[Cell(str(row.at))] for row in shown]
    if levels:
        columns += [Column(of_report.columns[0]), Column("simulated", beside=True)]
        by_row = {id(level.row): level for level in levels}
        for row, line in zip(shown, cells, strict=True):
            level = by_row.get(id(row))
            line += [
                Cell(figure(level.published) if level else MISSING),
                Cell(figure(level.simulated) if level else MISSING),
            ]
    for index, _ in of_report.pairs:
        by_effect = {id(each.row): each for each in comparisons if each.column == index}
        columns += [Column(of_report.columns[index]), *(Column(name, beside=True) for name in ("simulated", *names))]
        for row, line in zip(shown, cells, strict=True):
            each = by_effect[id(row)]
            line += [_published(each), _simulated(each), *(Cell(_counted(each, name), tone=QUIET) for name in names)]
    gain = "; gain over the column before" if of_report.steps else f"; gain over {of_report.columns[0]}"
    title = f"{of_report.title}: {of_report.unit}, {of_report.better} is better{gain if of_report.pairs else ''}"
    return Table(columns, [Line(line) for line in cells], title)


def _published(each: Comparison) -> Cell:
    return Cell(f"{signed(each.published.gain)} %{'*' if each.published.significant else ' '}", each.published.gain)


def _simulated(each: Comparison) -> Cell:
    if each.simulated is None:
        return Cell(MISSING)
    text = _gain(each.simulated)
    return Cell(f"wrong: {text}", tone=Word.WORSE) if each.is_wrong else Cell(text, tone=QUIET)


def _gain(effect: Simulated) -> str:
    """Return a gain with its standard error; one random seed, and equal figures under all, have none."""
    has_error = finite(effect.error) is not None and not effect.gain == effect.error == 0
    return f"{signed(effect.gain)} ±{effect.error:.2f}" if has_error else signed(effect.gain)


def _counted(each: Comparison, name: str) -> str:
    """Return a guest's figure under the baseline and under the column, and the gain in instructions."""
    for figures in each.counted:
        if figures.figure == name:
            counts = f"{figure(figures.before)} → {figure(figures.after)}"
            return counts if figures.effect is None else f"{counts} {_gain(figures.effect)}"
    return MISSING


def signed(number: float) -> str:
    """Return a gain or a score with its sign; a number that is printed as 0 has none."""
    return "0.00" if round(number, 2) == 0 else f"{number:+z.2f}"


def _part(part: int, whole: int) -> str:
    return f"{part}/{whole}" if whole else MISSING


def _number(number: float | None, form: str, sign: str = "") -> str:
    return MISSING if number is None else f"{sign}{number:{form}}"


def _score(score: float | None) -> str:
    return MISSING if score is None else signed(score)


def _ends(interval: tuple[float, float] | None) -> str:
    return MISSING if interval is None else " … ".join(map(signed, interval))

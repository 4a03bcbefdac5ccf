"""The wording of reports, each text stated once: names of rows and runs, verdicts with their remarks, explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import inf, log
from typing import Any, Protocol

from schedlab.notation import units
from schedlab.report.document import Column, Report, Row, Run
from schedlab.report.numbers import change, figure, p_value
from schedlab.results import kinds
from schedlab.results.metrics import Direction
from schedlab.results.words import DIFFERENT, Word

CONTROL = "A/A control"
"""The verdict column of the baseline's second measurement."""

EMULATED = "emulated"
"""Mark of a verdict on a time or a rate of an emulated machine."""

SYMBOLS = {Word.BETTER: "▲", Word.WORSE: "▼", Word.UNCONFIRMED: "(?)", Word.EQUIVALENT: "=", Word.INCONCLUSIVE: "?"}
"""A symbol for each verdict, so that colour is never the only distinction."""

FROM_0 = "from 0"
"""The change of a row whose baseline is 0."""

UNMATCHED = "Rows that some columns lack"
"""Heading of the rows that some columns lack."""

MOST_LISTED = 4
"""Maximum number of names in a list. Further names are counted."""


class HasRow(Protocol):
    """A part of the document about a row."""

    @property
    def workload(self) -> str: ...

    @property
    def metric(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]: ...


class HasUnit(HasRow, Protocol):
    """A part of the document with the unit of its row."""

    @property
    def unit(self) -> str: ...

    @property
    def direction(self) -> Direction: ...


def parameters(values: Mapping[str, Any]) -> str:
    """Format parameters as ``groups=2 loops=250``."""
    return " ".join(f"{name}={value}" for name, value in values.items())


def row_name(row: HasRow) -> str:
    """Name a row: ``hackbench groups=2 loops=250 time``."""
    return " ".join(part for part in (row.workload, parameters(row.parameters), row.metric) if part)


def measure(metric: str, unit: str) -> str:
    """Name a metric with its unit: ``time [s]``."""
    kind = f", {kinds.COUNTED}" if kinds.is_counted(unit) else ""
    return f"{metric} [{unit}{kind}]" if unit else metric


def better(row: HasUnit) -> str:
    """Name the direction of a row: ``lower is better``."""
    return f"{row.direction} is better"


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return the first names, and the number of further names."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# Runs and columns.


def origin(run: Run) -> str:
    """Return the origin of figures that no real kernel produced: `` [simulated]``."""
    return "" if run.kind == kinds.REAL else f" [{run.kind}]"


def subject(report: Report) -> str:
    """Name the subject of the report: a run, or columns and their baseline."""
    if len(report.runs) == 1 and report.paired:
        return f"run {report.run.id}: {report.run.name}"
    others = [column.name for column in report.columns[1:]]
    return f"{listed(others)} against {report.baseline}" if others else report.baseline


def machine(run: Run) -> str:
    """Describe the machine: number of CPUs, their model, memory and kernel; empty if unknown."""
    parts = (
        units.counted(run.cpus, "CPU") if run.cpus else None,
        run.machine,
        _memory(run.memory_kib) if run.memory_kib else None,
        f"Linux {run.kernel}" if run.kernel else None,
    )
    return ", ".join(part for part in parts if part)


def _memory(kib: int) -> str:
    """Format a size of memory in GiB, or in MiB if the size is small."""
    return f"{kib / (1 << 20):.1f} GiB" if kib >= 1 << 20 else f"{kib >> 10} MiB"


def began(run: Run) -> str:
    """Return the time of the run's start or of the import."""
    return datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M UTC")


def design(run: Run) -> str:
    """Describe the design: ``7 blocks × 1, quick, seed 5``; for an import its path and size."""
    blocks = units.counted(run.blocks, "block")
    if not run.measured:
        size = f", {blocks} of up to {run.iterations} samples" if run.sampled else ""
        return f"imported from {run.source}{size}"
    return f"{blocks} × {run.iterations}{', quick' if run.quick else ''}, seed {run.seed}"


def column_line(report: Report, column: Column) -> str:
    """Describe a column: ``run 3 "slice", variant batch, 8 blocks × 1, seed 5``."""
    run = report.run_of(column)
    if not run.measured:
        return f"{f'run {run.id}, ' if column.stored else ''}{design(run)}"
    return f"run {run.id} {run.name!r}{origin(run)}, variant {column.variant}, {design(run)}"


# Summaries and lists.


def different(row: Row) -> bool:
    """Return whether the verdict asserts a difference from the baseline."""
    return row.verdict in DIFFERENT and not row.control


def alone(report: Report) -> str:
    """Return why nothing is compared; empty for a report with verdicts on a variant."""
    if any(not row.control for row in report.rows):
        return ""
    if report.printed:
        wrong = sum(len(table.disagreements) for table in report.printed)
        gains = f"{units.counted(wrong, 'printed gain')} cannot come from the figures" if wrong else ""
        return f"{units.counted(len(report.printed), 'printed table')} without samples: nothing can be judged" + (
            f"; {gains}." if gains else "."
        )
    what = "the baseline and its A/A control" if report.rows else "one variant"
    return f"Only {what} {'were' if report.rows else 'was'} measured: there is nothing to compare."


def notes(report: Report) -> list[str]:
    """Return the notes, without the notes on counters, which are printed with the counters."""
    return [note for note in report.notes if note not in report.counter_notes]


def unmatched(report: Report) -> Iterator[str]:
    """Yield the rows that some columns lack; rows of one workload with the same reason are one line."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for row in report.unmatched:
        groups.setdefault((row.workload, row.reason), []).append(row)
    for (workload, reason), rows in groups.items():
        metrics = listed(list(dict.fromkeys(row.metric for row in rows)))
        places = list(dict.fromkeys(text for row in rows if (text := parameters(row.parameters))))
        at = f" at {'; '.join(places)}" if places and len(places) <= MOST_LISTED else ""
        yield f"{workload} {metrics}{at or f' ({len(rows)} rows)'}: {reason}"


def failures(report: Report) -> list[str]:
    """Return a line for each failed trial, with all lines of its reason."""
    return [
        f"{failure.position}: {failure.workload} under {failure.variant}: {failure.reason.strip()}"
        for failure in report.failures
    ]


# Verdicts.


def verdict(row: Row, report: Report) -> tuple[str, str]:
    """Return the verdict, and remarks in parentheses, which may be empty."""
    remarks = [instructions(row)] if row.kind == kinds.COUNTED and row.ratio is not None else []
    if row.control:
        remarks += [before_correction(row, report)] if control_differs(row, report) else []
        return f"{CONTROL}, differs" if control_differs(row, report) else CONTROL, in_parentheses(remarks)
    if emulated_speed(row.kind.split("/"), row.unit):
        remarks.append(EMULATED)
    if row.verdict is Word.INCONCLUSIVE:
        remarks += [row.reason or mde(row.detectable), before_correction(row, report)]
    elif row.verdict is Word.EQUIVALENT:
        remarks.append(rare_events([row]))
    elif row.verdict is Word.UNCONFIRMED:
        remarks.append(row.reason)
    if row.of_means is not None and different(row):
        remarks.append(f"of the means {change(row.of_means)}")
    if row.method == "paired" and row.n < report.run.blocks:
        remarks.append(f"n={row.n}")
    if row.failed and not row.reason:
        remarks.append(f"{row.failed} failed")
    return row.verdict, in_parentheses(remarks)


def rare_events(rows: Sequence[Row]) -> str:
    """Return the remark on equivalent rows: the largest share of blocks or values that may have a rare event."""
    shares = [row.event_share for row in rows if row.event_share is not None]
    return rare_event(max(shares, default=None), "values" if rows[0].method == "unpaired" else "blocks")


def rare_event(share: float | None, units: str = "blocks") -> str:
    """Return the remark on an equivalent verdict with this event share."""
    may = "" if share == 1.0 else f": up to {figure(share and 100 * share, 2)} % of the {units} may have one"
    return f"too few {units} to see rare events{may}"


def size_of_change(row: Row) -> str:
    """Return the change of a row in per cent; ``from 0`` if the baseline is 0 and the variant is not."""
    return FROM_0 if rises_from_0(row) else change(row.ratio)


def rises_from_0(row: Row) -> bool:
    """Return whether the baseline is 0 and the variant is not, so that there is no ratio."""
    return row.ratio is None and row.baseline == 0 and bool(row.value)


def extent(row: Row) -> float:
    """Return the size of a change for the order of rows: a change from 0 or to 0 is the largest, an unknown change the
    smallest."""
    if row.ratio is None:
        return inf if rises_from_0(row) else -1.0
    return abs(log(row.ratio)) if row.ratio > 0 else inf


def instructions(row: Row) -> str:
    """Describe a difference of counted instructions: ``312 more instructions: exact for this kernel build; …``."""
    difference = (row.value or 0.0) - (row.baseline or 0.0)
    size = f"{abs(difference):,.0f}" if abs(difference) >= 100 else f"{abs(difference):.3g}"
    unit = row.unit.replace("/", " per ")
    seeds = units.counted(row.n, "random seed")
    if row.exact and row.ratio == 1:
        return f"the same {unit} under {seeds}"
    change = f"{size} {'more' if difference > 0 else 'fewer'} {unit}"
    return f"{change}: exact for this kernel build; {seeds} agree" if row.exact else f"{change} over {seeds}"


def in_parentheses(remarks: Sequence[str]) -> str:
    """Return the remarks that are not empty, each in parentheses."""
    return " ".join(f"({remark})" for remark in remarks if remark)


def before_correction(row: Row, report: Report) -> str:
    """Explain a row whose interval excludes no change although its verdict does not: the p before the correction."""
    level, adjusted = row.level or report.judging.alpha, row.p_adjusted
    if row.p is None or adjusted is None or not row.p <= level < adjusted:
        return ""
    tests = [other for other in report.rows if other.control == row.control]
    if report.judging.family != "run":
        tests = [other for other in tests if other.variant == row.variant]
    return f"p {p_value(row.p)} before the correction over {units.counted(len(tests), 'row')}"


def baseline_of(rows: Sequence[Row]) -> float | None:
    """Return the baseline's mean in the verdict on most blocks, for the line above the verdicts of a row."""
    return max(rows, key=lambda row: row.n).baseline


def other_baseline(row: Row, rows: Sequence[Row]) -> str:
    """Return a remark if the change is against another mean than :func:`baseline_of`, as blocks are missing."""
    mean = figure(row.baseline)
    same = row.ratio is None or mean == figure(baseline_of(rows))
    return "" if same else f"(baseline {mean} in these {units.counted(row.n, 'block')})"


def control_differs(row: Row, report: Report) -> bool:
    """Return whether the A/A control differs from the baseline, at raw alpha."""
    return row.p is not None and row.p <= report.judging.alpha


def emulated_speed(of_columns: Sequence[str], unit: str) -> bool:
    """Return whether a figure is a time or a rate of an emulated machine; ``of_columns`` are kinds of runs."""
    return kinds.is_speed(unit) and any(map(kinds.emulated, of_columns))


def mde(detectable: float | None) -> str:
    """Return the minimum detectable effect in the direction of the measured change: ``MDE -2.9 %``."""
    return "too few values for any effect" if detectable is None else f"MDE {change(1 + detectable)}"


def mde_range(rows: Sequence[Row]) -> str:
    """Return the sizes of the rows' minimum detectable effects: ``2.9 to 4.1 %``; empty if all are unknown."""
    sizes = sorted(100 * abs(row.detectable) for row in rows if row.detectable is not None)
    if not sizes:
        return ""
    low, high = (f"{size:.1f}" for size in (sizes[0], sizes[-1]))
    return f"{low if low == high else f'{low} to {high}'} %"


def interval_heading(report: Report) -> str:
    """Return ``95 % interval``, or the levels of the interim analyses that decided the rows of a sequential run."""
    levels = {row.level for row in report.rows if row.level is not None} or {report.judging.alpha}
    low, high = (f"{100 * (1 - level):.3g}" for level in (max(levels), min(levels)))
    return f"{low if low == high else f'{low} to {high}'} % interval"


def evidence_headings(report: Report) -> list[str]:
    """Return ``p``, and ``raw p`` if the user requested it; for unpaired columns also the p of ranks and the values."""
    return ["p", *(["raw p"] if report.raw_p else []), *([] if report.paired else ["ranks", "n"])]


def evidence(row: Row, report: Report) -> list[str]:
    """Return the cells below :func:`evidence_headings`."""
    p = [p_value(row.p_adjusted), *([p_value(row.p)] if report.raw_p else [])]
    return [*p, *([] if report.paired else [p_value(row.p_mann_whitney), str(row.n)])]


def family(report: Report) -> str:
    """Name the rows that are corrected together."""
    return "all rows" if report.judging.family == "run" else "each variant's rows"


CORRECTIONS = {"holm": "Holm's", "benjamini-hochberg": "Benjamini and Hochberg's"}


def correction(name: str, tests: str) -> str:
    """Describe a p value after the correction for many tests; ``tests`` names the tests."""
    if name == "max-t":
        return f"corrected by a joint test of {tests} (max-T)"
    return f"corrected over {tests} by {CORRECTIONS[name]} method" if name in CORRECTIONS else "not corrected"


CHANGE_SIGN = "+ is a larger figure"
"""Meaning of the sign of a change, the convention of all formats with changes."""

GAIN_SIGN = "gain: + is better"
"""Meaning of the sign of a gain, the convention of MMTests' tables, changelogs and previews of imports."""

PCT_IMP = "pct imp: improvement in per cent, + is better; CV: standard deviation in per cent of the mean"
"""Meaning of the figures in a table of reviews."""


STATISTICS = {
    "ranks": "Worst cases: median of the blocks' worst values; change: median of their ratios; p: on ranks.",
    "differences": "Rows with a value of 0: arithmetic means; p: sign-flip permutation of the differences.",
}
"""Explanations of rows that are not compared by geometric means."""

LABELS = (
    "change: pseudo-median of the ratios to baseline and control",
    "permutations of variant, baseline and control over blocks",
)
"""Change and test of rows in which the A/A control takes part."""

FLIPS = "change: of the means", "sign-flip permutation over blocks"
"""Change and test of paired rows without a control, and of the control itself."""


def _change_and_test(report: Report) -> tuple[str, str]:
    """Describe the change and the test of most rows, and the test of the control."""
    statistics = {row.statistic for row in report.rows if not row.control}
    if not report.paired:
        return FLIPS[0], "Welch's test on logarithms"
    if "aligned-ranks" not in statistics:
        return FLIPS
    others = "the rows without a control, and the control" if "logs" in statistics else "the control"
    return LABELS[0], f"{LABELS[1]} ({others}: of the means, sign flips)"


def method(report: Report) -> str:
    """Explain the columns of a table and the method of its verdicts."""
    judging = report.judging
    means = f"geometric over the {'compared blocks' if report.paired else 'values'}"
    change, test = _change_and_test(report)
    others = "" if report.paired else "; ranks: Mann–Whitney's p; n: the smaller group"
    raw = "; raw p: before the correction" if report.raw_p else ""
    text = (
        f"mean: {means}. {change}, {CHANGE_SIGN}. p: {test}, "
        f"{correction(judging.correction, family(report))}{raw}{others}; intervals are not corrected. "
        f"Verdicts at α = {judging.alpha:g}. {Word.EQUIVALENT}: within ±{100 * judging.delta:g} %. MDE: minimum "
        f"detectable effect, the change that this {'run' if report.paired else 'comparison'} finds with 80 % power."
    )
    statistics = {row.statistic for row in report.rows} if report.paired else set()
    text += "".join(f" {explanation}" for kind, explanation in STATISTICS.items() if kind in statistics)
    undecided = [row for row in report.rows if row.verdict is Word.INCONCLUSIVE and not row.control]
    needed = [row.blocks_needed for row in undecided if row.blocks_needed is not None]
    if not needed:
        return text
    low, high = min(needed), max(needed)
    span = str(low) if low == high else f"{low} to {high}"
    return f"{text} Changes of {100 * judging.delta:g} % would need {span} blocks."

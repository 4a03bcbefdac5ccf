"""What the counts of ``perf stat`` become, whether they were written as separated values or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan

from schedlab.importers.logs.base import Log, Parameters, Reading, Samples
from schedlab.results import Cell, Table, TableRow
from schedlab.units import counted
from schedlab.workloads.base import MetricSpec
from schedlab.workloads.perf_stat_lines import Count

WORKLOAD = "perf-stat"
"""The values name no command."""

_TIMES = {"duration_time": "elapsed", "user_time": "user", "system_time": "system"}
"""perf's own clocks, which count nanoseconds (perf-list(1), tool events), by the names of the adapters' metrics."""

_UNITS = {"msec": "ms", "nsec": "ns", "": "events"}


@dataclass(frozen=True)
class At:
    """A count and the line that it stands in."""

    count: Count
    line: int


def reading(log: Log, found: Sequence[At], derived: int) -> Reading:
    """Samples of every event: of each interval, or of each run; where runs were repeated, a table of their means.

    ``derived`` is how many lines hold nothing but a figure that follows from counts.
    """
    if not found:
        raise log.problem("holds no event of perf stat", 1)
    notes = [f"{log.name}: {note}" for note in _notes(found, derived)]
    counts = [at for at in found if at.count.seconds is None or not isnan(at.count.seconds)]
    known = [at for at in counts if at.count.value is not None]
    if not known:
        raise log.problem("no event was counted: all are <not counted> or <not supported>", found[0].line)
    if any(at.count.seconds is not None for at in counts):
        return Reading([_samples(at.count) for at in known if at.count.seconds is not None], notes=notes)
    if any(at.count.error_percent is not None for at in counts):
        return Reading(tables=[_table(log, counts)], notes=notes)
    return Reading([_samples(at.count) for at in known], notes=notes)


def _notes(found: Sequence[At], derived: int) -> Iterable[str]:
    unsupported = dict.fromkeys(at.count.event for at in found if at.count.value is None)
    never = [event for event in unsupported if all(at.count.value is None for at in found if at.count.event == event)]
    if never:
        yield f"left out, never counted: {', '.join(never)}"
    for event in unsupported:
        if event not in never:
            missing = sum(at.count.value is None and at.count.event == event for at in found)
            yield f"{event}: {counted(missing, 'count is', 'counts are')} missing"
    if any(at.count.seconds is not None and isnan(at.count.seconds) for at in found):
        yield "left out: the summary, which adds up the intervals"
    if derived:
        yield f"left out: {counted(derived, 'derived figure')}, which follow from the counts"


def _metric(count: Count) -> tuple[MetricSpec, float]:
    """The event as a metric, and what its value is multiplied with. Less of a cost is better."""
    if count.event in _TIMES and count.unit in ("ns", ""):
        return MetricSpec(_TIMES[count.event], "s", "lower"), 1e-9
    return MetricSpec(count.event, _UNITS.get(count.unit, count.unit), "lower"), 1.0


def _parameters(count: Count) -> Parameters:
    return {"place": count.place} if count.place else {}


def _samples(count: Count) -> Samples:
    metric, factor = _metric(count)
    assert count.value is not None
    return Samples(WORKLOAD, metric, _parameters(count), (count.value * factor,))


def _table(log: Log, counts: Sequence[At]) -> Table:
    """perf's ``+-`` is the standard error of the mean, relative to it; how many runs there were is not told."""
    rows = tuple(_row(at) for at in counts)
    return Table("perf-stat", "means of repeated runs", WORKLOAD, (log.column,), rows, counts[0].line, gains="change")


def _row(at: At) -> TableRow:
    metric, factor = _metric(at.count)
    value = None if at.count.value is None else at.count.value * factor
    cell = Cell(
        value,
        "-" if value is None else f"{value:.15g}",
        spread_percent=at.count.error_percent if value is not None else None,
        spread_kind="standard error" if at.count.error_percent is not None and value is not None else "",
    )
    return TableRow(metric.name, "", _parameters(at.count), metric.unit, metric.direction, (cell,), at.line)

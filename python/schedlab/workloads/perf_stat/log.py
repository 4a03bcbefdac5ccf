"""``perf stat -x`` (separated values) and ``-j`` (JSON): one run, repeated runs (``-r``), or intervals (``-I``).

A line of separated values ("CSV FORMAT" in perf-stat(1))::

    [seconds,][CPU0, | S0-D0-C0,number, | comm-tid,]VALUE,unit,event,[cgroup,][error%,]runtime,percent[,value,unit]

As in the tool's real output, and unlike in the manual, the error of repeated runs follows the event.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isnan
from typing import Any

from schedlab.notation.units import counted
from schedlab.results.imported import Cell, Spread, Table, TableRow
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import number
from schedlab.workloads.log_reader import NUMBER, Log, Parameters, Reader, Reading, Samples

_WORKLOAD = "perf-stat"
"""Name of the workload: these formats do not name the measured command."""

_TIMES = {"duration_time": "elapsed", "user_time": "user", "system_time": "system"}
"""perf's clock events in nanoseconds (perf-list(1), tool events), and the adapters' names of their metrics."""

_UNITS = {"msec": "ms", "nsec": "ns", "": "events"}

_BETWEEN = re.compile(r"[^\w\s.<>%/()=:-]{1,4}|\t|:")
"""Separators: characters that no field contains."""
_LIKELY = re.compile(r"^.*([^\w\s.<>]{1,4}|\t)\d{1,18}\1\d{1,3}\.\d\d(?:\1.*)?$", re.MULTILINE)
"""Lines of counts end in the time for which the event was counted, and that time in per cent."""
_LINES = 40
"""Number of lines that determine the separator."""

_OBJECT = re.compile(r'^ *\{ ?"(?:interval|cpu|core|socket|die|node|thread|cgroup|counter-value)" ?: ?', re.MULTILINE)
_PLACES = ("cpu", "core", "die", "socket", "node", "cache", "cluster", "thread")

_COUNT = re.compile(r"[0-9]{1,20}(?:[.,][0-9]{1,15})?")
_NOTHING = re.compile(r"<not (?:counted|supported)>")
_SECONDS = re.compile(r" *[0-9]{1,12}\.[0-9]{9}| *summary")
_PLACE = re.compile(r"CPU\d+|[SDCNL]\d+(?:-[SDCNL]\w*\d+)*|.+-\d+")
_UNIT = re.compile(r"(?!<not )[^0-9\s][^\s]*|")
_EVENT = re.compile(r"[A-Za-z_][^\t]*")
_ERROR = re.compile(r"([0-9]{1,9}\.[0-9]+)%")


@dataclass(frozen=True)
class Count:
    """Count of one event.

    Attributes:
        event: name of the event.
        unit: unit as printed.
        value: the count; None where the event was not counted or is not supported.
        seconds: end of an interval (``-I``), nan in the lines of the summary, None without intervals.
        place: CPU, core, socket, thread or cgroup.
        error_percent: relative standard error over repeated runs (``-r``).
    """

    event: str
    unit: str
    value: float | None
    seconds: float | None = None
    place: str = ""
    error_percent: float | None = None


def count_of(line: str, separator: str) -> Count | None:
    """Return the count in a line; None for any other line."""
    fields = line.split(separator)
    seconds: float | None = None
    if _SECONDS.fullmatch(fields[0]):
        seconds = float("nan") if "summary" in fields[0] else float(fields[0])
        fields = fields[1:]
    place = ""
    if len(fields) > 3 and not _is_value(fields[0]) and _PLACE.fullmatch(fields[0]):
        place, fields = fields[0], fields[1:]
        # The number of CPUs follows a place with several CPUs.
        if len(fields) > 3 and fields[0].isdecimal() and _is_value(fields[1]):
            fields = fields[1:]
    if len(fields) < 5 or not _is_value(fields[0]) or not _UNIT.fullmatch(fields[1]) or not _EVENT.fullmatch(fields[2]):
        return None
    value = float(fields[0].replace(",", ".")) if _COUNT.fullmatch(fields[0]) else None
    error = next((match for field in fields[3:5] if (match := _ERROR.fullmatch(field))), None)
    cgroup = fields[3] if fields[3] and not _is_value(fields[3]) and not _ERROR.fullmatch(fields[3]) else ""
    place = " ".join(filter(None, (place, cgroup)))
    return Count(fields[2], fields[1], value, seconds, place, float(error[1]) if error else None)


def _is_value(field: str) -> bool:
    return bool(_COUNT.fullmatch(field) or _NOTHING.fullmatch(field))


@dataclass(frozen=True)
class _At:
    """A count and the number of its line."""

    count: Count
    line: int


def _separator(text: str) -> str | None:
    """Return the separator of the fields; None if perf printed no line of the text."""
    lines = [match[0] for match in islice(_LIKELY.finditer(text), _LINES)]
    candidates = {start for line in lines for mark in _BETWEEN.findall(line) for start in {mark, mark[:1], mark[:2]}}
    counts = {mark: sum(count_of(line, mark) is not None for line in lines) for mark in sorted(candidates)}
    best, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
    return best if count else None


def _read(log: Log) -> Reading:
    """Return the counts of ``-x`` output."""
    separator = _separator(log.text)
    if separator is None:
        raise log.problem("contains no line of 'perf stat -x'", 1)
    counts = list(_separated(log, separator))
    derived = sum(1 for line in log.lines if _is_derived(line, separator))
    reading = _reading(log, counts, derived)
    foreign = sum(1 for line in log.lines if line.strip() and not line.startswith("#")) - len(counts) - derived
    if foreign > 0 and not log.mixed:
        note = f"{log.name}: {counted(foreign, 'line')} that perf stat did not print"
        return replace(reading, notes=[*reading.notes, note])
    return reading


def _separated(log: Log, separator: str) -> Iterator[_At]:
    for line_number, line in enumerate(log.lines, 1):
        if count := count_of(line, separator):
            yield _At(count, line_number)
        elif line_number == len(log.lines) and line.count(separator) > 1 and not log.text.endswith("\n"):
            raise log.problem(f"“{line[:60]}” is cut off", line_number)


def _is_derived(line: str, separator: str) -> bool:
    """Return whether a line has only a derived figure: the fields of the count are empty."""
    return separator * 3 in line[:40] and count_of(line, separator) is None


def _recognises_json(head: str) -> bool:
    """Return whether a text has an object with one of perf's first keys, and a counter's value."""
    return '"counter-value"' in head and '"event"' in head and bool(_OBJECT.search(head))


def _read_json(log: Log) -> Reading:
    """Return the counts of ``-j`` output, an object a line ("JSON FORMAT" in perf-stat(1))."""
    derived = 0
    counts: list[_At] = []
    for line, fields in _objects(log):
        if "event" in fields and "counter-value" in fields:
            counts.append(_At(_count(log, line, fields), line))
        elif "metric-value" in fields or "metric-unit" in fields:
            derived += 1
    return _reading(log, counts, derived)


def _objects(log: Log) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(log.lines, 1):
        if not text.lstrip().startswith("{"):
            continue
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise log.problem(f"“{text.strip()[:60]}” is not a complete JSON object", line) from error
        if isinstance(content, dict):
            yield line, content


def _count(log: Log, line: int, fields: dict[str, Any]) -> Count:
    value = str(fields["counter-value"]).strip()
    if not (re.fullmatch(NUMBER, value) or re.fullmatch(r"<not \w+>", value)):
        raise log.problem(f"{value[:40]!r} is not a counter's value", line)
    return Count(
        event=str(fields["event"]),
        unit=str(fields.get("unit", "")),
        value=None if value.startswith("<") else float(value),
        seconds=number(fields.get("interval")),
        place=_place(fields),
        error_percent=number(fields.get("variance")),
    )


def _place(fields: dict[str, Any]) -> str:
    """Return the place in the notation of ``-x``: ``CPU0``, ``S0-D0-C0``."""
    name = next((name for name in _PLACES if name in fields), "")
    value = str(fields.get(name, ""))
    place = f"CPU{value}" if name == "cpu" and value.isdecimal() else value
    return " ".join(filter(None, (place, str(fields.get("cgroup", "")))))


def _reading(log: Log, counts: Sequence[_At], derived: int) -> Reading:
    """Return samples of every event, a sample for each interval or run. For repeated runs, return a table of their
    means.

    ``derived`` is the number of lines that contain only a figure derived from counts.
    """
    if not counts:
        raise log.problem("contains no event of perf stat", 1)
    notes = [f"{log.name}: {note}" for note in _notes(counts, derived)]
    without_summary = [at for at in counts if at.count.seconds is None or not isnan(at.count.seconds)]
    with_value = [at.count for at in without_summary if at.count.value is not None]
    if not with_value:
        raise log.problem("no event was counted: all are <not counted> or <not supported>", counts[0].line)
    if any(at.count.seconds is not None for at in without_summary):
        return Reading([_samples(count) for count in with_value if count.seconds is not None], notes=notes)
    if any(at.count.error_percent is not None for at in without_summary):
        return Reading(tables=[_table(log, without_summary)], notes=notes)
    return Reading([_samples(count) for count in with_value], notes=notes)


def _notes(counts: Sequence[_At], derived: int) -> Iterable[str]:
    missing = Counter(at.count.event for at in counts if at.count.value is None)
    with_value = {at.count.event for at in counts if at.count.value is not None}
    if never := [event for event in missing if event not in with_value]:
        yield f"left out, never counted: {', '.join(never)}"
    for event, times in missing.items():
        if event in with_value:
            yield f"{event}: {counted(times, 'count is', 'counts are')} missing"
    if any(at.count.seconds is not None and isnan(at.count.seconds) for at in counts):
        yield "left out: the summary, which adds up the intervals"
    if derived:
        yield f"left out: {counted(derived, 'derived figure')}, which follow from the counts"


def _metric(count: Count) -> tuple[MetricSpec, float]:
    """Return the event as a metric, and the factor of its value; events are costs, so lower is better."""
    if count.event in _TIMES and count.unit in ("ns", ""):
        return MetricSpec(_TIMES[count.event], "s", "lower"), 1e-9
    return MetricSpec(count.event, _UNITS.get(count.unit, count.unit), "lower"), 1.0


def _parameters(count: Count) -> Parameters:
    return {"place": count.place} if count.place else {}


def _samples(count: Count) -> Samples:
    metric, factor = _metric(count)
    assert count.value is not None
    return Samples(_WORKLOAD, metric, _parameters(count), (count.value * factor,))


def _table(log: Log, counts: Sequence[_At]) -> Table:
    """Return a table of means; perf's ``+-`` is their relative standard error, and the number of runs is unknown."""
    rows = tuple(map(_row, counts))
    return Table("perf-stat", "means of repeated runs", _WORKLOAD, (log.column,), rows, counts[0].line, gains="change")


def _row(at: _At) -> TableRow:
    metric, factor = _metric(at.count)
    if at.count.value is None:
        cell = Cell(None, "-")
    else:
        value, error = at.count.value * factor, at.count.error_percent
        kind: Spread = "standard error" if error is not None else ""
        cell = Cell(value, f"{value:.15g}", spread_percent=error, spread_kind=kind)
    return TableRow(metric.name, "", _parameters(at.count), metric.unit, metric.direction, (cell,), at.line)


READERS = (
    Reader("perf-stat-json", "perf stat -j, also with -r and -I", _recognises_json, _read_json, in_mails=False),
    Reader(
        "perf-stat",
        "perf stat -x SEPARATOR, also with -r and -I",
        lambda text: _separator(text) is not None,
        _read,
    ),
)

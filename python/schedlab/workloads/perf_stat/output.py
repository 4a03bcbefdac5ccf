"""Output of ``perf stat``: separated values (``-x``) and JSON (``-j``).

A line of separated values ("CSV FORMAT" in perf-stat(1))::

    [seconds,][CPU0, | S0-D0-C0,number, | comm-tid,]VALUE,unit,event,[cgroup,][error%,]runtime,percent[,value,unit]

As in the tool's real output, and unlike in the manual, the error of repeated runs follows the event. The error is the
standard error of the mean in per cent: ``print_noise`` prints ``rel_stddev_stats`` of ``stddev_stats``, which divides
the variance by n (linux, tools/perf/util/stat.c).
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

from schedlab.notation.units import SYMBOLS, counted
from schedlab.results.imported import Cell, ImportProblem, Spread, Table, TableRow
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import number
from schedlab.workloads.log_reader import NUMBER, Log, Parameters, Reader, Reading, Samples, Unread

WORKLOAD, LAYOUT = "perfstat", "perf-stat"
"""Name of the workload, as of the adapter, and of its tables. Only lines for people name the measured command."""

_TIMES = {"duration_time": "elapsed", "user_time": "user", "system_time": "system"}
"""perf's clock events in nanoseconds (perf-list(1), tool events), and the adapters' names of their metrics."""
CLOCKS = frozenset({"task-clock", "cpu-clock"})
"""Events that perf prints in milliseconds; old versions leave the unit out."""

_BETWEEN = re.compile(r"[^\w\s.<>%/()=:-]{1,4}|\t|:")
"""Separators: characters that no field contains."""
_LIKELY = re.compile(r"^.*([^\w\s.<>]{1,4}|\t)\d{1,18}\1\d{1,3}(?!\1)[.,]\d\d(?:\1.*)?$", re.MULTILINE)
"""Lines of counts end in the time for which the event was counted, and that time in per cent. ``-x`` and ``-j`` do not
separate thousands (``--big-num`` in perf-stat(1)), so a comma in a figure is the decimal mark of the locale."""
_AMBIGUOUS = Unread(
    re.compile(
        r"^(?:.{1,40},)?(?:\d+,)?\d+,[A-Za-z]*,[A-Za-z_][\w./:-]*,(?:\d+,\d\d%,)?\d+,\d{1,3},\d\d(?:,|$)", re.MULTILINE
    ),
    "output of 'perf stat -x ,' with decimal commas, which cannot be told from the separators",
    "run perf with LC_ALL=C, or with -x ';'",
)
_LINES = 40
"""Number of lines that determine the separator."""

_OBJECT = re.compile(r'^ *\{ ?"(?:interval|cpu|core|socket|die|node|thread|cgroup|counter-value)" ?: ?', re.MULTILINE)
_BARE_COMMA = re.compile(r'(" ?: ?-?\d+),(\d+)(?=[ \t]*[,}])')
"""A bare number with a decimal comma, which is not JSON: a key would follow the comma."""
_PLACES = ("cpu", "core", "die", "socket", "node", "cache", "cluster", "thread")

_COUNT = re.compile(r"[0-9]{1,20}(?:[.,][0-9]{1,15})?")
_VALUE = re.compile(rf"{_COUNT.pattern}|<not (?:counted|supported)>")
_SECONDS = re.compile(r" *[0-9]{1,12}\.[0-9]{9}| *summary")
_PLACE = re.compile(r"CPU\d+|[SDCNL]\d+(?:-[SDCNL]\w*\d+)*|.+-\d+")
_UNIT = re.compile(r"(?!<not )[^0-9\s][^\s]*|")
_EVENT = re.compile(r"[A-Za-z_][^\t]*")
_ERROR = re.compile(r"([0-9]{1,9}[.,][0-9]+)%")


@dataclass(frozen=True)
class Count:
    """Count of one event.

    Attributes:
        metric: the event or time; events are costs of the same work, so lower is better.
        value: the count; None where the event was not counted or is not supported.
        line: number of its line.
        text: the count as printed; empty if ``value`` has another unit.
        seconds: end of an interval (``-I``), nan in the lines of the summary, None without intervals.
        place: CPU, core, socket, thread or cgroup.
        error_percent: relative standard error over repeated runs (``-r``).
        runs: number of repeated runs; None where the format does not print it.
    """

    metric: MetricSpec
    value: float | None
    line: int
    text: str = ""
    seconds: float | None = None
    place: str = ""
    error_percent: float | None = None
    runs: int | None = None

    @property
    def parameters(self) -> Parameters:
        """Parameters of the row."""
        return {"place": self.place} if self.place else {}


def _count(event: str, unit: str, value: float | None, line: int, **further: Any) -> Count:
    """Return the count of an event with its printed unit; clock events become times in seconds."""
    if event in _TIMES and unit in ("ns", ""):
        seconds = None if value is None else value * 1e-9
        return Count(MetricSpec(_TIMES[event], "s", "lower"), seconds, line, **further)
    return Count(MetricSpec(event, unit_of(event, unit), "lower"), value, line, **further)


def unit_of(event: str, printed: str = "") -> str:
    """Return the unit of an event, by the unit that perf printed."""
    if not printed:
        return "ms" if event.partition(":")[0] in CLOCKS else "events"
    return "J" if printed == "Joules" else SYMBOLS.get(printed, printed)


def row_of(counts: Sequence[Count | None], parameters: Parameters) -> TableRow:
    """Return the row of one event, with a cell for each column."""
    first = next(count for count in counts if count is not None)
    cells = tuple(Cell(None) if count is None else _cell(count) for count in counts)
    return TableRow(first.metric.name, "", parameters, first.metric.unit, first.metric.direction, cells, first.line)


def _cell(count: Count) -> Cell:
    if count.value is None:
        return Cell(None, count.text or "-", n=count.runs)
    kind: Spread = "" if count.error_percent is None else "standard error"
    text = count.text or f"{count.value:.15g}"
    return Cell(count.value, text, spread_percent=count.error_percent, spread_kind=kind, n=count.runs)


def _count_of(line: str, separator: str, number: int = 0) -> Count | None:
    """Return the count in a line of separated values; None for any other line."""
    fields = line.split(separator)
    seconds: float | None = None
    if _SECONDS.fullmatch(fields[0]):
        seconds = float("nan") if "summary" in fields[0] else float(fields[0])
        fields = fields[1:]
    place = ""
    if len(fields) > 3 and not _VALUE.fullmatch(fields[0]) and _PLACE.fullmatch(fields[0]):
        place, fields = fields[0], fields[1:]
        # The number of CPUs follows a place with several CPUs.
        if len(fields) > 3 and fields[0].isdecimal() and _VALUE.fullmatch(fields[1]):
            fields = fields[1:]
    if (
        len(fields) < 5
        or not _VALUE.fullmatch(fields[0])
        or not _UNIT.fullmatch(fields[1])
        or not _EVENT.fullmatch(fields[2])
    ):
        return None
    value = _float(fields[0]) if _COUNT.fullmatch(fields[0]) else None
    error = next((_float(match[1]) for field in fields[3:5] if (match := _ERROR.fullmatch(field))), None)
    cgroup = fields[3] if fields[3] and not _VALUE.fullmatch(fields[3]) and not _ERROR.fullmatch(fields[3]) else ""
    place = " ".join(filter(None, (place, cgroup)))
    return _count(fields[2], fields[1], value, number, seconds=seconds, place=place, error_percent=error)


def _float(text: str) -> float:
    return float(text.replace(",", "."))


def _separator(text: str) -> str | None:
    """Return the separator of the fields; None if perf printed no line of the text."""
    lines = [match[0] for match in islice(_LIKELY.finditer(text), _LINES)]
    candidates = {start for line in lines for mark in _BETWEEN.findall(line) for start in {mark, mark[:1], mark[:2]}}
    counts = {mark: sum(_count_of(line, mark) is not None for line in lines) for mark in sorted(candidates)}
    best, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
    return best if count else None


def separated(log: Log) -> tuple[str, list[Count]]:
    """Return the separator and the counts of ``-x`` output; ImportProblem without counts, or if the last is cut off."""
    separator = _separator(log.text)
    if separator is None:
        raise log.problem("contains no line of 'perf stat -x'", 1)
    counts = []
    for line_number, line in enumerate(log.lines, 1):
        if count := _count_of(line, separator, line_number):
            if re.search(rf"(?:^|{re.escape(separator)})[1-9]\d*{re.escape(separator * 2)}(?:task|cpu)-clock", line):
                raise _no_unit(log, line_number)
            counts.append(count)
        elif line_number == len(log.lines) and line.count(separator) > 1 and not log.text.endswith("\n"):
            raise log.problem(f"“{line[:60]}” is cut off", line_number)
    return separator, counts


def _no_unit(log: Log, line: int) -> ImportProblem:
    """Return the error for a clock that may be in nanoseconds.

    Versions before 4.20 print milliseconds without a unit, but always with decimals.
    """
    fault = "a clock has neither a unit nor decimals, so its unit is uncertain"
    return log.problem(fault, line, "run perf again, or remove the line from the file")


def _read(log: Log) -> Reading:
    """Return the counts of ``-x`` output."""
    separator, counts = separated(log)
    # The fields of the count are empty in a line that has only a derived figure.
    derived = sum(separator * 3 in line[:40] and _count_of(line, separator) is None for line in log.lines)
    reading = _reading(log, counts, derived)
    foreign = sum(1 for line in log.lines if line.strip() and not line.startswith("#")) - len(counts) - derived
    if foreign > 0 and not log.mixed:
        note = f"{log.name}: {counted(foreign, 'line')} that perf stat did not print"
        return replace(reading, notes=[*reading.notes, note])
    return reading


def _recognises_json(head: str) -> bool:
    """Return whether a text has an object with one of perf's first keys, and a counter's value."""
    return '"counter-value"' in head and '"event"' in head and bool(_OBJECT.search(head))


def _read_json(log: Log) -> Reading:
    """Return the counts of ``-j`` output, an object a line ("JSON FORMAT" in perf-stat(1))."""
    derived = 0
    counts: list[Count] = []
    for line, fields in _objects(log):
        if "event" in fields and "counter-value" in fields:
            counts.append(_count_of_object(log, line, fields))
        elif "metric-value" in fields or "metric-unit" in fields:
            derived += 1
    return _reading(log, counts, derived)


def _objects(log: Log) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(log.lines, 1):
        if not text.lstrip().startswith("{"):
            continue
        try:
            content = json.loads(_BARE_COMMA.sub(r"\1.\2", text))
        except (ValueError, RecursionError) as error:
            raise log.problem(f"“{text.strip()[:60]}” is not a complete JSON object", line) from error
        if isinstance(content, dict):
            yield line, content


def _count_of_object(log: Log, line: int, fields: dict[str, Any]) -> Count:
    value = str(fields["counter-value"]).strip().replace(",", ".")
    if not (re.fullmatch(NUMBER, value) or re.fullmatch(r"<not \w+>", value)):
        raise log.problem(f"{value[:40]!r} is not a counter's value", line)
    event, unit = str(fields["event"]), str(fields.get("unit", ""))
    if event.partition(":")[0] in CLOCKS and not unit and value.isdecimal() and int(value):
        raise _no_unit(log, line)
    return _count(
        event,
        unit,
        None if value.startswith("<") else float(value),
        line,
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


def _reading(log: Log, counts: Sequence[Count], derived: int) -> Reading:
    """Return samples of every event, a sample for each interval or run. For repeated runs, return a table of their
    means.

    ``derived`` is the number of lines that contain only a figure derived from counts.
    """
    if not counts:
        raise log.problem("contains no event of perf stat", 1)
    notes = [f"{log.name}: {note}" for note in _notes(counts, derived)]
    without_summary = [count for count in counts if count.seconds is None or not isnan(count.seconds)]
    with_value = [count for count in without_summary if count.value is not None]
    if not with_value:
        raise log.problem("no event was counted: all are <not counted> or <not supported>", counts[0].line)
    if any(count.seconds is not None for count in without_summary):
        return Reading([_samples(count) for count in with_value if count.seconds is not None], notes=notes)
    if any(count.error_percent is not None for count in without_summary):
        rows = tuple(row_of([count], count.parameters) for count in without_summary)
        table = Table(LAYOUT, "means of repeated runs", WORKLOAD, (log.column,), rows, counts[0].line)
        return Reading(tables=[table], notes=notes)
    return Reading([_samples(count) for count in with_value], notes=notes)


def _notes(counts: Sequence[Count], derived: int) -> Iterable[str]:
    missing = Counter(count.metric.name for count in counts if count.value is None)
    with_value = {count.metric.name for count in counts if count.value is not None}
    if never := [event for event in missing if event not in with_value]:
        yield f"left out, never counted: {', '.join(never)}"
    for event, times in missing.items():
        if event in with_value:
            yield f"{event}: {counted(times, 'count is', 'counts are')} missing"
    if any(count.seconds is not None and isnan(count.seconds) for count in counts):
        yield "left out: the summary, which adds up the intervals"
    if derived:
        yield f"left out: {counted(derived, 'derived figure')}, which follow from the counts"


def _samples(count: Count) -> Samples:
    assert count.value is not None
    return Samples(WORKLOAD, count.metric, count.parameters, (count.value,))


_DERIVED = re.compile(r"(?:[\w.-]+[,;|:!@\t])?(?P<mark>[,;|:!@\t])(?P=mark){2}.*\d.*")
"""A line that has only a derived figure: the fields of the count are empty."""
_STARTED = "# started on "
"""Beginning of the first line of a file that perf writes."""


def _is_line(text: str) -> bool:
    """Return whether a line, without blanks at its ends, is a count of ``-x`` or a figure derived from a count."""
    return _separator(text) is not None or _DERIVED.fullmatch(text) is not None or text.startswith(_STARTED)


def _is_object(text: str) -> bool:
    """Return whether a line, without blanks at its ends, is an object of ``-j``."""
    return text.startswith(_STARTED) or (text.startswith("{") and ("-value" in text or '"event"' in text))


READERS = (
    Reader(
        "perf-stat-json",
        "perf stat -j, also with -r and -I",
        _recognises_json,
        _read_json,
        line=_is_object,
    ),
    Reader(
        "perf-stat",
        "perf stat -x SEPARATOR, also with -r and -I",
        lambda text: _separator(text) is not None,
        _read,
        line=_is_line,
        unread=(_AMBIGUOUS,),
    ),
)

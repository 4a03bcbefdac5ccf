"""Output of ``perf sched latency``: delays by task; ``perf sched stats report`` and ``diff``: counters of schedstat.

A line of each (perf 4.x to 6.x, and the versions of ``perf sched stats`` on the kernel's lists)::

    sched-pipe:(2) |  16.894 ms |     1995 | avg:   0.023 ms | max:  26.186 ms | max start:  1388.596869 s | max end: …
    schedule() called                          :      442939,     447305  |    0.99% |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from schedlab.notation.units import counted
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.results.metrics import Direction, MetricSpec
from schedlab.workloads.log_reader import NUMBER, WHOLE, Log, Parameters, Reader, Reading, Samples, lines_of, sections

_FIGURES = (
    (MetricSpec("delay-mean", "ms", "lower"), "mean"),
    (MetricSpec("delay-max", "ms", "lower", worst=True), "max"),
)

_HEADER = re.compile(r"^ *Task +\| +Runtime ms +\| +(?:Switches|Count) +\|.*$", re.MULTILINE)
_TASK = re.compile(
    rf" *(?P<name>\S.*?)(?P<pid>:(?:\(\d+\)|\d+(?:/\d+)?)) *\| +{NUMBER} ms \| +{WHOLE} \| "
    rf"avg: *(?P<mean>{NUMBER}) ms \| max: *(?P<max>{NUMBER}) ms \|(?: sum: *{NUMBER} ms \|)?"
    rf"(?: max (?:at|start): +(?P<start>{NUMBER}) s.*)?"
)
_TOTAL = re.compile(rf"^ *TOTAL: +\| +{NUMBER} ms \| +{WHOLE} \|.*$", re.MULTILINE)
_INFO = re.compile(r"^ *INFO: .*$", re.MULTILINE)
_RULE = re.compile(r" *-{10,}")


def _read_latency(log: Log) -> Reading:
    """Return mean and largest delay of each task; tasks without a measured delay are left out."""
    samples: list[Samples] = []
    notes = [f"{log.name}: left out: run times and switches of the tasks, of which no direction is better"]
    for head, text in sections(log.text, _HEADER):
        end = _TOTAL.search(text)
        if end is None:
            raise log.problem("a table without its TOTAL: the log is cut off", log.line_at(head.start()))
        rows: list[re.Match[str]] = []
        for number, line in enumerate(text[: end.start()].split("\n"), log.line_at(head.start())):
            if row := _TASK.fullmatch(line.rstrip()):
                rows.append(row)
            elif line.strip() and not _RULE.fullmatch(line.rstrip()):
                raise log.problem(f"“{line.strip()[:60]}” is not the line of a task", number)
        measured = [row for row in rows if row["start"] is None or float(row["start"]) > 0]
        if len(measured) < len(rows):
            notes.append(f"{log.name}: left out: {counted(len(rows) - len(measured), 'task')} without a measured delay")
        notes += [f"{log.name}: {info[0].strip()}" for info in _INFO.finditer(text)]
        # Numbers of processes differ in each run; only tasks of one name need them.
        names = Counter(row["name"] for row in measured)
        for row in measured:
            task = {"task": row["name"] if names[row["name"]] == 1 else row["name"] + row["pid"]}
            samples += [Samples("perf-sched-latency", metric, task, (float(row[key]),)) for metric, key in _FIGURES]
    if not samples:
        raise log.problem("contains no task with a delay", 1)
    return Reading(samples, notes=list(dict.fromkeys(notes)))


_COMMAND = re.compile(r"(?:.*[\s/#$+>])?perf sched stats .*")
_DIFF = re.compile(r"perf sched stats diff +(?:-\S+ +)*(\S+) +(\S+) *$", re.MULTILINE)
_ELAPSED = re.compile(rf"^ *Time elapsed \(in jiffies\) +: +({WHOLE})(?:, *({WHOLE}))? *$", re.MULTILINE)
_PLACE = re.compile(
    r"^ *CPU:? (?P<cpu><ALL CPUS SUMMARY>|\d+)(?:,? +DOMAIN (?P<domain>\S+)(?: CPUS .*)?)? *$", re.MULTILINE
)
_COUNTER = re.compile(
    rf"^ *(?P<star>\*?)(?P<name>[a-z]\S.*?) +: +(?P<first>{NUMBER})(?:, *(?P<second>{NUMBER}))?(?: +[|$(].*)? *$",
    re.MULTILINE | re.IGNORECASE,
)
_UNUSED = re.compile(r"Legacy counter .*|.* is not used|array_exp|sb[ef]_\w+")
"""Fields that the kernel keeps for old readers."""
_NANOSECONDS = re.compile(r"total (?:runtime|waittime) by .*|rq_cpu_time|run_delay")
"""perf writes “in jiffies”; /proc/schedstat counts these times in nanoseconds (sched-stats.rst)."""
_WAITING = re.compile(r"total waittime by .*|run_delay")


def _read_stats(log: Log) -> Reading:
    """Return a table of the counters over all CPUs, or by CPU where perf printed no summary."""
    runs = list(sections(log.text, _ELAPSED))
    if len(runs) != 1:
        fault = "several reports" if runs else "no line “Time elapsed (in jiffies)”"
        raise log.problem(fault, log.line_at(runs[1][0].start()) if runs else 1, "import each report from its own file")
    elapsed, text = runs[0]
    diff = _DIFF.search(log.text)
    columns = (log.column,) if elapsed[2] is None else (diff[1], diff[2]) if diff else ("first", "second")
    offset = log.line_at(elapsed.end()) - 1
    places = list(sections(text, _PLACE))
    summaries = [(head, part) for head, part in places if not head["cpu"].isdecimal()]
    rows = [row for head, part in summaries or places for row in _rows(log, text, head, part, offset, len(columns))]
    if not rows:
        raise log.problem("contains no counter: the log is cut off", log.last_line)
    notes = [f"{log.name}: counters have no better direction, except the time that tasks waited"]
    if summaries and len(places) > len(summaries):
        notes.append(f"{log.name}: left out: counters of single CPUs, which the summary contains")
    if elapsed[2] is not None and elapsed[1] != elapsed[2]:
        notes.append(f"{log.name}: the runs took {elapsed[1]} and {elapsed[2]} jiffies, and counters grow with time")
    table = Table(
        "counters", "perf sched stats", "perf-sched-stats", columns, tuple(rows), rows[0].line, gains="change"
    )
    return Reading(tables=[table], notes=notes)


def _rows(log: Log, text: str, head: re.Match[str], part: str, offset: int, columns: int) -> Iterator[TableRow]:
    place: Parameters = {"domain": head["domain"]} if head["domain"] else {}
    if head["cpu"].isdecimal():
        place = {"cpu": int(head["cpu"]), **place}
    for match in _COUNTER.finditer(part):
        name = match["name"]
        line = offset + text.count("\n", 0, head.end() + match.start()) + 1
        values = [value for value in (match["first"], match["second"]) if value is not None]
        if len(values) != columns:
            raise log.problem(f"“{name}” has {len(values)} values for {columns} runs", line)
        if _UNUSED.fullmatch(name):
            continue
        unit = "ns" if _NANOSECONDS.fullmatch(name) else "tasks" if "." in match["first"] else "events"
        cells = tuple(Cell(float(value), value) for value in values)
        direction: Direction | None = "lower" if _WAITING.fullmatch(name) else None
        label = " ".join(f"{key} {value}" for key, value in place.items())
        yield TableRow(name.removesuffix(" (in jiffies)"), label, place, unit, direction, cells, line)


_STATS_LINES = (
    r"(?:Columns? )?[Dd]escription|(?:DESC|COUNT|PCT_CHANGE|AVG_JIFFIES)\d?\b.*|-{20,}|-+ <.*> -+",
    *(pattern.pattern.strip("^$") for pattern in (_ELAPSED, _PLACE)),
    r"\*?[a-zA-Z]\S.*  +: +[\d.]+(?:, *[\d.]+)?(?: +[|$(].*)?",
)
_LATENCY_LINES = (
    _HEADER.pattern.strip("^$"),
    _TASK.pattern,
    _TOTAL.pattern.strip("^$"),
    _INFO.pattern.strip("^$"),
    r"-{10,}",
)

READERS = (
    Reader(
        "perf-sched-latency",
        "perf sched latency: delays by task",
        lambda head: bool(_HEADER.search(head)),
        _read_latency,
        line=lines_of(*_LATENCY_LINES),
        begins=re.compile(_HEADER.pattern.strip("^$")),
    ),
    Reader(
        "perf-sched-stats",
        "perf sched stats report and diff: counters of the scheduler",
        lambda head: bool(_ELAPSED.search(head) and _PLACE.search(head)),
        _read_stats,
        line=lines_of(*_STATS_LINES),
        command=_COMMAND,
        begins=re.compile(r"(?:Columns? )?[Dd]escription|Time elapsed \(in jiffies\) .*"),
    ),
)

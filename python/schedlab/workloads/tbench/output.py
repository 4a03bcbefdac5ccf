"""Output of dbench and tbench: a line a second, a table of latencies by operation, and ``Throughput N MB/sec``.

Both tools are one program that prints ``dbench`` as its name. Each line's throughput is the mean since the start of the
run; the latency is the maximum of that second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import (
    NUMBER,
    WHOLE,
    Log,
    Reader,
    Reading,
    Samples,
    floats,
    lines_of,
    named,
    single_run,
)
from schedlab.workloads.mmtests_logs import Row, TreeLog, logs_named, open_log

OPERATIONS = (
    "NTCreateX", "Close", "Rename", "Unlink", "Deltree", "Mkdir", "Qpathinfo", "Qfileinfo", "Qfsinfo", "Sfileinfo",
    "Find", "WriteX", "ReadX", "LockX", "UnlockX", "Flush",
)  # fmt: skip
"""Operations in the load file of dbench 4, with the names in its table of latencies."""

METRICS = (
    MetricSpec("throughput", "MB/s", "higher"),
    MetricSpec("latency", "us", "lower", judged=False),
    MetricSpec("latency-max", "us", "lower", judged=False),
    *(MetricSpec(f"latency-{operation.lower()}", "us", "lower", judged=False) for operation in OPERATIONS),
)
_SO_FAR = MetricSpec("throughput-so-far", "MB/s", "higher")
_LARGEST = MetricSpec("latency-max-interim", "us", "lower")

_BANNER = re.compile(r"^dbench version \S+ - Copyright", re.MULTILINE)
_SECOND = re.compile(
    rf"^ *\d+ +\d+ +({NUMBER}) MB/sec +execute +{NUMBER} sec(?: +latency ({NUMBER}) ms)?[ \t]*$", re.MULTILINE
)
_OPERATION = re.compile(rf"^[ \t]*([A-Za-z]\w*)[ \t]+({WHOLE})[ \t]+({NUMBER})[ \t]+({NUMBER})[ \t]*$", re.MULTILINE)
_END = re.compile(rf"^Throughput ({NUMBER}) MB/sec (?:.*max_latency=(?P<latency>{NUMBER}) ms)?.*$", re.MULTILINE)
_CLIENTS = re.compile(rf" ({WHOLE}) (?:clients|procs)\b")
_BEGUN = re.compile(r"^(?:dbench version|Running for|releasing clients| *\d+ +\d+ +\S+ MB/sec)", re.MULTILINE)


def _recognises(head: str) -> bool:
    """Return whether a text has the program's first line, the line of a second, or the line of the throughput."""
    return bool(_BANNER.search(head) or _SECOND.search(head) or _END.search(head))


def _read(log: Log) -> Reading:
    """Return throughput and mean latency by operation of each run, and the values of its seconds."""
    workload = next((name for name in ("tbench", "dbench") if name in log.name.lower()), "")
    notes = [] if workload else [f"{log.name}: taken for dbench; only the file's name distinguishes tbench from dbench"]
    samples: list[Samples] = []
    start = 0
    for end in _END.finditer(log.text):
        samples += _run(log, workload or "dbench", start, end)
        start = end.end()
    if not samples or _BEGUN.search(log.text, start):
        log.cut_off('the line "Throughput N MB/sec …"')
    if any(part.metric is _SO_FAR for part in samples):
        notes.append(f"{log.name}: throughput-so-far is the mean since the start of the run, at each second")
    return Reading(samples, notes=notes)


def _run(log: Log, workload: str, start: int, end: re.Match[str]) -> Iterator[Samples]:
    values = {"throughput": float(end[1])}
    if values["throughput"] <= 0:
        raise log.problem("a throughput of 0: the run failed", log.line_at(end.start()))
    # dbench 3 and tbench 3 print no latencies. The table prints milliseconds with three decimals.
    if end["latency"]:
        text = log.text[start : end.end()]
        rows = [(name, int(count), 1e3 * float(mean)) for name, count, mean, _ in _OPERATION.findall(text)]
        total = sum(count for _, count, _ in rows)
        if not total:
            raise log.problem("tbench printed no table of operations and their latencies", log.line_at(end.start()))
        values["latency"] = sum(count * mean for _, count, mean in rows) / total
        values["latency-max"] = 1e3 * float(end["latency"])
        values |= {f"latency-{name.lower()}": mean for name, _, mean in rows}
    clients = _CLIENTS.search(end[0])
    parameters = {"clients": int(clients[1])} if clients else {}
    yield from single_run(workload, parameters, named(METRICS, values))
    if seconds := list(_SECOND.finditer(log.text, start, end.start())):
        yield Samples(workload, _SO_FAR, parameters, [float(second[1]) for second in seconds])
        if largest := [1e3 * float(second[2]) for second in seconds if second[2]]:
            yield Samples(workload, _LARGEST, parameters, largest)


_LINES = (
    rf"dbench version .*|Running for {WHOLE} seconds with load .*|{WHOLE} of {WHOLE} (?:processes|clients) .*",
    rf"releasing clients|{WHOLE} +{WHOLE} +{NUMBER} MB/sec .*|{WHOLE} +cleanup +{WHOLE} sec.*|{WHOLE} +completed in .*",
    rf"Operation +Count +AvgLat.*|-+|{_OPERATION.pattern.strip('^$')}|Throughput {NUMBER} MB/sec.*|failed to create .*",
)
"""Lines that dbench and tbench print."""

READER = Reader(
    "dbench",
    "dbench and tbench: throughput, latency by operation, every second's line",
    _recognises,
    _read,
    line=lines_of(*_LINES),
    begins=re.compile(r"dbench version .*"),
)
READERS = (READER,)

_LOADFILE = MetricSpec("loadfile", "ms", "lower")
_LATENCY = MetricSpec("latency", "ms", "lower")
_ORDER = (_LOADFILE, _LATENCY, METRICS[0])
_DECIMALS = 4

_COMPLETED = re.compile(r"^\s*\d+\s+completed in\s+(\d+)\s+ms at time\s+\d+\s+ms\s*?$", re.M)
_LAST = re.compile(r" ms\Z")
_OPERATION_LAST = re.compile(r"\.\d{3}\Z")
_WANTED = {
    _COMPLETED: "“CLIENT completed in N ms at time N ms”",
    _SECOND: "“CLIENTS COUNT N MB/sec  execute N sec  latency N ms”",
    _OPERATION: "“OPERATION COUNT MEAN MAX”",
}

_UNSPLIT = r"(?:tbench|dbench)-(?:(loadfile|execute)-)?(\d+)\.log"


def read_mmtests(folder: Path) -> list[Row]:
    """Return milliseconds to complete the load, throughput of each second, and mean latency of each operation.

    The logs of MMTests are split in three (``benchlog-{loadfile,tput,op}-CLIENTS``), or one ``tbench-CLIENTS.log``.
    """
    split = [
        row
        for match, path in logs_named(folder, r"benchlog-(loadfile|op|tput)-(\d+)")
        for row in _split_log(match, path)
    ]
    # MMTests keeps the unsplit log next to the split logs. The unsplit log and the split logs have the same content.
    rows = split or [row for match, path in logs_named(folder, _UNSPLIT) for row in _unsplit_log(match, path)]
    return sorted(
        rows,
        key=lambda row: (
            _ORDER.index(row.metric),
            str(row.parameters.get("operation", "")),
            row.parameters["clients"],
        ),
    )


def _split_log(match: re.Match[str], path: Path) -> Iterator[Row]:
    part, clients = match[1], int(match[2])
    log = open_log(path, f"tbench {part} log", _OPERATION_LAST if part == "op" else _LAST)
    pattern = {"loadfile": _COMPLETED, "tput": _SECOND, "op": _OPERATION}[part]
    log.require_each_line(pattern, _WANTED[pattern])
    yield from _operations(log, clients) if part == "op" else (_single(log, pattern, clients),)


def _unsplit_log(match: re.Match[str], path: Path) -> Iterator[Row]:
    part, clients = match[1], int(match[2])
    log = open_log(path, "tbench log", _LAST)
    if part != "execute" and (part == "loadfile" or _COMPLETED.search(log.text)):
        log.find(_COMPLETED, _WANTED[_COMPLETED])
        yield _single(log, _COMPLETED, clients)
    if part != "loadfile":
        log.find(_SECOND, _WANTED[_SECOND])
        if not _END.search(log.text):
            raise log.problem("no “Throughput N MB/sec” at the end", log.last_line)
        yield _single(log, _SECOND, clients)
        yield from _operations(log, clients)


def _single(log: TreeLog, pattern: re.Pattern[str], clients: int) -> Row:
    metric, label = (_LOADFILE, "loadfile") if pattern is _COMPLETED else (METRICS[0], "tput")
    values = log.find(pattern, _WANTED[pattern])
    return Row(metric, _DECIMALS, f"{label}-{clients}", {"clients": clients}, values, log.path)


def _operations(log: TreeLog, clients: int) -> Iterator[Row]:
    for operation, _, mean, _ in _OPERATION.findall(log.text):
        parameters = {"operation": operation, "clients": clients}
        yield Row(_LATENCY, _DECIMALS, f"op-{operation}-{clients}", parameters, floats([mean]), log.path)

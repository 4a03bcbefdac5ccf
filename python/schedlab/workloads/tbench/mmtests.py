"""tbench in MMTests: logs split in three (``benchlog-{loadfile,tput,op}-CLIENTS``), or one ``tbench-CLIENTS.log``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import floats
from schedlab.workloads.mmtests_logs import Row, TreeLog, logs_named, open_log

_LOADFILE = MetricSpec("loadfile", "ms", "lower")
_THROUGHPUT = MetricSpec("throughput", "MB/s", "higher")
_LATENCY = MetricSpec("latency", "ms", "lower")
_ORDER = (_LOADFILE, _LATENCY, _THROUGHPUT)
_DECIMALS = 4

_COMPLETED = re.compile(r"^\s*\d+\s+completed in\s+(\d+)\s+ms at time\s+\d+\s+ms\s*?$", re.M)
_EXECUTE = re.compile(r"^\s*\d+\s+\d+\s+(\d+\.\d+)\s+MB/sec\s+execute\s+\d+\s+sec\s+latency\s+\d+\.\d+\s+ms\s*?$", re.M)
_OPERATION = re.compile(r"^[ \t]*([A-Za-z]\w*)[ \t]+\d+[ \t]+(\d+\.\d+)[ \t]+\d+\.\d+\s*?$", re.M)
_DONE = re.compile(r"^Throughput \d+\.?\d* MB/sec", re.M)
_END = re.compile(r" ms\Z")
_OPERATION_END = re.compile(r"\.\d{3}\Z")
_WANTED = {
    _COMPLETED: "“CLIENT completed in N ms at time N ms”",
    _EXECUTE: "“CLIENTS COUNT N MB/sec  execute N sec  latency N ms”",
    _OPERATION: "“OPERATION COUNT MEAN MAX”",
}

_UNSPLIT = r"(?:tbench|dbench)-(?:(loadfile|execute)-)?(\d+)\.log"


def read(folder: Path) -> list[Row]:
    """Return milliseconds to complete the load, throughput of each second, and mean latency of each operation."""
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
    log = open_log(path, f"tbench {part} log", _OPERATION_END if part == "op" else _END)
    pattern = {"loadfile": _COMPLETED, "tput": _EXECUTE, "op": _OPERATION}[part]
    log.require_each_line(pattern, _WANTED[pattern])
    yield from _operations(log, clients) if part == "op" else (_single(log, pattern, clients),)


def _unsplit_log(match: re.Match[str], path: Path) -> Iterator[Row]:
    part, clients = match[1], int(match[2])
    log = open_log(path, "tbench log", _END)
    if part != "execute" and (part == "loadfile" or _COMPLETED.search(log.text)):
        log.find(_COMPLETED, _WANTED[_COMPLETED])
        yield _single(log, _COMPLETED, clients)
    if part != "loadfile":
        log.find(_EXECUTE, _WANTED[_EXECUTE])
        if not _DONE.search(log.text):
            raise log.problem("no “Throughput N MB/sec” at the end", log.last_line)
        yield _single(log, _EXECUTE, clients)
        yield from _operations(log, clients)


def _single(log: TreeLog, pattern: re.Pattern[str], clients: int) -> Row:
    metric, label = (_LOADFILE, "loadfile") if pattern is _COMPLETED else (_THROUGHPUT, "tput")
    values = log.find(pattern, _WANTED[pattern])
    return Row(metric, _DECIMALS, f"{label}-{clients}", {"clients": clients}, values, log.path)


def _operations(log: TreeLog, clients: int) -> Iterator[Row]:
    for operation, mean in _OPERATION.findall(log.text):
        parameters = {"operation": operation, "clients": clients}
        yield Row(_LATENCY, _DECIMALS, f"op-{operation}-{clients}", parameters, floats([mean]), log.path)

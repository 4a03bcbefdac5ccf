"""tbench logs: split by MMTests (``benchlog-{loadfile,tput,op}-CLIENTS``), or whole (``tbench-CLIENTS.log``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from schedlab.importers.mmtests.logs import Log, logs_named, open_log
from schedlab.importers.mmtests.rows import Row, Scale, numbers

_LOADFILE = Scale("loadfile", "ms", "lower", 4)
_THROUGHPUT = Scale("throughput", "MB/s", "higher", 4)
_LATENCY = Scale("latency", "ms", "lower", 4)

_COMPLETED = re.compile(rb"^\s*\d+\s+completed in\s+(\d+)\s+ms at time\s+\d+\s+ms\s*?$", re.M)
_EXECUTE = re.compile(
    rb"^\s*\d+\s+\d+\s+(\d+\.\d+)\s+MB/sec\s+execute\s+\d+\s+sec\s+latency\s+\d+\.\d+\s+ms\s*?$", re.M
)
_OPERATION = re.compile(rb"^[ \t]*([A-Za-z]\w*)[ \t]+\d+[ \t]+(\d+\.\d+)[ \t]+\d+\.\d+\s*?$", re.M)
_DONE = re.compile(rb"^Throughput \d+\.?\d* MB/sec", re.M)
_END = re.compile(rb" ms\Z")
_OPERATION_END = re.compile(rb"\.\d{3}\Z")

_OLD = r"(?:tbench|dbench)-(?:(loadfile|execute)-)?(\d+)\.log"


def read(folder: Path) -> list[Row]:
    """Milliseconds to complete the load, throughput of each second, mean latency of each operation."""
    split = [
        row for match, path in logs_named(folder, r"benchlog-(loadfile|op|tput)-(\d+)") for row in _split(match, path)
    ]
    # The whole log is kept beside the split ones and says nothing that they do not.
    rows = split or [row for match, path in logs_named(folder, _OLD) for row in _whole(match, path)]
    order = {_LOADFILE: 0, _LATENCY: 1, _THROUGHPUT: 2}
    return sorted(
        rows, key=lambda row: (order[row.scale], str(row.parameters.get("operation", "")), row.parameters["clients"])
    )


def _split(match: re.Match[str], path: Path) -> Iterator[Row]:
    kind, clients = match[1], int(match[2])
    log = open_log(path, f"tbench {kind} log", _OPERATION_END if kind == "op" else _END)
    if kind == "loadfile":
        log.each_line(_COMPLETED, "“CLIENT completed in N ms at time N ms”")
        yield _loadfile(log, clients)
    elif kind == "tput":
        log.each_line(_EXECUTE, "“CLIENTS COUNT N MB/sec  execute N sec  latency N ms”")
        yield _throughput(log, clients)
    else:
        log.each_line(_OPERATION, "“OPERATION COUNT MEAN MAX”")
        yield from _operations(log, clients)


def _whole(match: re.Match[str], path: Path) -> Iterator[Row]:
    kind, clients = match[1], int(match[2])
    log = open_log(path, "tbench log", _END)
    if kind != "execute" and (kind == "loadfile" or _COMPLETED.search(log.data)):
        log.find(_COMPLETED, "“CLIENT completed in N ms at time N ms”")
        yield _loadfile(log, clients)
    if kind != "loadfile":
        log.find(_EXECUTE, "“CLIENTS COUNT N MB/sec  execute N sec  latency N ms”")
        if not _DONE.search(log.data):
            raise log.problem("no “Throughput N MB/sec” at the end", len(log.data.rstrip()))
        yield _throughput(log, clients)
        yield from _operations(log, clients)


def _loadfile(log: Log, clients: int) -> Row:
    values = numbers(_COMPLETED.findall(log.data))
    return Row(_LOADFILE, f"loadfile-{clients}", {"clients": clients}, values, log.path)


def _throughput(log: Log, clients: int) -> Row:
    values = numbers(_EXECUTE.findall(log.data))
    return Row(_THROUGHPUT, f"tput-{clients}", {"clients": clients}, values, log.path)


def _operations(log: Log, clients: int) -> Iterator[Row]:
    for name, mean in _OPERATION.findall(log.data):
        operation = name.decode()
        parameters = {"operation": operation, "clients": clients}
        yield Row(_LATENCY, f"op-{operation}-{clients}", parameters, numbers([mean]), log.path)

"""netperf logs: ``protocols`` names the test (``UDP_STREAM``), ``PROTOCOL-SIZE.N`` are its repetitions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from schedlab.importers.mmtests.logs import Log, logs_named, open_log
from schedlab.importers.mmtests.rows import Row, Scale, numbers

_THROUGHPUT = Scale("throughput", "Mbit/s", "higher", 2)
_SENT = Scale("sent", "Mbit/s", "higher", 2)
_RECEIVED = Scale("received", "Mbit/s", "higher", 2)
_TRANSACTIONS = Scale("transactions", "transactions/s", "higher", 2)
"""MMTests calls transactions Mbit/s too; netperf prints their rate a second."""

_FIGURES = re.compile(rb"^[ \t]*([\d.]+(?:[ \t]+[\d.]+)+)[ \t\r]*$", re.M)
_END = re.compile(rb"(?:\.\d\d|^\d+ +\d+)\Z", re.M)
_NAME_END = re.compile(rb"[A-Z]\Z")


def read(folder: Path) -> list[Row]:
    """Throughput or transactions of every repetition, a row for each size of message (UDP: what was sent, received)."""
    sizes: dict[tuple[str, int], list[Log]] = {}
    for match, path in logs_named(folder, rf"({_protocol(folder)})-(\d+)\.\d+"):
        sizes.setdefault((match[1], int(match[2])), []).append(open_log(path, f"netperf {match[1]} log", _END))
    return [row for key in sorted(sizes) for row in _rows(*key, sizes[key])]


def _protocol(folder: Path) -> str:
    for _, path in logs_named(folder, "protocols"):
        return re.escape(open_log(path, "list of netperf tests", _NAME_END).data.split()[0].decode("ascii", "replace"))
    return "[A-Z]+_[A-Z]+"


def _rows(protocol: str, size: int, logs: list[Log]) -> list[Row]:
    name = protocol.lower().replace("_", "")
    parameters = {"size": size}
    if protocol != "UDP_STREAM":
        scale = _TRANSACTIONS if protocol.endswith("_RR") else _THROUGHPUT
        values = numbers(_last(log, lambda figures: figures > 4) for log in logs)
        return [Row(scale, f"{name}-send-{size}", parameters, values, logs[0].path)]
    sent = numbers(_last(log, lambda figures: figures == 6) for log in logs)
    received = numbers(_last(log, lambda figures: figures == 4) for log in logs)
    return [
        Row(_SENT, f"{name}-send-{size}", parameters, sent, logs[0].path),
        Row(_RECEIVED, f"{name}-recv-{size}", parameters, received, logs[0].path),
    ]


def _last(log: Log, wanted: Callable[[int], bool]) -> bytes:
    """The last figure of the last line that has as many as wanted: netperf prints sizes and times before it."""
    for match in reversed(list(_FIGURES.finditer(log.data))):
        figures = match[1].split()
        if wanted(len(figures)):
            return figures[-1]
    raise log.problem("no line of results", len(log.data.rstrip()))

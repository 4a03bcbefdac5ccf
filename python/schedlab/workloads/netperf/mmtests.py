"""netperf in MMTests: ``protocols`` names the test (``UDP_STREAM``), ``PROTOCOL-SIZE.N`` are its repetitions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import floats
from schedlab.workloads.mmtests_logs import Row, TreeLog, logs_named, open_log
from schedlab.workloads.network_metrics import RECEIVED, SENT, TRANSACTIONS

_THROUGHPUT = MetricSpec("throughput", "Mbit/s", "higher")
_DECIMALS = 2

_NUMBERS = re.compile(r"^[ \t]*([\d.]+(?:[ \t]+[\d.]+)+)[ \t]*$", re.M)
_END = re.compile(r"(?:\.\d\d|^\d+ +\d+)\Z", re.M)
_NAME_END = re.compile(r"[A-Z]\Z")


def read(folder: Path) -> list[Row]:
    """Return throughput or transactions of every repetition, a row for each message size; UDP as sent and received."""
    sizes: dict[tuple[str, int], list[TreeLog]] = {}
    for match, path in logs_named(folder, rf"({_protocol(folder)})-(\d+)\.\d+"):
        sizes.setdefault((match[1], int(match[2])), []).append(open_log(path, f"netperf {match[1]} log", _END))
    return [row for key in sorted(sizes) for row in _rows(*key, sizes[key])]


def _protocol(folder: Path) -> str:
    for _, path in logs_named(folder, "protocols"):
        return re.escape(open_log(path, "list of netperf tests", _NAME_END).text.split()[0])
    return "[A-Z]+_[A-Z]+"


def _rows(protocol: str, size: int, logs: list[TreeLog]) -> list[Row]:
    name = protocol.lower().replace("_", "")

    def row(metric: MetricSpec, kind: str, has_result: Callable[[int], bool]) -> Row:
        values = floats(_last_number(log, has_result) for log in logs)
        return Row(metric, _DECIMALS, f"{name}-{kind}-{size}", {"size": size}, values, logs[0].path)

    if protocol == "UDP_STREAM":
        return [row(SENT, "send", lambda numbers: numbers == 6), row(RECEIVED, "recv", lambda numbers: numbers == 4)]
    # MMTests labels transactions with Mbit/s, but netperf prints transactions a second.
    return [row(TRANSACTIONS if protocol.endswith("_RR") else _THROUGHPUT, "send", lambda numbers: numbers > 4)]


def _last_number(log: TreeLog, has_result: Callable[[int], bool]) -> str:
    """Return the last number of the last result line. ``has_result`` selects lines by their count of numbers."""
    for match in reversed(list(_NUMBERS.finditer(log.text))):
        numbers = match[1].split()
        if has_result(len(numbers)):
            return numbers[-1]
    raise log.problem("no line of results", log.last_line)

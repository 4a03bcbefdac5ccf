"""schbench: ``schbench-WORKERS.log``, percentiles printed at every interval."""

from __future__ import annotations

import re
from pathlib import Path

from schedlab.importers.mmtests.logs import Log, logs_named, open_log
from schedlab.importers.mmtests.rows import Row, Scale, numbers

_SCALES = {
    b"Wakeup": Scale("wakeup", "us", "lower", 2),
    b"Request": Scale("request", "us", "lower", 2),
    b"RPS": Scale("rps", "requests/s", "higher", 2),
}
_OLD = Scale("latency", "us", "lower", 2)

_INTERVAL_END = re.compile(rb"^current rps: [\d.]+\s*?(?:\n|\Z)", re.M)
_RUN_END = re.compile(rb"^average rps: [\d.]+", re.M)
_PERCENTILE = re.compile(
    rb"^(Wakeup|Request|RPS)(?: Latencies)? percentiles [^\n]*$|^[ \t*]+(\d+\.\d)th:\s+(\d+)\b", re.M
)
_END = re.compile(rb"(?:rps: \d+\.\d\d|min=\d+, max=\d+)\Z")

_OLD_HEAD = re.compile(rb"^Latency percentiles \(usec\)", re.M)
_OLD_PERCENTILE = re.compile(rb"^[ \t*]*(\d+\.\d+)th: (\d+)\s*?$", re.M)


def read(folder: Path) -> list[Row]:
    """Percentiles of wake-up and request latencies and of the requests a second; a sample for each interval."""
    rows = []
    for match, path in logs_named(folder, r"schbench-(\d+)\.log"):
        log = open_log(path, "schbench log", _END)
        old = _OLD_HEAD.search(log.data)
        rows += _old_rows(log, int(match[1])) if old else _rows(log, int(match[1]))
    return rows


def _rows(log: Log, workers: int) -> list[Row]:
    samples: dict[tuple[bytes, bytes], list[bytes]] = {}
    head = b""
    for name, percentile, value in _PERCENTILE.findall(_intervals(log)):
        head = name or head
        if not name and head:
            samples.setdefault((head, percentile), []).append(value)
    if not samples:
        raise log.problem("no percentiles", len(log.data.rstrip()))
    return [
        Row(
            _SCALES[head],
            f"{head.decode()}-{percentile.decode()}th-{workers}",
            {"percentile": float(percentile), "workers": workers},
            numbers(values),
            log.path,
        )
        for (head, percentile), values in samples.items()
    ]


def _intervals(log: Log) -> bytes:
    """What was printed at the intervals. The last report sums the run up; it counts only where it stands alone."""
    ends = list(_INTERVAL_END.finditer(log.data))
    rest = log.data[ends[-1].end() if ends else 0 :]
    whole = _RUN_END.search(rest)
    if _PERCENTILE.search(rest) and not whole:
        raise log.problem("percentiles that are cut off, without “average rps”", len(log.data.rstrip()))
    return log.data[: ends[-1].end()] if ends else rest


def _old_rows(log: Log, workers: int) -> list[Row]:
    """Before 2023 schbench knew wake-up latencies only; what it printed is cumulative, so the last report counts."""
    start = [match.start() for match in _OLD_HEAD.finditer(log.data)][-1]
    found = _OLD_PERCENTILE.findall(log.data, start)
    if not found or not re.compile(rb"min=\d+, max=\d+").search(log.data, start):
        raise log.problem("percentiles that are cut off, without “min=, max=”", len(log.data.rstrip()))
    return [
        Row(
            _OLD,
            f"{percentile.decode().removesuffix('00')}th-qrtle-{workers}",
            {"percentile": float(percentile), "workers": workers},
            numbers([value]),
            log.path,
        )
        for percentile, value in found
    ]

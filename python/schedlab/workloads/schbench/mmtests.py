"""schbench in MMTests: ``schbench-WORKERS.log``, percentiles printed at every interval."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import floats
from schedlab.workloads.mmtests_logs import Row, TreeLog, logs_named, open_log

_METRICS = {
    "Wakeup": MetricSpec("wakeup", "us", "lower"),
    "Request": MetricSpec("request", "us", "lower"),
    "RPS": MetricSpec("rps", "requests/s", "higher"),
}
_OLD = MetricSpec("latency", "us", "lower")

_INTERVAL_END = re.compile(r"^current rps: [\d.]+\s*?(?:\n|\Z)", re.M)
_RUN_END = re.compile(r"^average rps: [\d.]+", re.M)
_PERCENTILE = re.compile(
    r"^(Wakeup|Request|RPS)(?: Latencies)? percentiles [^\n]*$|^[ \t*]+(\d+\.\d)th:\s+(\d+)\b", re.M
)
_END = re.compile(r"(?:rps: \d+\.\d\d|min=\d+, max=\d+)\Z")

_OLD_HEAD = re.compile(r"^Latency percentiles \(usec\)", re.M)
_OLD_PERCENTILE = re.compile(r"^[ \t*]*(\d+\.\d+)th: (\d+)\s*?$", re.M)
_OLD_END = re.compile(r"min=\d+, max=\d+")


def read(folder: Path) -> list[Row]:
    """Return percentiles of wake-up and request latencies and of requests a second; a sample for each interval."""
    rows = []
    for match, path in logs_named(folder, r"schbench-(\d+)\.log"):
        log = open_log(path, "schbench log", _END)
        rows += (_old_rows if _OLD_HEAD.search(log.text) else _rows)(log, int(match[1]))
    return rows


def _row(metric: MetricSpec, label: str, percentile: str, workers: int, values: Sequence[str], log: TreeLog) -> Row:
    parameters = {"percentile": float(percentile), "workers": workers}
    return Row(metric, 2, f"{label}-{workers}", parameters, floats(values), log.path)


def _rows(log: TreeLog, workers: int) -> list[Row]:
    samples: dict[tuple[str, str], list[str]] = {}
    head = ""
    for name, percentile, value in _PERCENTILE.findall(_intervals(log)):
        head = name or head
        if not name and head:
            samples.setdefault((head, percentile), []).append(value)
    if not samples:
        raise log.problem("no percentiles", log.last_line)
    return [
        _row(_METRICS[head], f"{head}-{percentile}th", percentile, workers, values, log)
        for (head, percentile), values in samples.items()
    ]


def _intervals(log: TreeLog) -> str:
    """Return the reports of the intervals. The last report covers the complete run, and is used only if no other
    report exists."""
    ends = list(_INTERVAL_END.finditer(log.text))
    rest = log.text[ends[-1].end() if ends else 0 :]
    if _PERCENTILE.search(rest) and not _RUN_END.search(rest):
        raise log.problem("percentiles that are cut off, without “average rps”", log.last_line)
    return log.text[: ends[-1].end()] if ends else rest


def _old_rows(log: TreeLog, workers: int) -> list[Row]:
    """Return wake-up latencies in the format before 2023, whose last report covers the complete run."""
    start = [match.start() for match in _OLD_HEAD.finditer(log.text)][-1]
    percentiles = _OLD_PERCENTILE.findall(log.text, start)
    if not percentiles or not _OLD_END.search(log.text, start):
        raise log.problem("percentiles that are cut off, without “min=, max=”", log.last_line)
    return [
        _row(_OLD, f"{percentile.removesuffix('00')}th-qrtle", percentile, workers, [value], log)
        for percentile, value in percentiles
    ]

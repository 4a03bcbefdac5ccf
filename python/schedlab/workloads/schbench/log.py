"""Output of schbench: percentiles of wake-up and request latency since the start of the run; requests a second."""

from __future__ import annotations

import re
from collections.abc import Iterator

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import NUMBER, Log, Reader, Reading, Samples, named, single_run

METRICS = (
    MetricSpec("wakeup-p99", "us", "lower"),
    MetricSpec("wakeup-p50", "us", "lower", judged=False),
    MetricSpec("wakeup-p99.9", "us", "lower", judged=False),
    MetricSpec("request-p50", "us", "lower", judged=False),
    MetricSpec("request-p99", "us", "lower", judged=False),
    MetricSpec("request-p99.9", "us", "lower", judged=False),
    MetricSpec("requests", "requests/s", "higher", judged=False),
)
_INTERIM = MetricSpec("requests-interim", "requests/s", "higher")

_BLOCK = re.compile(
    r"^(?:(Wakeup|Request) )?Latenc(?:ies|y) percentiles \(usec\)[^\n]*\n((?:[ \t]+[^\n]*\n?)+)", re.MULTILINE
)
"""A report before 2021 has one kind of latency, without a name: wake-ups."""
_PERCENTILE = re.compile(rf"^[ \t]+\*?[ \t]*({NUMBER})th:[ \t]+({NUMBER})", re.MULTILINE)
_AVERAGE = re.compile(rf"^average rps: ({NUMBER})$", re.MULTILINE)
_CURRENT = re.compile(rf"^current rps: ({NUMBER})$", re.MULTILINE)
_REPORT = re.compile(r"^(?:(?:Wakeup|Request) Latencies|Latency) percentiles \(usec\)", re.MULTILINE)
_SIDE_BY_SIDE = re.compile(
    r"^\W*(?P<name>\d\d\.\d+th):(?:.*\b(?P=name):|[ \t]+\d[\d.]*(?:[ \t|]+\d[\d.]*)+[ \t]*$)", re.MULTILINE
)


def figures(text: str) -> dict[str, float]:
    """Return the values of the last report in ``text`` by metric (``wakeup-p99``); missing metrics are left out."""
    values: dict[str, float] = {}
    for kind, block in _BLOCK.findall(text):
        for share, microseconds in _PERCENTILE.findall(block):
            values[f"{(kind or 'Wakeup').lower()}-p{float(share):g}"] = float(microseconds)
    if rate := _AVERAGE.search(text):
        values["requests"] = float(rate[1])
    return values


def _recognises(head: str) -> bool:
    """Return whether a text has the heading of a report; several reports side by side are a printed table."""
    return bool(_REPORT.search(head)) and not _SIDE_BY_SIDE.search(head)


def _read(log: Log) -> Reading:
    """Return the last report of each run, and the requests a second of its intervals."""
    ends = [end.end() for end in _AVERAGE.finditer(log.text)]
    notes: list[str] = []
    if not ends:
        ends = [len(log.text)]
        notes.append(
            f"{log.name}: no line 'average rps', so schbench is old or the log was cut off; the last report is used"
        )
    elif _REPORT.search(log.text, ends[-1]):
        log.cut_off("the line 'average rps' of its last run")
    samples: list[Samples] = []
    for start, end in zip([0, *ends], ends, strict=False):
        samples += _run(log, start, end)
    return Reading(samples, notes=notes)


def _run(log: Log, start: int, end: int) -> Iterator[Samples]:
    text = log.text[start:end]
    values = figures(text)
    if not values or ("Request Latencies" in text and not {"wakeup-p99", "request-p99"} <= values.keys()):
        raise log.problem("a report is cut off", log.line_at(max(end - 1, 0)))
    yield from single_run("schbench", {}, named(METRICS, values))
    if rates := [float(rate) for rate in _CURRENT.findall(text)]:
        yield Samples("schbench", _INTERIM, {}, rates)


READERS = (Reader("schbench", "schbench: percentiles of latency, requests/s", _recognises, _read),)

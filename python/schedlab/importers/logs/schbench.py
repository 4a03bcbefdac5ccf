"""schbench: percentiles of wake-up and request latency, which each report gives since the start; requests a second."""

from __future__ import annotations

import re
from collections.abc import Iterator

from schedlab.importers.logs.base import CUT, NUMBER, Log, Reader, Reading, Samples, one_by_one
from schedlab.workloads.base import MetricSpec
from schedlab.workloads.schbench import AVERAGE_LINE, Schbench, figures

_REPORT = re.compile(r"^(?:(?:Wakeup|Request) Latencies|Latency) percentiles \(usec\)", re.MULTILINE)
_SIDE_BY_SIDE = re.compile(
    r"^\W*(?P<name>\d\d\.\d+th):(?:.*\b(?P=name):|[ \t]+\d[\d.]*(?:[ \t|]+\d[\d.]*)+[ \t]*$)", re.MULTILINE
)
_CURRENT = re.compile(rf"^current rps: ({NUMBER})$", re.MULTILINE)

_SPECS = {spec.name: spec for spec in Schbench.metrics}
_INTERIM = MetricSpec("requests-interim", "requests/s", "higher")


def recognises(head: str) -> bool:
    """The heading of a report, which is not one of several side by side: those are a table."""
    return bool(_REPORT.search(head)) and not _SIDE_BY_SIDE.search(head)


def read(log: Log) -> Reading:
    """The last report of each run, and the requests a second of its intervals."""
    ends = [end.end() for end in AVERAGE_LINE.finditer(log.text)]
    notes: list[str] = []
    if not ends:
        ends = [len(log.text)]
        notes.append(
            f"{log.name}: no line 'average rps', so an old schbench or a log that was cut off; its last report is taken"
        )
    elif _REPORT.search(log.text, ends[-1]):
        log.cut_off("the line 'average rps' of its last run")
    samples: list[Samples] = []
    for start, end in zip([0, *ends], ends, strict=False):
        samples += _run(log, start, end)
    return Reading(samples, notes=notes)


def _run(log: Log, start: int, end: int) -> Iterator[Samples]:
    text = log.text[start:end]
    found = figures(text)
    lacking = {"request": "wakeup-p99", "wakeup": "request-p99"}
    if not found or ("Request Latencies" in text and any(name not in found for name in lacking.values())):
        raise log.problem("a report is cut off", log.line_at(max(end - 1, 0)), CUT)
    specs = ((_SPECS.get(name) or MetricSpec(name, "us", "lower"), value) for name, value in found.items())
    yield from one_by_one("schbench", {}, specs)
    if rates := [float(rate) for rate in _CURRENT.findall(text)]:
        yield Samples("schbench", _INTERIM, {}, rates)


READER = Reader("schbench", "schbench: percentiles of latency, requests/s", recognises, read)

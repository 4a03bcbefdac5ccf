"""cyclictest: a line for each thread (``-q``), every latency (``-v``), or a histogram with its summary (``-h``)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from schedlab.importers.logs.base import WHOLE, Log, Parameters, Reader, Reading, Samples, one_by_one, parts
from schedlab.workloads.base import MetricSpec, NotUnderstood
from schedlab.workloads.cyclictest import Cyclictest, figures

_THREAD = re.compile(
    rf"^T: *({WHOLE}) \( *\d+\) P: *\d+ I: *({WHOLE}) C: *({WHOLE}) Min: *({WHOLE}) Act: *({WHOLE}) "
    rf"Avg: *({WHOLE}) Max: *({WHOLE})[ \t]*$",
    re.MULTILINE,
)
_EACH = re.compile(rf"^ *(\d{{1,6}}): *\d{{1,15}}: *({WHOLE})$", re.MULTILINE)
_VERBOSE = re.compile(r"^Thread \d+ Interval: \d+$", re.MULTILINE)
_HISTOGRAM = re.compile(r"^# Histogram[ \t]*$", re.MULTILINE)

SPECS = {spec.name: spec for spec in Cyclictest.metrics}
LEAST = MetricSpec("latency-min", "us", "lower")
EACH = MetricSpec("latency", "us", "lower")


def recognises(head: str) -> bool:
    """A thread's line, a histogram, or the intervals that come before every latency."""
    return bool(_THREAD.search(head) or _HISTOGRAM.search(head) or _VERBOSE.search(head))


def read(log: Log) -> Reading:
    """Mean, least and worst latency over all threads; percentiles or every latency where they are told."""
    notes: list[str] = []
    samples: list[Samples] = []
    for head, text in parts(log.text, _HISTOGRAM):
        samples += _histogram(log, log.line_at(head.start()), text)
    if not samples:
        samples += _threads(log)
        if _VERBOSE.search(log.text):
            samples += _every(log)
    if not samples:
        log.cut_off("a thread's line or a histogram's summary")
    return Reading(samples, notes=notes)


def _histogram(log: Log, line: int, text: str) -> Iterator[Samples]:
    try:
        found = figures(text)
    except NotUnderstood as error:
        raise log.problem(f"{error}: it is cut off, or the tool failed", line + text.rstrip().count("\n")) from error
    columns = re.search(r"^\d+((?:[ \t]+\d+)+)", text, re.MULTILINE)
    threads = len(columns[1].split()) if columns else 1
    yield from one_by_one("cyclictest", {"threads": threads}, ((SPECS[name], value) for name, value in found.items()))


def _threads(log: Log) -> Iterator[Samples]:
    """The last line of each thread; without ``-q`` the tool rewrites them as it goes."""
    last = {int(match[1]): match for match in _THREAD.finditer(log.text)}
    known = [match for match in last.values() if int(match[3])]
    if not known:
        return
    cycles = sum(int(match[3]) for match in known)
    values = [
        # The mean of all wake-ups: each thread's mean counts as often as it woke.
        (SPECS["latency-mean"], sum(int(match[3]) * float(match[6]) for match in known) / cycles),
        (SPECS["latency-max"], max(float(match[7]) for match in known)),
        (LEAST, min(float(match[4]) for match in known)),
    ]
    yield from one_by_one("cyclictest", _parameters(last), values)


def _parameters(last: dict[int, re.Match[str]]) -> Parameters:
    first = last.get(0)
    return {"threads": len(last)} | ({"interval": int(first[2])} if first else {})


def _every(log: Log) -> Iterator[Samples]:
    found = _EACH.findall(log.text)
    if found:
        threads = len({thread for thread, _ in found})
        yield Samples("cyclictest", EACH, {"threads": threads}, [float(value) for _, value in found])


READER = Reader("cyclictest", "cyclictest -q, -v or -h", recognises, read)

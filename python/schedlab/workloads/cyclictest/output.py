"""cyclictest output: a line for each thread (``-q``), every latency (``-v``), a histogram (``-h``), or ``--json``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from statistics import fmean

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import Object, inner, load, number
from schedlab.workloads.log_reader import (
    WHOLE,
    Log,
    Parameters,
    Reader,
    Reading,
    Samples,
    floats,
    lines_of,
    named,
    sections,
    single_run,
)

METRICS = (
    MetricSpec("latency-p99", "us", "lower"),
    MetricSpec("latency-p50", "us", "lower", judged=False),
    MetricSpec("latency-p99.9", "us", "lower", judged=False),
    MetricSpec("latency-mean", "us", "lower", judged=False),
    MetricSpec("latency-max", "us", "lower", judged=False, worst=True),
)
_LATENCY = MetricSpec("latency", "us", "lower")
_PERCENTILES = {"latency-p50": 0.5, "latency-p99": 0.99, "latency-p99.9": 0.999}

_COUNTS = r"((?:[ \t]+[0-9]{1,15})+)"
_BUCKET = re.compile(rf"^([0-9]{{1,9}}){_COUNTS}[ \t]*$", re.MULTILINE)
_SUMMARY = re.compile(rf"^# (Avg Latencies|Max Latencies|Histogram Overflows):{_COUNTS}[ \t]*$", re.MULTILINE)
_THREAD = re.compile(
    rf"^T: *({WHOLE}) \( *\d+\) P: *\d+ I: *({WHOLE}) C: *({WHOLE}) Min: *({WHOLE}) Act: *({WHOLE}) "
    rf"Avg: *({WHOLE}) Max: *({WHOLE})[ \t]*$",
    re.MULTILINE,
)
_EACH = re.compile(rf"^ *(\d{{1,6}}): *\d{{1,15}}: *({WHOLE})$", re.MULTILINE)
_VERBOSE = re.compile(r"^Thread \d+ Interval: \d+$", re.MULTILINE)
_HISTOGRAM = re.compile(r"^# Histogram[ \t]*$", re.MULTILINE)
_LINES = (
    r"# (?:/dev/cpu_dma_latency set to|Histogram|Total:|(?:Min|Avg|Max) Latencies:|Thread \d+:).*",
    r"T: *\d+ \( *\d+\) P: *\d+ I: *\d+ C: *\d+ .*|\d{6,}(?:\s+\d{6,})+|\d+: *\d+: *\d+",
    r"(?:Max|Online) CPUs = \d+|Thread \d+ Interval: \d+|policy: \w+: loadavg: .*",
)
"""Lines that cyclictest prints."""


def _percentiles(log: Log, line: int, buckets: Mapping[int, int], overflows: int, largest: float) -> dict[str, float]:
    """Return percentiles of wake-ups counted by µs; ImportProblem without wake-ups.

    ``overflows`` wake-ups lie above the last bucket; ``largest`` is the maximum.
    """
    wakeups = sum(buckets.values()) + overflows
    if not wakeups:
        raise log.problem("cyclictest counted no wake-up", line)
    cumulated = list(zip(buckets, accumulate(buckets.values()), strict=True))
    return {
        # The histogram does not show latencies above its last bucket; the maximum is their upper bound.
        name: float(next((us for us, count in cumulated if count >= share * wakeups), largest))
        for name, share in _PERCENTILES.items()
    }


def _recognises(head: str) -> bool:
    """Return whether a text has a thread's line, a histogram, or the intervals before every latency."""
    return bool(_THREAD.search(head) or _HISTOGRAM.search(head) or _VERBOSE.search(head))


def _read(log: Log) -> Reading:
    """Return mean and largest latency over all threads.

    A histogram also gives percentiles, the lines of threads the smallest latency, and ``-v`` every latency.
    """
    samples: list[Samples] = []
    for head, text in sections(log.text, _HISTOGRAM):
        samples += _histogram(log, log.line_at(head.start()), text)
    if not samples:
        samples += _threads(log)
        if _VERBOSE.search(log.text):
            samples += _every(log)
    if not samples:
        log.cut_off("a thread's line or a histogram's summary")
    return Reading(samples)


def _histogram(log: Log, line: int, text: str) -> Iterator[Samples]:
    """Yield the values of a histogram and its summary, over all threads."""
    buckets = {int(us): sum(map(int, counts.split())) for us, counts in _BUCKET.findall(text)}
    summary = {name: [int(word) for word in numbers.split()] for name, numbers in _SUMMARY.findall(text)}
    last = line + text.rstrip().count("\n")
    if not buckets or len(summary) != 3:
        fault = "cyclictest printed no histogram with its summary: the log is cut off, or the tool failed"
        raise log.problem(fault, last)
    largest = float(max(summary["Max Latencies"]))
    values = _percentiles(log, last, buckets, sum(summary["Histogram Overflows"]), largest)
    values |= {"latency-mean": fmean(summary["Avg Latencies"]), "latency-max": largest}
    columns = re.search(r"^\d+((?:[ \t]+\d+)+)", text, re.MULTILINE)
    threads = len(columns[1].split()) if columns else 1
    yield from single_run("cyclictest", {"threads": threads}, named(METRICS, values))


def _threads(log: Log) -> Iterator[Samples]:
    """Yield the values of the last line of each thread; without ``-q`` the running tool rewrites these lines."""
    last = {int(match[1]): match for match in _THREAD.finditer(log.text)}
    threads = [(float(match[3]), float(match[6]), float(match[7]), float(match[4])) for match in last.values()]
    if any(cycles for cycles, *_ in threads):
        parameters: Parameters = {"threads": len(last)} | ({"interval": int(last[0][2])} if 0 in last else {})
        yield from single_run("cyclictest", parameters, named(METRICS, _over_threads(threads)))


def _over_threads(threads: list[tuple[float, float, float, float]]) -> dict[str, float]:
    """Return the latencies over threads of (cycles, mean, largest, smallest), without threads that never woke.

    The mean covers all wake-ups: each thread's mean is weighted by the thread's wake-ups.
    """
    woken = [thread for thread in threads if thread[0]]
    return {
        "latency-mean": sum(cycles * mean for cycles, mean, _, _ in woken) / sum(cycles for cycles, *_ in woken),
        "latency-max": max(largest for _, _, largest, _ in woken),
        "latency-min": min(smallest for *_, smallest in woken),
    }


def _every(log: Log) -> Iterator[Samples]:
    latencies = floats(match[2] for match in _EACH.finditer(log.text))
    if len(latencies):
        threads = len({match[1] for match in _EACH.finditer(log.text)})
        yield Samples("cyclictest", _LATENCY, {"threads": threads}, latencies)


def _recognises_json(head: str) -> bool:
    """Return whether a text begins as an object of rt-tests with threads."""
    return head.lstrip().startswith("{") and '"rt_test_version:"' in head and '"thread"' in head and '"cycles"' in head


def _read_json(log: Log) -> Reading:
    """Return values over all threads; percentiles where the histograms contain the wake-ups."""
    threads = inner(load(log), "thread")
    complete = [thread for thread in threads.values() if _is_complete(thread)] if isinstance(threads, dict) else []
    if not complete:
        raise log.problem("contains no thread that woke up", 1)
    values = _over_threads(
        [
            (float(thread["cycles"]), float(thread["avg"]), float(thread["max"]), float(thread["min"]))
            for thread in complete
        ]
    )
    if buckets := _buckets(complete):
        overflows = max(int(sum(thread["cycles"] for thread in complete)) - sum(buckets.values()), 0)
        values |= _percentiles(log, 1, buckets, overflows, values["latency-max"])
    return Reading(list(single_run("cyclictest", {"threads": len(complete)}, named(METRICS, values))))


def _is_complete(thread: object) -> bool:
    return (
        isinstance(thread, dict)
        and all(number(thread.get(key)) is not None for key in ("min", "avg", "max"))
        and ((number(thread.get("cycles")) or 0) > 0)
    )


def _buckets(threads: list[Object]) -> dict[int, int]:
    """Return wake-ups by µs over all threads, in ascending order of the µs."""
    wakeups: dict[int, int] = {}
    for thread in threads:
        histogram = thread.get("histogram")
        for us, count in histogram.items() if isinstance(histogram, dict) else ():
            if us.isdecimal() and len(us) < 10 and isinstance(count, int) and 0 <= count < 1 << 53:
                wakeups[int(us)] = wakeups.get(int(us), 0) + count
    return dict(sorted(wakeups.items()))


READER = Reader(
    "cyclictest",
    "cyclictest -q, -v or -h",
    _recognises,
    _read,
    line=lines_of(*_LINES),
    begins=re.compile(r"(?:# /dev/cpu_dma_latency set to |# Histogram|Max CPUs = |policy: |T: *0 \().*"),
)
READERS = (Reader("cyclictest-json", "cyclictest --json", _recognises_json, _read_json, in_mails=False), READER)

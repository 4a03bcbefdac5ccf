"""Output of rt-tests other than cyclictest and hackbench: latencies by thread as JSON (``--json``), and oslat's text.

A thread has ``min``, ``avg`` and ``max`` in microseconds, beside the number of its wake-ups, or in the ``receiver`` of
a pair of threads::

    {"cmdline:": "pmqtest …", "thread": {"0": {"sender": {"samples": 200}, "receiver": {"min": 2, "avg": 3.47, …}}}}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import Object, inner, load_all, number
from schedlab.workloads.log_reader import (
    NUMBER,
    Log,
    Parameters,
    Reader,
    Reading,
    Samples,
    lines_of,
    sections,
    single_run,
)

_MEAN = MetricSpec("latency-mean", "us", "lower")
_MAX = MetricSpec("latency-max", "us", "lower", worst=True)
_MIN = MetricSpec("latency-min", "us", "lower")

_TOOLS = (
    "oslat", "signaltest", "pmqtest", "ptsematest", "sigwaittest", "svsematest", "rt-migrate-test", "cyclicdeadline",
)  # fmt: skip
_COMMAND = re.compile(rf'"cmdline:": "(?:[^" ]*/)?({"|".join(_TOOLS)})[ "]')


@dataclass(frozen=True)
class _Thread:
    """Latencies of a thread in microseconds; ``count`` is their number, None if the tool does not print it."""

    place: Parameters
    count: float | None
    least: float
    mean: float
    largest: float


def _samples(tool: str, threads: Sequence[_Thread]) -> Iterator[Samples]:
    """Yield the latencies over all threads, with the mean over all wake-ups, then the latencies by CPU or priority."""
    counts = [thread.count for thread in threads if thread.count is not None]
    # Threads of different priorities, which have no counts, are not alike.
    if len(counts) == len(threads):
        total = sum(count * thread.mean for count, thread in zip(counts, threads, strict=True))
        values = [(_MEAN, total / sum(counts)), (_MAX, max(thread.largest for thread in threads))]
        values.append((_MIN, min(thread.least for thread in threads)))
        yield from single_run(tool, {"threads": len(threads)}, values)
    for thread in threads:
        if thread.place:
            yield from single_run(tool, thread.place, [(_MEAN, thread.mean), (_MAX, thread.largest)])


def _read_json(log: Log) -> Reading:
    """Return the latencies of each object."""
    return Reading([samples for content in load_all(log) for samples in _object(log, content)])


def _object(log: Log, content: Object) -> Iterator[Samples]:
    tool = re.match(r"\S*?([\w-]+)(?: |\Z)", str(content.get("cmdline:")))
    threads = content.get("thread")
    if tool is None or not isinstance(threads, dict):
        raise log.problem("contains no thread of a tool of rt-tests", 1)
    if content.get("return_code") not in (0, None):
        raise log.problem(f"{tool[1]} failed with the code {content.get('return_code')}", todo="run the tool again")
    complete = [thread for name in threads if (thread := _thread(log, tool[1], name, threads[name])) is not None]
    if not complete:
        raise log.problem("contains no thread that woke up", 1)
    yield from _samples(tool[1], complete)


def _thread(log: Log, tool: str, name: str, content: Any) -> _Thread | None:
    """Return a thread; None for a thread that did not wake up."""
    receiver = inner(content, "receiver") or content
    values = [number(inner(receiver, key)) for key in ("min", "avg", "max")]
    if tool == "oslat":
        histogram = inner(content, "histogram")
        count = sum(map(_count, histogram.values())) if isinstance(histogram, dict) else 0.0
        place: Parameters = {"cpu": int(_count(inner(content, "cpu")))}
    elif tool == "rt-migrate-test":
        count, place = None, {"priority": int(_count(inner(content, "prio")))}
    else:
        count, place = _count(inner(content, "sender", "samples") or inner(content, "cycles")), {}
    if count == 0:
        return None
    least, mean, largest = values
    if least is None or mean is None or largest is None:
        raise log.problem(f"thread {name} lacks its min, avg or max", 1)
    return _Thread(place, count, least, mean, largest)


def _count(value: object) -> float:
    return number(value) or 0.0


def _recognises_json(head: str) -> bool:
    """Return whether a text begins as an object that names a tool of rt-tests as its command."""
    return head.lstrip().startswith("{") and '"rt_test_version:"' in head and bool(_COMMAND.search(head))


_CORES = re.compile(r"^[ \t]*Core:[ \t]+(\d+(?: \d+)*) *$", re.MULTILINE)
_BUCKET = re.compile(r"^[ \t]*\d+ \(us\):[ \t]+(\d+(?: \d+)*)(?: \(including overflows\))? *$", re.MULTILINE)
_FIGURES = re.compile(rf"^[ \t]*(Minimum|Average|Maximum|Duration):[ \t]+((?:{NUMBER} )+)\((us|sec)\) *$", re.MULTILINE)
_OSLAT_LINES = (
    r"oslat V .*|(?:Total runtime|Thread priority|CPU list|CPU for main thread|Workload(?: mem)?|Preheat cores): .*",
    r"Pre-heat for .*|Test starts\.\.\.|Test completed\.|(?:Core|Counter Freq):.*|\d+ \(us\):.*|\.\.\.",
    r"(?:Minimum|Average|Maximum|Max-Min|Duration|Bias):.*",
)
"""Lines that oslat prints."""


def _read_oslat(log: Log) -> Reading:
    """Return the latencies of each run over all CPUs and by CPU; the duration ends a run."""
    samples: list[Samples] = []
    for head, text in sections(log.text, _CORES):
        cores = list(map(int, head[1].split()))
        figures = {name: [float(word) for word in words.split()] for name, words, _ in _FIGURES.findall(text)}
        buckets = [[int(word) for word in words.split()] for words in _BUCKET.findall(text)]
        lengths = {*map(len, figures.values()), *map(len, buckets)}
        if len(figures) < 4 or not buckets or lengths != {len(cores)}:
            raise log.problem("a run without its figures or duration: the log is cut off", log.line_at(head.start()))
        counts = [float(sum(column)) for column in zip(*buckets, strict=True)]
        columns = zip(cores, counts, figures["Minimum"], figures["Average"], figures["Maximum"], strict=True)
        samples += _samples("oslat", [_Thread({"cpu": cpu}, *column) for cpu, *column in columns])
    if not samples:
        log.cut_off("a run's table of cores")
    return Reading(samples)


READERS = (
    Reader(
        "rt-tests-json",
        f"--json of {', '.join(_TOOLS)} (rt-tests)",
        _recognises_json,
        _read_json,
        in_mails=False,
    ),
    Reader(
        "oslat",
        "oslat (rt-tests)",
        lambda head: bool(_CORES.search(head) and re.search(r"^[ \t]*Counter Freq:", head, re.MULTILINE)),
        _read_oslat,
        line=lines_of(*_OSLAT_LINES),
        begins=re.compile(r"oslat V .*"),
    ),
)

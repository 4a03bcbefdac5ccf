"""``perf bench``: sched, syscall, mem, numa, futex, epoll, others that print an average; also ``--format=simple``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from schedlab.importers.logs.base import CUT, NUMBER, WHOLE, Log, Parameters, Reader, Reading, Samples, parts
from schedlab.workloads.base import MetricSpec
from schedlab.workloads.perf_bench import LATENCY, PER_OP_LINE, TIME, TOTAL_LINE

_SECTION = re.compile(r"^# Running '?([\w-]+)/([\w-]+)'? benchmark(?::|\.\.\.)[ \t]*$", re.MULTILINE)

_GROUPS = re.compile(rf"^# ({WHOLE}) groups == {WHOLE} (process|thread)\w* run", re.MULTILINE)
_LOOPS = re.compile(rf"^# Executed ({WHOLE}) .*?(process|thread)?(?:es|s)?$", re.MULTILINE)
_THREADS = re.compile(rf"(?:: |on |Requeuing )({WHOLE}) threads")
_FUNCTION = re.compile(r"^# function '([^'\n]+)'.*$", re.MULTILINE)
_CALLED = re.compile(r"\b(mem\w+)\(\)")
_BANDWIDTH = re.compile(rf"^[ \t]*({NUMBER}) ([KMG]?)B/sec[ \t]*$", re.MULTILINE)
_CYCLES = re.compile(rf"^[ \t]*({NUMBER}) cycles/byte[ \t]*$", re.MULTILINE)
_BARE = re.compile(rf"^({NUMBER})$", re.MULTILINE)
_RATE = re.compile(rf"^Averaged ({WHOLE}) operations/sec \(", re.MULTILINE)
_COUNT = re.compile(rf"^Averaged ({WHOLE}) (ADD|MOD|DEL) operations \(", re.MULTILINE)
_EACH_RUN = re.compile(rf"^\[Run \d+\]: .* in ({NUMBER}) ms", re.MULTILINE)
_ALL_RUNS = re.compile(rf"^(?:Wokeup|Avg per-thread latency|Requeued) .* in ({NUMBER}) ms \(", re.MULTILINE)
_TOOK = re.compile(rf"^ *Average (.+?) took: ({NUMBER}) (nsec|usec|msec|sec|ns|us|ms) ", re.MULTILINE)
_NUMA = re.compile(rf"^ *[\w-]+, +({NUMBER}), (\S+), +(runtime-\S+|runtime/\S+|\S+-speed)$", re.MULTILINE)

_ENDING = re.compile(r"^perf-(?:sched|syscall|mem|futex|epoll|numa|bench)")
"""The collections whose last lines are known; of others not every benchmark's are."""

_UNITS = {"nsec": "ns", "usec": "us", "msec": "ms", "sec": "s", "secs": "s", "nsecs": "ns", "GB/sec": "GB/s"}
_GIB = {"": 2.0**-30, "K": 2.0**-20, "M": 2.0**-10, "G": 1.0}
"""perf divides by 1024 for each step of its prefixes (``print_bps`` in its mem-functions.c)."""

_BANDWIDTH_METRIC = MetricSpec("throughput", "GiB/s", "higher")
_RATE_METRIC = MetricSpec("operations", "operations/s", "higher")
_COUNT_METRIC = MetricSpec("operations", "operations", "higher")
_RUN_METRIC = MetricSpec("latency", "ms", "lower")


@dataclass(frozen=True)
class _Section:
    """One benchmark's part of the log; ``line`` is that of its heading."""

    name: str
    text: str
    line: int


def recognises(head: str) -> bool:
    """A benchmark's heading, or the headings of a simple mem benchmark's functions."""
    return bool(_SECTION.search(head) or (_FUNCTION.match(head) and _BARE.search(head)))


def read(log: Log) -> Reading:
    """The figures of each benchmark; those of single runs where it tells them, else the averages."""
    samples: list[Samples] = []
    notes: list[str] = []
    for section in _sections(log):
        found = list(_figures(section))
        if _is_cut(section, bool(found)):
            raise log.problem(f"{section.name} has no result: it is cut off, or it failed", section.line, CUT)
        if not found:
            notes.append(f"{log.name}:{section.line}: left out: {section.name}, no figure of it is known")
        samples += found
    if not samples:
        raise log.problem("holds no figure of perf bench", 1)
    return Reading(samples, notes=notes)


def _is_cut(section: _Section, has_figures: bool) -> bool:
    """Whether the last of a benchmark's lines is missing."""
    if not has_figures:
        return bool(_ENDING.search(section.name))
    if _EACH_RUN.search(section.text):
        return not _ALL_RUNS.search(section.text)
    return bool(
        _LOOPS.search(section.text) and TOTAL_LINE.search(section.text) and not PER_OP_LINE.search(section.text)
    )


def _sections(log: Log) -> Iterator[_Section]:
    if not _SECTION.search(log.text):
        yield _Section("perf-mem" if _FUNCTION.search(log.text) else "perf-bench", log.text, 1)
    for head, text in parts(log.text, _SECTION):
        yield _Section(f"perf-{head[1]}-{head[2]}", text, log.line_at(head.start()))


def _figures(section: _Section) -> Iterator[Samples]:
    if _FUNCTION.search(section.text):
        yield from _functions(section)
        return
    parameters = _parameters(section.text)

    def each(metric: MetricSpec, pattern: re.Pattern[str]) -> Iterator[Samples]:
        if values := [float(match[1]) for match in pattern.finditer(section.text)]:
            yield Samples(section.name, metric, parameters, values)

    yield from each(LATENCY, PER_OP_LINE)
    yield from each(TIME, TOTAL_LINE)
    yield from each(_RATE_METRIC, _RATE)
    yield from each(_RUN_METRIC, _EACH_RUN if _EACH_RUN.search(section.text) else _ALL_RUNS)
    for match in _COUNT.finditer(section.text):
        here = {**parameters, "operation": match[2].lower()}
        yield Samples(section.name, _COUNT_METRIC, here, (float(match[1]),))
    for match in _TOOK.finditer(section.text):
        metric = MetricSpec("time", _UNITS.get(match[3], match[3]), "lower")
        yield Samples(section.name, metric, {**parameters, "of": match[1]}, (float(match[2]),))
    for match in _NUMA.finditer(section.text):
        unit = _UNITS.get(match[2], match[2])
        metric = MetricSpec(match[3], unit, "higher" if match[3].endswith("speed") else "lower")
        yield Samples(section.name, metric, parameters, (float(match[1]),))
    if not re.search(r"[A-Za-z]", section.text):
        yield from each(TIME, _BARE)


def _functions(section: _Section) -> Iterator[Samples]:
    """Each function of ``perf bench mem``; the simple format prints bytes a second."""
    for head, text in parts(section.text, _FUNCTION):
        parameters = {"function": head[1]}
        # Without the benchmark's heading, as in the simple format, the function's words name it.
        name = f"perf-mem-{called[1]}" if (called := _CALLED.search(head[0])) else section.name
        if found := _BANDWIDTH.search(text):
            yield Samples(name, _BANDWIDTH_METRIC, parameters, (float(found[1]) * _GIB[found[2]],))
        elif found := _CYCLES.search(text):
            yield Samples(name, MetricSpec("cost", "cycles/byte", "lower"), parameters, (float(found[1]),))
        elif found := _BARE.search(text):
            yield Samples(name, _BANDWIDTH_METRIC, parameters, (float(found[1]) * _GIB[""],))


def _parameters(text: str) -> Parameters:
    if match := _GROUPS.search(text):
        return {"groups": int(match[1]), "mode": match[2]}
    if match := _LOOPS.search(text):
        return {"loops": int(match[1])} | ({"mode": match[2]} if match[2] else {})
    if match := _THREADS.search(text):
        return {"threads": int(match[1])}
    return {}


READER = Reader("perf-bench", "perf bench, in both of its formats", recognises, read)

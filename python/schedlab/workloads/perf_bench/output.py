"""Output of ``perf bench``: sched, syscall, mem, numa, futex, epoll, other benchmarks with an average;
``--format=simple``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from schedlab.notation.units import SYMBOLS
from schedlab.results.metrics import Direction, MetricSpec
from schedlab.workloads.log_reader import (
    NUMBER,
    WHOLE,
    Log,
    Parameters,
    Reader,
    Reading,
    Samples,
    Unread,
    floats,
    lines_of,
    sections,
)
from schedlab.workloads.mmtests_logs import Row, logs_named, open_log

TIME = MetricSpec("time", "s", "lower")
LATENCY = MetricSpec("latency", "us/op", "lower")
_TOTAL_LINE = re.compile(rf"^[ \t]*Total time:\s*({NUMBER})\s*\[sec\]", re.MULTILINE)
_PER_OP_LINE = re.compile(rf"^[ \t]*({NUMBER})\s+usecs/op[ \t]*$", re.MULTILINE)
_PER_CPU_LINE = re.compile(rf"^[ \t]*({NUMBER})\s+usecs/op/cpu[ \t]*$", re.MULTILINE)

_SECTION = re.compile(r"^# Running '?([\w-]+)/([\w-]+)'? benchmark(?::|\.\.\.)[ \t]*$", re.MULTILINE)

_GROUPS = re.compile(rf"^# ({WHOLE}) groups == {WHOLE} (process|thread)\w* run", re.MULTILINE)
_LOOPS = re.compile(rf"^# Executed ({WHOLE}) .*?(process|thread)?(?:es|s)?$", re.MULTILINE)
_BREAKPOINTS = re.compile(
    rf"^# Created/joined ({WHOLE}) threads with (?P<breakpoints>{WHOLE}) breakpoints and (?P<parallel>{WHOLE}) "
    rf"|^# Enabled/disabled breakpoint ({WHOLE}) time with (?P<passive>{WHOLE}) passive and (?P<active>{WHOLE}) ",
    re.MULTILINE,
)
_THREADS = re.compile(rf"(?:: |on |Requeuing )({WHOLE}) threads")
_FUNCTION = re.compile(r"^# function '([^'\n]+)'.*$", re.MULTILINE)
_CALLED = re.compile(r"\b(mem\w+)\(\)")
_BANDWIDTH = re.compile(rf"^[ \t]*({NUMBER}) ([KMG]?)B/sec[ \t]*$", re.MULTILINE)
_CYCLES = re.compile(rf"^[ \t]*({NUMBER}) cycles/byte[ \t]*$", re.MULTILINE)
_BARE = re.compile(rf"^({NUMBER})$", re.MULTILINE)
_SIMPLE = re.compile(r"\s*(?:\d{1,12}\.\d{3}(?:\n+|\Z))+")
_UPROBE = re.compile(r"^ *(\d[\d,]{0,15}(?:\.\d{1,15})?)(?P<op> usecs/op(?: .*)?)?$", re.MULTILINE)
"""Time of a call, or in the simple format the microseconds of all calls."""
_RATE = re.compile(rf"^Averaged ({WHOLE}) operations/sec \(", re.MULTILINE)
_COUNT = re.compile(rf"^Averaged ({WHOLE}) (ADD|MOD|DEL) operations \(", re.MULTILINE)
_EACH_RUN = re.compile(rf"^\[Run \d+\]: .* in ({NUMBER}) ms", re.MULTILINE)
_ALL_RUNS = re.compile(rf"^(?:Wokeup|Avg per-thread latency|Requeued) .* in ({NUMBER}) ms \(", re.MULTILINE)
_FIRST_RUN = re.compile(r"^\[Run 1\]:", re.MULTILINE)
_ONCE = (_TOTAL_LINE, _PER_OP_LINE, _RATE, _FIRST_RUN)
"""Lines that a benchmark prints once. A benchmark that is repeated prints its heading again."""
_BITS = re.compile(rf"^{WHOLE} operations ({WHOLE}) bits set of ({WHOLE}) bits$", re.MULTILINE)
_TOOK = re.compile(
    rf"^ *Average (?P<of>.+?) took: +(?P<time>{NUMBER}) (?P<unit>[nmu]?sec|[num]s)\b.*$"
    rf"(?:\n +Average num\. events: .*$)?"
    rf"(?:\n +Average time per event:? (?P<event>{NUMBER}) (?P<event_unit>[nmu]?sec)\b.*$)?"
    rf"(?:\n +Average memory usage: (?P<memory>{NUMBER}) KB\b)?",
    re.MULTILINE,
)
_NUMA_RUN = re.compile(r'^ *# Running +(\S+?),? "perf bench numa \S*mem ?(.*)"$', re.MULTILINE)
_NUMA = re.compile(
    rf"^ *(?:[\w-]+, +(?P<full>{NUMBER}), +(?P<unit>\S+), +(?P<name>\S+)|(?P<quiet>{NUMBER}) (?P<text>\S.*))$",
    re.MULTILINE,
)
_NUMA_METRICS: dict[str, tuple[str, Direction, str]] = {
    "NUMA-convergence-latency": ("s", "lower", "secs latency to NUMA-converge"),
    "runtime-max/thread": ("s", "lower", "secs slowest (max) thread-runtime"),
    "runtime-min/thread": ("s", "lower", "secs fastest (min) thread-runtime"),
    "runtime-avg/thread": ("s", "lower", "secs average thread-runtime"),
    "spread-runtime/thread": ("%", "lower", "% difference between max/avg runtime"),
    "runtime/byte/thread": ("ns", "lower", "nsecs/byte/thread runtime"),
    "thread-speed": ("GB/s", "higher", "GB/sec/thread speed"),
    "total-speed": ("GB/s", "higher", "GB/sec total speed"),
}
"""Unit and direction of each figure of ``perf bench numa mem``, and its text with ``-q`` (``print_res`` in numa.c)."""
_THOUSANDS = r"\d{1,3}(?:[.,]\d{3})+"
_GROUPED = re.compile(rf"^(?:# Executed {_THOUSANDS}(?= )|[ \t]*{_THOUSANDS}(?=[ \t]+ops/sec))", re.MULTILINE)
"""Number of calls, and of operations a second, in groups of three (``%'d``), in the locale of the user."""
_UNITS = r"usecs/op|[KMG]?B/sec|cycles/byte|(?:[mun]?sec|[mun]?s)s?\b|%|, \S+,"
_COMMA = re.compile(rf"(?<![\w.,])({WHOLE}),({WHOLE})(?=[ \t]*(?:$|{_UNITS}))", re.MULTILINE)
"""A figure with a decimal comma. perf bench prints figures with decimals without separators of thousands (``%14lf``,
``%.3f``), so that the comma is certain."""

_ALWAYS_PRINTS_A_VALUE = re.compile(r"^perf-(?:sched|syscall|mem|futex|epoll|numa|breakpoint|uprobe|bench)")
"""Collections whose benchmarks all print a value that this reader can parse."""

_GIB = {"": 2.0**-30, "K": 2.0**-20, "M": 2.0**-10, "G": 1.0}
"""perf divides by 1024 for each step of its prefixes (``print_bps`` in its mem-functions.c)."""

_BANDWIDTH_SPEC = MetricSpec("throughput", "GiB/s", "higher")
_RATE_SPEC = MetricSpec("operations", "operations/s", "higher")
_COUNT_SPEC = MetricSpec("operations", "operations", "higher")
_RUN_SPEC = MetricSpec("latency", "ms", "lower")
_PER_CPU_SPEC = MetricSpec("latency-per-cpu", "us/op", "lower")

_BEGINS = re.compile(r"# Running '?[\w-]+/[\w-]+'? benchmark(?::|\.\.\.)")
_LINES = (
    _BEGINS.pattern,
    r"# (?:function '|\d+ (?:sender|groups)|Executed |Copying |Memset|Created/joined |Enabled/disabled ).*",
    rf"(?:Total time:.*|{NUMBER} (?:[KMG]?B/sec|cycles/byte|usecs/op(?:/cpu)?|ops/sec)|\d+\.\d{{3,}})",
    r"Total time: [\d,]+ usecs.*|[\d,.]+ usecs/op(?: .*)?|\d+|Futex hashing: .*",
    r"Run summary \[PID \d+\]: .*|\[(?:thread +\d+|Run \d+)\]:? .*|Averaged \d+ .*\(\+-.*|Wokeup \d+ of .*",
    r"Avg per-thread latency .*|Requeued .* threads .*|\d+ operations \d+ bits set of \d+ bits",
    r"Average .+ (?:took:|events?:?|usage:) .*|Number of (?:cpus|threads|events|iterations):.*",
    r"Computing performance of (?:single|multi) threaded .*|synthesizing events on .*|Number of synthesis threads: \d+",
    # numa mem
    r"# Running \S+ \"perf bench numa .*\"|#{1,3}|# \d+ tasks? will execute .*|# +-?\d+x +\d+MB .*",
    r"# Startup synchronization: .*|# +\d+\.\d+% +\[.*|\S+, +[\d.]+, \S+, +\S+",
    rf"{NUMBER} (?:{'|'.join(re.escape(text) for *_, text in _NUMA_METRICS.values())}|GB data processed, .*)",
)
"""Lines that perf bench prints."""


@dataclass(frozen=True)
class _Section:
    """Output of one benchmark; ``line`` is the line of its heading."""

    name: str
    text: str
    line: int
    has_heading: bool = True


def _recognises(head: str) -> bool:
    """Return whether a text has a benchmark's heading, or the functions of a simple mem benchmark."""
    return bool(_SECTION.search(head) or (_FUNCTION.search(head) and _BARE.search(head)))


def _read(log: Log) -> Reading:
    """Return the values of each benchmark: of single runs where the benchmark prints single runs, otherwise the
    averages."""
    samples: list[Samples] = []
    notes: list[str] = []
    for section in _sections(replace(log, text=_in_c_locale(log.text))):
        values = list(_values(section))
        if _is_cut(section, bool(values)):
            raise log.problem(
                f"{section.name} has no result: the log is cut off, or the benchmark failed", section.line
            )
        if not values:
            notes.append(f"{log.name}:{section.line}: left out: {section.name}, whose output has no supported figure")
        once = _ONCE if _FUNCTION.search(section.text) else (*_ONCE, _BARE)
        if section.has_heading and any(len(pattern.findall(section.text)) > 1 for pattern in once):
            fault = f"{section.name} has several results below one heading: the heading of a benchmark is missing"
            raise log.problem(fault, section.line)
        samples += values
    if not samples:
        raise log.problem("contains no figure of perf bench", 1)
    return Reading(samples, notes=notes)


def _in_c_locale(text: str) -> str:
    """Return the output as perf prints it with ``LC_ALL=C``."""
    text = _GROUPED.sub(lambda match: re.sub("[.,]", "", match[0]), text)
    return _COMMA.sub(r"\1.\2", text)


def _is_cut(section: _Section, has_values: bool) -> bool:
    """Return whether the last line of a benchmark is missing."""
    if not has_values:
        return bool(_ALWAYS_PRINTS_A_VALUE.search(section.name))
    if _EACH_RUN.search(section.text):
        return not _ALL_RUNS.search(section.text)
    return bool(
        _LOOPS.search(section.text) and _TOTAL_LINE.search(section.text) and not _PER_OP_LINE.search(section.text)
    )


def _sections(log: Log) -> Iterator[_Section]:
    if not _SECTION.search(log.text):
        yield _Section("perf-mem" if _FUNCTION.search(log.text) else "perf-bench", log.text, 1, False)
    for head, text in sections(log.text, _SECTION):
        yield _Section(f"perf-{head[1]}-{head[2]}", text, log.line_at(head.start()))


def _values(section: _Section) -> Iterator[Samples]:
    if _FUNCTION.search(section.text):
        yield from _functions(section)
        return
    if section.name == "perf-numa-mem" or _NUMA_RUN.search(section.text):
        yield from _numa(section)
        return
    if _BITS.search(section.text):
        for head, text in sections(section.text, _BITS):
            yield from _took(section.name, {"set": int(head[1]), "bits": int(head[2])}, text)
        return
    parameters = _parameters(section.text)
    if section.name.startswith("perf-uprobe-"):
        for match in _UPROBE.finditer(section.text):
            value = float(match[1].replace(",", ""))
            metric, value = (LATENCY, value) if match["op"] else (TIME, value * 1e-6)
            yield Samples(section.name, metric, parameters, (value,))
        return

    def each(metric: MetricSpec, pattern: re.Pattern[str]) -> Iterator[Samples]:
        values = floats(match[1] for match in pattern.finditer(section.text))
        if len(values):
            yield Samples(section.name, metric, parameters, values)

    yield from each(LATENCY, _PER_OP_LINE)
    yield from each(TIME, _TOTAL_LINE)
    yield from each(_RATE_SPEC, _RATE)
    yield from each(_RUN_SPEC, _EACH_RUN if _EACH_RUN.search(section.text) else _ALL_RUNS)
    for match in _COUNT.finditer(section.text):
        operation = {**parameters, "operation": match[2].lower()}
        yield Samples(section.name, _COUNT_SPEC, operation, (float(match[1]),))
    yield from each(_PER_CPU_SPEC, _PER_CPU_LINE)
    yield from _took(section.name, parameters, section.text)
    if simple := _SIMPLE.match(section.text):
        yield Samples(section.name, TIME, parameters, floats(_BARE.findall(simple[0])))


def _took(name: str, parameters: Parameters, text: str) -> Iterator[Samples]:
    """Yield the mean times in a text, by what took the time, and the mean per event and memory below each."""
    for match in _TOOK.finditer(text):
        of = {**parameters, "of": match["of"]}
        yield Samples(name, MetricSpec("time", _symbol(match["unit"]), "lower"), of, (float(match["time"]),))
        if match["event"]:
            metric = MetricSpec("time-per-event", _symbol(match["event_unit"]), "lower")
            yield Samples(name, metric, of, (float(match["event"]),))
        if match["memory"]:
            yield Samples(name, MetricSpec("memory", "KiB", "lower"), of, (float(match["memory"]),))


def _symbol(unit: str) -> str:
    return SYMBOLS.get(unit, unit)


def _numa(section: _Section) -> Iterator[Samples]:
    """Yield the figures of each test; ``-a`` runs many named tests."""
    by_text = {text: name for name, (*_, text) in _NUMA_METRICS.items()}
    runs: list[tuple[Parameters, str]] = [
        ({"options": head[2]} if head[1] == "main" else {"test": head[1]}, text)
        for head, text in sections(section.text, _NUMA_RUN)
    ]
    for parameters, text in runs or [({}, section.text)]:
        for match in _NUMA.finditer(text):
            name = match["name"] or by_text.get(match["text"], "")
            if name in _NUMA_METRICS:
                unit, direction, _ = _NUMA_METRICS[name]
                value = float(match["full"] or match["quiet"])
                yield Samples(section.name, MetricSpec(name, unit, direction), parameters, (value,))


def _functions(section: _Section) -> Iterator[Samples]:
    """Yield the bandwidth of each function of ``perf bench mem``; the simple format prints bytes a second."""
    for head, text in sections(section.text, _FUNCTION):
        parameters = {"function": head[1]}
        # The simple format has no heading; the line of the function names the benchmark.
        name = f"perf-mem-{called[1]}" if (called := _CALLED.search(head[0])) else section.name
        if match := _BANDWIDTH.search(text):
            yield Samples(name, _BANDWIDTH_SPEC, parameters, (float(match[1]) * _GIB[match[2]],))
        elif match := _CYCLES.search(text):
            yield Samples(name, MetricSpec("cost", "cycles/byte", "lower"), parameters, (float(match[1]),))
        elif match := _BARE.search(text):
            yield Samples(name, _BANDWIDTH_SPEC, parameters, (float(match[1]) * _GIB[""],))


def _parameters(text: str) -> Parameters:
    if match := _GROUPS.search(text):
        return {"groups": int(match[1]), "mode": match[2]}
    if match := _LOOPS.search(text):
        return {"loops": int(match[1])} | ({"mode": match[2]} if match[2] else {})
    if match := _BREAKPOINTS.search(text):
        return {name: int(count) for name, count in match.groupdict().items() if count}
    if match := _THREADS.search(text):
        return {"threads": int(match[1])}
    return {}


_IS_LINE = lines_of(*_LINES)


def _is_line(line: str) -> bool:
    """Return whether perf bench prints a line, in any locale."""
    return _IS_LINE(_in_c_locale(line))


READER = Reader(
    "perf-bench",
    "perf bench, in both of its formats",
    _recognises,
    _read,
    line=_is_line,
    begins=_BEGINS,
    unread=(
        Unread(
            re.compile(r"\A[\d.\s]+\Z"),
            "numbers without names",
            "if 'perf bench --format=simple' printed them: --as perf-bench",
        ),
    ),
)
READERS = (READER,)

_END = re.compile(r"(?:usecs/op|ops/sec)\Z")
_PER_LOOP = re.compile(r"^\s*(\d+(?:\.\d+)?)(?:\s+usecs/loop\.?)?\s*?$", re.M)
_LOOP_END = re.compile(r"usecs/loop\.?\Z")


def read_perfpipe(folder: Path) -> list[Row]:
    """Return one row of samples of ``perf bench sched pipe``, in microseconds per operation.

    The logs of MMTests are ``benchlog-_-_-N`` or ``pipe-N.log``.
    """
    files = [path for _, path in logs_named(folder, r"benchlog-[^-]+-[^-]+(?:-\d+)?|pipe-\d+\.log")]
    logs = [open_log(path, "perf bench sched pipe log", _END) for path in files]
    values = [log.find(_PER_OP_LINE, "“MICROSECONDS usecs/op”") for log in logs]
    return [Row(LATENCY, 4, "usecs-op", {}, np.concatenate(values), files[0])] if files else []


def read_pipetest(folder: Path) -> list[Row]:
    """Return one row of samples of the older ``pipetest.log``, in unrounded microseconds per loop.

    MMTests has rounded these values to half microseconds since 2016-09.
    """
    rows = []
    for _, path in logs_named(folder, r"pipetest\.log"):
        values = open_log(path, "pipetest log", _LOOP_END).each_line(_PER_LOOP, "“MICROSECONDS usecs/loop”")[:, 0]
        rows.append(Row(LATENCY, 2, "Time", {}, values, path))
    return rows

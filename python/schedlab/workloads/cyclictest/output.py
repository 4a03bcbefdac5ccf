"""cyclictest output: a line for each thread (``-q``), every latency (``-v``), a histogram (``-h``), or ``--json``.

Latencies are in microseconds, and with ``-N`` (``--nsecs``) in nanoseconds. The JSON names the unit. A thread's line
has other widths in nanoseconds (``print_stat`` in rt-tests' cyclictest.c). The other forms do not show the unit::

    us   Min:%7ld Act:%5ld Avg:%5ld Max:%8ld
    ns   Min:%7ld Act:%8ld Avg:%8ld Max:%8ld
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from statistics import fmean

import numpy as np

from schedlab.results.metrics import MetricSpec
from schedlab.workloads import origins
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
_SUMMARY = re.compile(
    rf"^# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):{_COUNTS}[ \t]*$", re.MULTILINE
)
_THREAD = re.compile(
    rf"^T: *({WHOLE}) \( *\d+\) P: *\d+ I: *({WHOLE}) C: *({WHOLE}) Min:( *{WHOLE}) Act:( *{WHOLE}) "
    rf"Avg:( *{WHOLE}) Max:( *{WHOLE})[ \t]*$",
    re.MULTILINE,
)
_PID = re.compile(r"\( *(\d+)\)")
_RUNNING = re.compile(r"^policy: \S+ loadavg: ", re.MULTILINE)
"""Line above the lines of threads that a running tool rewrites; ``-q`` omits this line."""
_BEGINNING = re.compile(r"^# /dev/cpu_dma_latency set to ", re.MULTILINE)
_EACH = re.compile(rf"^ *(\d{{1,6}}): *\d{{1,15}}: *({WHOLE})$", re.MULTILINE)
_VERBOSE = re.compile(r"^Thread \d+ Interval: \d+$", re.MULTILINE)
_HISTOGRAM = re.compile(r"^# Histogram[ \t]*$", re.MULTILINE)
_LINES = (
    r"# (?:/dev/cpu_dma_latency set to|Histogram|Total:|(?:Min|Avg|Max) Latencies:|Thread \d+:).*",
    r"T: *\d+ \( *\d+\) P: *\d+ I: *\d+ C: *\d+ .*|\d{6,}(?:\s+\d{6,})+|\d+: *\d+: *\d+",
    r"(?:Max|Online) CPUs = \d+|Thread \d+ Interval: \d+|policy: \S+ loadavg: .*|WARN: .*",
)
"""Lines that cyclictest prints."""
_COMMAND = re.compile(r"\bcyclictest(?P<options>(?:[ \t]+\S+)*?[ \t]-.*)$", re.MULTILINE)
_NSECS = re.compile(r"(?<!\S)(?:-[FmMqrRsSuvX]*N\w*|--nsecs)(?!\S)")
"""``-N`` alone, or behind other options without a value."""
_WIDTHS = {5: "us", 8: "ns"}
"""Width of the fields ``Act`` and ``Avg`` in each unit."""
_LEAST_NS = 500
"""Least latency that may be in nanoseconds. A timer's interrupt and the switch to the woken thread take longer than
half a microsecond, and in a run in microseconds some wake-up is earlier than half a millisecond."""
_STATE = "--as cyclictest-us, or for output of cyclictest -N (--nsecs) --as cyclictest-ns"


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


@dataclass(frozen=True)
class _Part:
    """Samples in the unit of the output; ``least`` is the smallest latency.

    ``unit`` is ``us`` or ``ns``, or empty if the part at the position ``at`` does not show its unit.
    """

    at: int
    least: float
    samples: Sequence[Samples]
    unit: str = ""


def _read(log: Log, unit: str = "") -> Reading:
    """Return mean and largest latency over all threads, in microseconds; ``unit`` is the unit that the user states.

    A histogram also gives percentiles, the lines of threads the smallest latency, and ``-v`` every latency.
    """
    parts = [_histogram(log, head.start(), text) for head, text in sections(log.text, _HISTOGRAM)]
    if not parts:
        parts = [*_threads(log), *(_every(log) if _VERBOSE.search(log.text) else ())]
    if not parts:
        log.cut_off("a thread's line or a histogram's summary")
    samples: list[Samples] = []
    notes: dict[str, None] = {}
    for part in parts:
        known = unit or part.unit or _unit_of_command(log.text[: part.at])
        if not known:
            notes[_assumed_us(log, part)] = None
        samples += map(_from_ns, part.samples) if known == "ns" else part.samples
    return Reading(samples, notes=list(notes))


def _unit_of_command(text: str) -> str:
    """Return the unit by the options of the last command line in a text; empty without a command line."""
    options = [match["options"] for match in _COMMAND.finditer(text)]
    return ("ns" if _NSECS.search(options[-1]) else "us") if options else ""


def _assumed_us(log: Log, part: _Part) -> str:
    """Return a note on the assumption of microseconds; ImportProblem where the latencies may be nanoseconds."""
    if part.least >= _LEAST_NS:
        raise log.problem(
            f"the unit is not printed, and the least latency, {part.least:g}, may be in microseconds or nanoseconds",
            log.line_at(part.at),
            f"state the unit: {_STATE}",
        )
    return f"{log.name}: the unit is not printed: the least latency, {part.least:g}, can only be in microseconds"


def _from_ns(part: Samples) -> Samples:
    return replace(part, values=np.asarray(part.values, np.float64) / 1000)


def _histogram(log: Log, at: int, text: str) -> _Part:
    """Return the values of a histogram at a position and of its summary, over all threads."""
    summary = {name: [int(word) for word in numbers.split()] for name, numbers in _SUMMARY.findall(text)}
    # -H (--histofall) adds a column for all threads, but no mean.
    threads = len(summary.get("Avg Latencies", ()))
    counts = {int(us): [int(word) for word in numbers.split()][:threads] for us, numbers in _BUCKET.findall(text)}
    last = log.line_at(at) + text.rstrip().count("\n")
    if not counts or not {"Avg Latencies", "Max Latencies", "Histogram Overflows"} <= summary.keys():
        fault = "cyclictest printed no histogram with its summary: the log is cut off, or the tool failed"
        raise log.problem(fault, last)
    totals = [sum(column) for column in zip(*counts.values(), strict=False)]
    if totals != summary.get("Total", totals)[:threads]:
        raise log.problem("the lines of the histogram do not add up to its total: a line is missing or damaged", last)
    buckets = {us: sum(columns) for us, columns in counts.items()}
    largest = float(max(summary["Max Latencies"]))
    overflows = summary["Histogram Overflows"][:threads]
    values = _percentiles(log, last, buckets, sum(overflows), largest)
    wakeups = [inside + above for inside, above in zip(totals, overflows, strict=True)]
    values |= {"latency-mean": fmean(summary["Avg Latencies"], wakeups), "latency-max": largest}
    least = min(summary.get("Min Latencies", buckets if any(buckets.values()) else [largest]))
    return _Part(at, least, list(single_run("cyclictest", {"threads": threads}, named(METRICS, values))))


def _runs(log: Log) -> Iterator[dict[int, re.Match[str]]]:
    """Yield the last line of each thread of each run; without ``-q`` the running tool rewrites these lines.

    ImportProblem for a further line of a thread that belongs neither to the same run nor to another with certainty.
    """
    run: dict[int, re.Match[str]] = {}
    end = 0
    for line in _THREAD.finditer(log.text):
        before = run.get(int(line[1]))
        if _BEGINNING.search(log.text, end, line.start()) or (before and _is_of_another_run(before, line)):
            if run:
                yield run
            run = {}
        elif before and not _RUNNING.search(log.text, before.end(), line.start()):
            raise log.problem(
                f"two lines of thread {line[1]} may be of one run or of two",
                log.line_at(line.start()),
                "import each run from a file of its own",
            )
        run[int(line[1])] = line
        end = line.end()
    if run:
        yield run


def _is_of_another_run(before: re.Match[str], line: re.Match[str]) -> bool:
    """Return whether a thread's lines have other processes or intervals, or figures that do not follow in a run."""
    pids = {match[1] for text in (before[0], line[0]) if (match := _PID.search(text)) and int(match[1])}
    fewer = int(line[3]) < int(before[3]) or int(line[7]) < int(before[7]) or int(line[4]) > int(before[4])
    return len(pids) > 1 or line[2] != before[2] or fewer


def _threads(log: Log) -> Iterator[_Part]:
    """Yield the values of each run over all threads; a run in which no thread woke up is refused among others."""
    runs = list(_runs(log))
    for last in runs:
        threads = [(float(match[3]), float(match[6]), float(match[7]), float(match[4])) for match in last.values()]
        at = min(match.start() for match in last.values())
        if sorted(last) != list(range(len(last))):
            there = ", ".join(map(str, sorted(last)))
            raise log.problem(f"lines of threads are missing: there are {there}", log.line_at(at))
        if not any(cycles for cycles, *_ in threads):
            if len(runs) > 1:
                raise log.problem("a run in which no thread woke up", log.line_at(at), "remove the run from the file")
            return
        parameters: Parameters = {"threads": len(last), "interval": int(last[0][2])}
        values = _over_threads(threads)
        samples = list(single_run("cyclictest", parameters, named(METRICS, values)))
        units = {unit for match in last.values() if (unit := _unit_of_widths(match))}
        yield _Part(at, values["latency-min"], samples, units.pop() if len(units) == 1 else "")


def _unit_of_widths(line: re.Match[str]) -> str:
    """Return the unit by the widths of a thread's line; empty where blanks were lost, or no field shows the unit."""
    least, *fields, largest = line.groups()[3:]
    if not (_has_width(least, 7) and _has_width(largest, 8)):
        return ""
    return next((unit for width, unit in _WIDTHS.items() if all(_has_width(field, width) for field in fields)), "")


def _has_width(field: str, width: int) -> bool:
    """Return whether printf's ``%WIDTHld`` printed a field: padded with blanks, unless the number is longer."""
    return len(field) == max(width, len(field.strip()))


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


def _every(log: Log) -> Iterator[_Part]:
    lines = list(_EACH.finditer(log.text))
    if lines:
        latencies = floats(match[2] for match in lines)
        threads = len({match[1] for match in lines})
        samples = Samples("cyclictest", _LATENCY, {"threads": threads}, latencies)
        yield _Part(lines[0].start(), float(latencies.min()), [samples])


def _recognises_json(head: str) -> bool:
    """Return whether a text begins as an object of rt-tests with threads."""
    return head.lstrip().startswith("{") and '"rt_test_version:"' in head and '"thread"' in head and '"cycles"' in head


def _read_json(log: Log) -> Reading:
    """Return values over all threads; percentiles where the histograms contain the wake-ups."""
    content = load(log)
    threads, system = inner(content, "thread"), inner(content, "sysinfo")
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
    stated = origins.origin(inner(system, "release"), inner(system, "nodename"), content.get("start_time"))
    samples = single_run("cyclictest", {"threads": len(complete)}, named(METRICS, values))
    resolution = content.get("resolution_in_ns")
    if resolution not in (0, 1):
        raise log.problem(f"resolution_in_ns is {resolution!r}, not 0 (µs) or 1 (ns)", 1, "run the test again")
    return Reading(list(map(_from_ns, samples) if resolution else samples), origin=stated)


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


_READER = Reader(
    "cyclictest",
    "cyclictest -q, -v or -h",
    _recognises,
    _read,
    line=lines_of(*_LINES),
    command=re.compile(f".*{_COMMAND.pattern}"),
    begins=re.compile(r"(?:# /dev/cpu_dma_latency set to |WARN: |# Histogram|Max CPUs = |policy: |T: *0 \().*"),
)


def _stated(unit: str, words: str) -> Reader:
    """Return the reader for output whose unit the user states; the content of a log does not select this reader."""
    read, never = partial(_read, unit=unit), lambda _: False
    name, reads = f"cyclictest-{unit}", f"cyclictest's output in {words}"
    return replace(_READER, name=name, reads=reads, read=read, recognises=never)


MICROSECONDS = _stated("us", "microseconds")
READERS = (
    Reader("cyclictest-json", "cyclictest --json", _recognises_json, _read_json, in_mails=False),
    _READER,
    MICROSECONDS,
    _stated("ns", "nanoseconds (-N)"),
)

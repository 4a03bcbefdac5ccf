"""Output of rtla (linux, tools/tracing/rtla): ``timerlat`` and ``osnoise``, each as ``top`` and as ``hist``.

``top`` prints a table by CPU, again each second unless ``-q`` is given; ``hist`` counts the values of each CPU::

      0 00:00:12   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)
    CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max
      1 #12322     |        0         0         1        15 |       10         3         9        31

    Index   IRQ-000   Thr-000
    0        276489         0
    over:         0         0

Its means of latencies are cut to whole numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import gcd

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import NUMBER, WHOLE, Log, Parameters, Reader, Reading, Samples, lines_of, sections

_US = {"us": 1.0, "ns": 1e-3}
"""Factors to microseconds by rtla's units (``-n``)."""
_CONTEXTS = {"IRQ": "irq", "Thread": "thread", "Thr": "thread", "Ret user": "user", "Usr": "user"}
"""Where a latency ends: in the timer's interrupt, in the woken thread, at its return to user space."""

_TIME = r"(?P<days>\d+) (?P<hours>\d\d):(?P<minutes>\d\d):(?P<seconds>\d\d)"
_TIMERLAT = re.compile(
    rf"^ *{_TIME} +\|(?P<contexts>(?: +(?:IRQ|Thread|Ret user) Timer Latency \([un]s\) *\|?)+)$", re.MULTILINE
)
_CONTEXT = re.compile(r"(IRQ|Thread|Ret user) Timer Latency \(([un]s)\)")
_OSNOISE = re.compile(rf"^ *duration: +{_TIME} \| time is in us *$", re.MULTILINE)
_LATENCIES = re.compile(rf"^ *({WHOLE}) #({WHOLE}) +\|(.*)$", re.MULTILINE)
_ALL = re.compile(r"^ *ALL #\d+ +e\d+ +\|(.*)$", re.MULTILINE)
_NOISES = re.compile(
    rf"^ *({WHOLE}) #({WHOLE}) +({WHOLE}) +({WHOLE}) +({NUMBER}) +({WHOLE}) +({WHOLE})((?: +{WHOLE})+) *$", re.MULTILINE
)
_CPU = re.compile(rf"^ *{WHOLE} #\d+ +\d", re.MULTILINE)
_COUNTERS = ("HW", "NMI", "IRQ", "Softirq", "Thread")
_NOISE_METRICS = (
    MetricSpec("noise", "us", "lower"),
    MetricSpec("cpu-available", "%", "higher"),
    MetricSpec("noise-max", "us", "lower", worst=True),
    MetricSpec("noise-single-max", "us", "lower", worst=True),
)
_REFRESHED_FROM = 2
"""Largest time in seconds of the first table of a run that prints a table each second (``sleep_time`` in rtla)."""

_HISTOGRAM = re.compile(r"^# RTLA (timerlat|osnoise) histogram *$", re.MULTILINE)
_UNIT = re.compile(r"^# Time unit is \w+ \(([un]s)\) *$", re.MULTILINE)
_COLUMNS = re.compile(r"^Index((?: +(?:IRQ|Thr|Usr|CPU)-\d+)+) *$", re.MULTILINE)
_ROW = re.compile(rf"^(\d+|over:|count:|min:|avg:|max:)((?: +(?:{NUMBER}|-))+) *$", re.MULTILINE)
_SUMMARY = re.compile(r"^ALL:", re.MULTILINE)
_VALUES = {"timerlat": "latency", "osnoise": "noise-single"}
"""Values that a histogram counts: latencies, or single pieces of noise."""
_PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True)
class _Table:
    """A table of ``top``: its position, the seconds since the start of the run, and the events of each CPU so far."""

    head: re.Match[str]
    text: str
    seconds: int
    counts: Mapping[str, int]

    def follows(self, before: _Table) -> bool:
        """Return whether this table may belong to the run of the table before."""
        return self.seconds >= before.seconds and all(
            self.counts.get(cpu, 0) >= count for cpu, count in before.counts.items()
        )


def _last_tables(log: Log, head: re.Pattern[str], row: re.Pattern[str]) -> Iterator[_Table]:
    """Yield the last table of each run; ImportProblem where the tables do not show their runs."""
    run: list[_Table] = []
    for match, text in sections(log.text, head):
        days, hours, minutes, seconds = (int(match[name]) for name in ("days", "hours", "minutes", "seconds"))
        counts = {line[1]: int(line[2]) for line in row.finditer(text)}
        table = _Table(match, text, ((days * 24 + hours) * 60 + minutes) * 60 + seconds, counts)
        if run and (run[0].seconds > _REFRESHED_FROM or not table.follows(run[-1])):
            yield _last(log, run)
            run = []
        run.append(table)
    if run:
        yield _last(log, run)


def _last(log: Log, run: Sequence[_Table]) -> _Table:
    last = run[-1]
    if len(run) > 1 and last.seconds == run[0].seconds:
        raise log.problem(
            f"{len(run)} tables after {last.seconds} s may be of one run or of {len(run)} runs",
            log.line_at(last.head.start()),
            "import each run from a file of its own, of rtla … -q",
        )
    if not last.counts:
        raise log.problem("a table without a CPU: the log is cut off, or rtla failed", log.line_at(last.head.start()))
    return last


def _read(log: Log) -> Reading:
    """Return the values of each run by CPU, and over all CPUs where rtla prints them."""
    samples: list[Samples] = []
    notes: list[str] = []
    for table in _last_tables(log, _TIMERLAT, _LATENCIES):
        samples += _latencies(log, table)
    for table in _last_tables(log, _OSNOISE, _NOISES):
        samples += _noises(log, table)
    for head, text in sections(log.text, _HISTOGRAM):
        samples += _histogram(log, head, text, notes)
    if not samples:
        raise log.problem("contains no result of rtla", 1)
    return Reading(samples, notes=list(dict.fromkeys(notes)))


def _latencies(log: Log, table: _Table) -> Iterator[Samples]:
    contexts = _CONTEXT.findall(table.head["contexts"])
    rows: list[tuple[Parameters, str]] = [({"cpu": int(row[1])}, row[3]) for row in _LATENCIES.finditer(table.text)]
    rows += [({}, row[1]) for row in _ALL.finditer(table.text)]
    for place, text in rows:
        cells = [cell.split() for cell in text.strip().strip("|").split("|")]
        if len(cells) != len(contexts) or any(len(cell) not in (3, 4) for cell in cells):
            raise log.problem("a line of latencies is cut off", log.line_at(table.head.start()))
        for (context, unit), cell in zip(contexts, cells, strict=True):
            for name, value in zip(("min", "mean", "max"), cell[-3:], strict=True):
                if value != "-":
                    parameters = {"context": _CONTEXTS[context], **place}
                    metric = MetricSpec(f"latency-{name}", "us", "lower", worst=name == "max")
                    yield Samples("rtla-timerlat", metric, parameters, (float(value) * _US[unit],))


def _noises(log: Log, table: _Table) -> Iterator[Samples]:
    rows = list(_NOISES.finditer(table.text))
    if len(rows) != len(_CPU.findall(table.text)) or {len(row[8].split()) for row in rows} not in ({2}, {5}):
        raise log.problem("a line of noise is cut off", log.line_at(table.head.start()))
    for row in rows:
        place = {"cpu": int(row[1])}
        for metric, value in zip(_NOISE_METRICS, row.groups()[3:7], strict=True):
            yield Samples("rtla-osnoise", metric, place, (float(value),))
        # "hwnoise" prints the first two counters.
        for name, count in zip(_COUNTERS, row[8].split(), strict=False):
            metric = MetricSpec("interferences", "events", "lower")
            yield Samples("rtla-osnoise", metric, {"source": name.lower(), **place}, (float(count),))


def _histogram(log: Log, head: re.Match[str], text: str, notes: list[str]) -> Iterator[Samples]:
    """Yield mean and largest value of each CPU, and over all CPUs also percentiles and the smallest value."""
    line = log.line_at(head.start())
    unit, columns = _UNIT.search(text), _COLUMNS.search(text)
    if unit is None or columns is None:
        raise log.problem("a histogram without its header", line, "run rtla without --no-header and --no-index")
    end = summary.start() if (summary := _SUMMARY.search(text)) else len(text)
    rows = {row[1].rstrip(":"): row[2].split() for row in _ROW.finditer(text, 0, end)}
    names = columns[1].split()
    if not {"over", "count", "min", "avg", "max"} <= rows.keys() or any(
        len(row) != len(names) for row in rows.values()
    ):
        raise log.problem(
            "a histogram without its summary: the log is cut off, or it has no value",
            line,
            "run rtla without --no-summary",
        )
    for column, name in enumerate(names):
        events = sum(int(row[column]) for key, row in rows.items() if key.isdecimal() or key == "over")
        if events != int(rows["count"][column]):
            raise log.problem(f"the buckets of {name} do not add up to its count", line)
    buckets = [int(index) for index in rows if index.isdecimal()]
    if (width := gcd(*buckets)) > 1:
        notes.append(f"{log.name}: percentiles are lower ends of buckets of {width} {unit[1]}")
    for kind in dict.fromkeys(name.partition("-")[0] for name in names):
        used = [at for at, name in enumerate(names) if name.startswith(f"{kind}-") and rows["count"][at] != "0"]
        context: Parameters = {"context": _CONTEXTS[kind]} if kind in _CONTEXTS else {}
        places: list[tuple[Parameters, list[int]]] = [(context, used)]
        places += [({**context, "cpu": int(names[at].partition("-")[2])}, [at]) for at in used]
        for place, indices in places:
            for name, value in _figures(rows, buckets, indices):
                if "cpu" not in place or name in ("mean", "max"):
                    metric = MetricSpec(f"{_VALUES[head[1]]}-{name}", "us", "lower", worst=name == "max")
                    yield Samples(f"rtla-{head[1]}", metric, place, (value * _US[unit[1]],))


def _figures(
    rows: Mapping[str, Sequence[str]], buckets: Sequence[int], columns: Sequence[int]
) -> Iterator[tuple[str, float]]:
    """Yield names and values over some columns of a histogram."""
    counts = {index: sum(int(rows[str(index)][column]) for column in columns) for index in buckets}
    events = [int(rows["count"][column]) for column in columns]
    largest = max(float(rows["max"][column]) for column in columns)
    total = sum(events)
    if not total:
        return
    cumulated = list(accumulate(counts.values()))
    for name, share in _PERCENTILES.items():
        # The histogram does not show values above its last bucket; the maximum is their upper bound.
        inside = (index for index, count in zip(counts, cumulated, strict=True) if count >= share * total)
        yield name, float(next(inside, largest))
    yield "mean", sum(n * float(rows["avg"][column]) for n, column in zip(events, columns, strict=True)) / total
    yield "max", largest
    yield "min", min(float(rows["min"][column]) for column in columns)


_LINES = (
    r"Timer Latency|Operating System Noise|Hardware-related Noise|CPU (?:COUNT|Period) .*|-+(?:\|-+)+",
    *(pattern.pattern.strip("^$") for pattern in (_TIMERLAT, _OSNOISE, _LATENCIES, _ALL, _NOISES)),
    *(pattern.pattern.strip("^$") for pattern in (_HISTOGRAM, _UNIT, _COLUMNS, _ROW)),
    r"# Duration: .*|ALL: +(?:IRQ|Thr|Usr|CPU).*|rtla \w+ hit stop tracing|## CPU \d+ hit stop .*|-{20,}",
    r"(?:[A-Z].*:|\S+:\d+) +[\d.]+ us\b.*|Blocking thread.*|-> \w+|The system has exit from .*",
    r"Saving trace to .*",
)
"""Lines that rtla prints, with its analysis of a stop (``-a``)."""
_GROUPS = re.compile(r"\?P<\w+>")

READERS = (
    Reader(
        "rtla",
        "rtla timerlat and osnoise, top and hist",
        lambda head: any(pattern.search(head) for pattern in (_TIMERLAT, _OSNOISE, _HISTOGRAM)),
        _read,
        line=lines_of(*(_GROUPS.sub("", line) for line in _LINES)),
        begins=re.compile(
            rf"Timer Latency|Operating System Noise|Hardware-related Noise|{_HISTOGRAM.pattern.strip('^$')}"
        ),
    ),
)

"""Output of schbench: percentiles of wake-up and request latency since the start of the run; requests a second.

A report before 2021 has one kind of latency, without a name: wake-ups. A run ends with ``average rps``, with the goal
that ``-A`` found, or with the transfers of ``-p``. ``-j`` writes JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import inner, load_all, number
from schedlab.workloads.log_reader import (
    NUMBER,
    Log,
    Reader,
    Reading,
    Samples,
    SideBySide,
    floats,
    lines_of,
    single_run,
)
from schedlab.workloads.mmtests_logs import Row, TreeLog, logs_named, open_log

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
_PIPES: dict[str, str | int] = {"mode": "pipe"}
"""Parameter of runs with ``-p``, whose threads send messages and do no requests."""
_DELAY_INTERIM = MetricSpec("sched-delay-interim", "us", "lower")
"""Mean delay of a thread on the runqueue since its start."""

_HEADING = r"(?:(?:(?P<kind>Wakeup|Request) )?Latenc(?:ies|y) percentiles \(usec\)|RPS percentiles \(requests\))"
_REPORT = re.compile(rf"^{_HEADING}[^\n]*", re.MULTILINE)
_BLOCK = re.compile(rf"^{_HEADING}[^\n]*\n(?P<lines>(?:[ \t]+[^\n]*\n?)+)", re.MULTILINE)
_EMPTY = "(0 total samples)"
"""End of the heading of a report whose figures are zeros, because nothing was measured."""
_PERCENTILE = re.compile(rf"^[ \t]+\*?[ \t]*({NUMBER})th:[ \t]+({NUMBER})\b", re.MULTILINE)
_AVERAGE = re.compile(rf"^average rps: ({NUMBER})$", re.MULTILINE)
_RUN_END = re.compile(
    rf"^(?:average rps: (?P<requests>{NUMBER})|final rps goal was (?P<goal>{NUMBER})"
    rf"|avg worker transfer: (?P<transfers>{NUMBER}) ops/sec (?P<rate>{NUMBER})(?P<prefix>[KMGTPE]?)B/s)$"
    r"(?:\nsched delay: .*$)?",
    re.MULTILINE,
)
"""The last line of a run; schbench prints a delay of 0 below, for the threads have ended."""
_DELAY = re.compile(rf"^sched delay: message ({NUMBER}) \(usec\) worker ({NUMBER}) \(usec\)$", re.MULTILINE)
_EXTREMES = re.compile(rf"\bmin=({NUMBER}), max=({NUMBER})$", re.MULTILINE)
_MIB = {"": 2.0**-20, "K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30, "E": 2.0**40}
"""schbench divides by 1024 for each step of its prefixes (``pretty_size``)."""
_CURRENT = re.compile(rf"^current rps: ({NUMBER})$", re.MULTILINE)
_SIDE_BY_SIDE = re.compile(
    r"^\W*(?P<name>\d\d\.\d+th):(?:.*\b(?P=name):|[ \t]+\d[\d.]*(?:[ \t|]+\d[\d.]*)+[ \t]*$)", re.MULTILINE
)
_LINES = (
    rf"{_HEADING}.*",
    r"\*? *\d\d\.\d+th: +\d[\d.]*(?: +\(\d+ samples\))?",
    r"(?:min=\d+, max=\d+|(?:average|current) rps: \S+|final rps goal was \d+|setting worker threads to \d+)",
    r"(?:Over|Under)=\d+.*|sched delay: message \d+ .*|warmup done, zeroing stats|avg worker transfer: .*",
    r"(?:split mode|matrix sizes): .*|auto pinning message .*|Pinning to message thread .*|pipe size too big, .*",
)
"""Lines that schbench prints."""


def _percentiles(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the kind (wakeup, request, requests), the percentile and the value of each line of the reports."""
    for block in _BLOCK.finditer(text):
        for percentile, value in _PERCENTILE.findall(block["lines"]):
            yield _kind(block), percentile, value


def _kind(block: re.Match[str]) -> str:
    return "requests" if block[0].startswith("RPS") else (block["kind"] or "Wakeup").lower()


def _values(text: str, end: re.Match[str] | None) -> Iterator[tuple[MetricSpec, float]]:
    """Yield the values of the last report of each kind, and of the last line of the run."""
    values: dict[str, float] = {}
    for block in _BLOCK.finditer(text):
        kind = _kind(block)
        if _EMPTY in block[0]:
            values = {name: value for name, value in values.items() if not name.startswith(f"{kind}-")}
            continue
        values |= {f"{kind}-p{float(percentile):g}": float(value) for _, percentile, value in _percentiles(block[0])}
        if extremes := _EXTREMES.search(block["lines"]):
            values |= {f"{kind}-min": float(extremes[1]), f"{kind}-max": float(extremes[2])}
    if end and end["requests"]:
        values["requests"] = float(end["requests"])
    yield from _named(values)
    if end and end["goal"]:
        yield MetricSpec("requests-goal", "requests/s", "higher"), float(end["goal"])
    if end and end["transfers"]:
        yield MetricSpec("transfers", "transfers/s", "higher"), float(end["transfers"])
        yield MetricSpec("throughput", "MiB/s", "higher"), float(end["rate"]) * _MIB[end["prefix"]]


def _named(values: Mapping[str, float]) -> Iterator[tuple[MetricSpec, float]]:
    specs = {spec.name: spec for spec in METRICS}
    for name, value in values.items():
        of_rates = MetricSpec(name, "requests/s", "higher", judged=False)
        other = of_rates if name.startswith("requests") else MetricSpec(name, "us", "lower", judged=False)
        yield specs.get(name, other), value


_RUNTIME = re.compile(rf" runtime ({NUMBER}) \(s\)")


def _recognises(head: str) -> bool:
    """Return whether a text has the heading of a report; reports side by side are columns of a text."""
    return bool(_REPORT.search(head)) and not _SIDE_BY_SIDE.search(head)


def _read(log: Log) -> Reading:
    """Return the last report of each run, and the requests a second of its intervals."""
    ends: list[re.Match[str] | None] = [*_RUN_END.finditer(log.text)]
    notes: list[str] = []
    if not ends:
        _require_intervals(log)
        ends = [None]
        notes.append(
            f"{log.name}: no line 'average rps', so schbench is old or the log was cut off; the last report is used"
        )
    samples: list[Samples] = []
    start = 0
    for end in ends:
        samples += _run(log, start, end)
        start = end.end() if end else len(log.text)
    if _REPORT.search(log.text, start):
        log.cut_off("the line 'average rps' of its last run")
    return Reading(samples, notes=notes)


def _require_intervals(log: Log) -> None:
    """Raise ImportProblem if reports without the end of a run may be of several runs, not intervals of one run."""
    heads = [
        match
        for match in _REPORT.finditer(log.text)
        if (match["kind"] or "Wakeup") == "Wakeup" and "RPS" not in match[0]
    ]
    times = [_RUNTIME.search(head[0]) for head in heads]
    for before, after, head in zip(times, times[1:], heads[1:], strict=False):
        if before is None or after is None or float(after[1]) <= float(before[1]):
            fault = "reports may be of several runs, as no line 'average rps' ends a run"
            raise log.problem(fault, log.line_at(head.start()), "write each run into a file of its own")


def _run(log: Log, start: int, end: re.Match[str] | None) -> Iterator[Samples]:
    last = end.start() if end else len(log.text)
    text = log.text[start:last]
    values = dict(_values(text, end))
    names = {spec.name for spec in values}
    kinds = {_kind(head) for head in _REPORT.finditer(text) if _EMPTY not in head[0]}
    if not values or not {f"{kind}-p99" for kind in kinds - {"requests"}} <= names:
        raise log.problem("a report is cut off", log.line_at(max(last - 1, 0)))
    mode = _PIPES if end and end["transfers"] else {}
    yield from single_run("schbench", mode, values.items())
    if rates := [float(rate) for rate in _CURRENT.findall(text)]:
        yield Samples("schbench", _INTERIM, {}, rates)
    delays = list(zip(*_DELAY.findall(text), strict=True))
    for thread, values_us in zip(("message", "worker"), delays, strict=False):
        yield Samples("schbench", _DELAY_INTERIM, {"thread": thread}, floats(values_us))


READER = Reader(
    "schbench",
    "schbench: percentiles of latency, requests/s",
    _recognises,
    _read,
    line=lines_of(*_LINES),
    # A report may also follow another report of the same run.
    begins=re.compile(r"setting worker threads to \d+|(?:Wakeup )?Latenc(?:ies|y) percentiles \(usec\).*"),
    side_by_side=SideBySide(
        heading=re.compile(_HEADING),
        cell=re.compile(
            r"\s*(\*?(?P<label>\d\d(?:\.\d+)?th):\s+\d+(?:\.\d+)?)\s*(?:\(\d+ samples\))?\s*(?:\||\Z|(?=\s\s))"
        ),
        other=re.compile(r"\s*(?:min|max|avg|average|current)\b.*\|"),
    ),
)
_JSON_KEY = re.compile(r"(wakeup|request|rps)(?:_latency)?_(?:pct(\d\d\.\d)|(min|max))")
_TASKS = {
    "messages": re.compile(r" (?:-m|--message-threads)[ =]?(\d{1,9})\b"),
    "workers": re.compile(r" (?:-t|--threads)[ =]?(\d{1,9})\b"),
}
"""Options that give the numbers of threads; schbench prints no default."""


def _read_json(log: Log) -> Reading:
    """Return the percentiles of each run, under the names of the text; the JSON lacks the average rate."""
    samples: list[Samples] = []
    for content in load_all(log):
        command = str(inner(content, "normal", "cmdline"))
        parameters: dict[str, str | int] = {
            name: int(match[1]) for name, option in _TASKS.items() if (match := option.search(command))
        }
        values: dict[str, float] = {}
        figures = inner(content, "int")
        for key, figure in figures.items() if isinstance(figures, dict) else ():
            if match := _JSON_KEY.fullmatch(key):
                value = number(figure)
                if value is None:
                    raise log.problem(f"{key} is not a number", 1)
                kind = "requests" if match[1] == "rps" else match[1]
                values[f"{kind}-{match[3] or f'p{float(match[2]):g}'}"] = value
        # A kind without samples has zeros.
        values = {name: value for name, value in values.items() if values.get(f"{name.partition('-')[0]}-max")}
        if "wakeup-p99" not in values:
            raise log.problem("contains no wake-up latency", 1)
        mode = {} if "request-p99" in values else _PIPES
        samples += single_run("schbench", parameters | mode, _named(values))
    return Reading(samples, notes=[f"{log.name}: the JSON of schbench lacks the average requests/s"])


_JSON = Reader(
    "schbench-json",
    "schbench --json",
    lambda head: head.lstrip().startswith("{") and '"wakeup_latency_pct99.0"' in head and '"normal"' in head,
    _read_json,
    in_mails=False,
)
READERS = (_JSON, READER)

_MMTESTS = {
    "wakeup": ("Wakeup", MetricSpec("wakeup", "us", "lower")),
    "request": ("Request", MetricSpec("request", "us", "lower")),
    "requests": ("RPS", MetricSpec("rps", "requests/s", "higher")),
}
"""Names and metrics of MMTests by the kind of percentiles."""
_OLD = MetricSpec("latency", "us", "lower")
_INTERVAL_END = re.compile(r"^current rps: [\d.]+\s*?(?:\n|\Z)", re.M)
_END = re.compile(r"(?:rps: \d+\.\d\d|min=\d+, max=\d+)\Z")
_OLD_HEAD = re.compile(r"^Latency percentiles \(usec\)", re.M)
_OLD_END = re.compile(r"min=\d+, max=\d+")


def read_mmtests(folder: Path) -> list[Row]:
    """Return percentiles of wake-up and request latencies and of requests a second; a sample for each interval.

    The logs of MMTests are ``schbench-WORKERS.log``.
    """
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
    for kind, percentile, value in _percentiles(_intervals(log)):
        samples.setdefault((kind, percentile), []).append(value)
    if not samples:
        raise log.problem("no percentiles", log.last_line)
    return [
        _row(_MMTESTS[kind][1], f"{_MMTESTS[kind][0]}-{percentile}th", percentile, workers, values, log)
        for (kind, percentile), values in samples.items()
    ]


def _intervals(log: TreeLog) -> str:
    """Return the reports of the intervals. The last report covers the complete run, and is used only if no other
    report exists."""
    ends = list(_INTERVAL_END.finditer(log.text))
    rest = log.text[ends[-1].end() if ends else 0 :]
    if _REPORT.search(rest) and not _AVERAGE.search(rest):
        raise log.problem("percentiles that are cut off, without “average rps”", log.last_line)
    return log.text[: ends[-1].end()] if ends else rest


def _old_rows(log: TreeLog, workers: int) -> list[Row]:
    """Return wake-up latencies in the format before 2021, whose last report covers the complete run."""
    last = log.text[[match.start() for match in _OLD_HEAD.finditer(log.text)][-1] :]
    percentiles = list(_percentiles(last))
    if not percentiles or not _OLD_END.search(last):
        raise log.problem("percentiles that are cut off, without “min=, max=”", log.last_line)
    return [
        _row(_OLD, f"{percentile.removesuffix('00')}th-qrtle", percentile, workers, [value], log)
        for _, percentile, value in percentiles
    ]

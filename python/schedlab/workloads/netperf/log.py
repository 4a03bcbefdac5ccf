"""netperf output: classic tables with or without headings (``-P 0``), interim results (``-D``), and the omni output.

A log is cut at the titles of the tests. A title is followed by a table of sizes and results, or omni output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import NUMBER, Lines, Log, Reader, Reading, Samples, sections
from schedlab.workloads.netperf import omni
from schedlab.workloads.netperf.omni import UNIT, metric_of
from schedlab.workloads.network_metrics import RECEIVED, SENT

_TITLE = re.compile(
    r"^(?:MIGRATED )?((?:(?:TCP|UDP|SCTP|STREAM|DG|UNIX|DCCP)\S* )[\w/ ]+?|OMNI \S+) TEST(?: (?:from|to|:) .*)?$",
    re.MULTILINE,
)
_NUMBERS = re.compile(rf"^[ \t]*(-?{NUMBER}(?:[ \t]+-?{NUMBER})+)[ \t]*$")
_INTERIM = re.compile(rf"^Interim result: +({NUMBER}) (\S+) over ", re.MULTILINE)
_UNSURE = re.compile(r"^!!! Confidence intervals: Throughput +: +(\S+)$", re.MULTILINE)
_SIZES_AND_RATE = re.compile(r"\d+ \d+ (?:\d+ )?(?:\d+ )?\d+\.\d\d (?:\d+ \d+ )?\d+\.\d\d")

_KINDS = {
    "stream": ((5, 9), ()),
    "rr": ((6, 10), (2,)),
    "datagram": ((6, 8), (4, 6)),
}
"""Allowed counts of numbers in the first and the second line of a result; with ``-c -C`` CPU figures follow."""


@dataclass(frozen=True)
class _Test:
    """Output of one test, or the complete log if the log has no title. ``line`` is the line of the title."""

    title: str
    text: str
    line: int


def _recognises(head: str) -> bool:
    """Return whether a text has a test's title or omni output, or consists of results of netperf's shapes."""
    return bool(_TITLE.search(head)) or omni.is_omni(head) or _is_bare(head)


def _is_bare(head: str) -> bool:
    """Return whether every line is a result: whole sizes, and at the end of the first line a time and a rate."""
    rows: list[list[str]] = []
    for line in Lines(head):
        if not line.strip():
            continue
        match = _NUMBERS.match(line)
        if match is None:
            return False
        if len(rows) < _SHAPE_LINES:
            rows.append(match[1].split())
    return bool(rows) and bool(_SIZES_AND_RATE.fullmatch(" ".join(rows[0]))) and _shape(rows) is not None


_SHAPE_LINES = 2
"""Lines of a result that show its kind."""


def _shape(rows: list[list[str]]) -> str | None:
    """Return the kind of a result by the counts of numbers in its first lines."""
    if len(rows[0]) in (5, 9):
        return "stream"
    second = len(rows[1]) if len(rows) > 1 else 0
    return next(
        (kind for kind in ("rr", "datagram") if len(rows[0]) in _KINDS[kind][0] and second in _KINDS[kind][1]), None
    )


def _read(log: Log) -> Reading:
    """Return throughput or transactions of each test, UDP as sent and received, CPU figures, and interim results."""
    samples: list[Samples] = []
    notes: list[str] = []
    for test in _tests(log):
        workload = _workload(test.title, log.name)
        if omni.is_omni(test.text) or test.title.startswith("OMNI"):
            results = list(omni.read(log, workload, test.text, test.line))
        else:
            results = list(_results(log, workload, test))
        if not results:
            raise log.problem("a test printed no result: the log is cut off, or the test failed", test.line)
        samples += results
        notes += [
            f"{log.name}:{test.line}: netperf did not reach its confidence: {width[1]}"
            for width in _UNSURE.finditer(test.text)
        ]
        interim: dict[MetricSpec, list[float]] = {}
        for value, unit in _INTERIM.findall(test.text):
            interim.setdefault(metric_of(unit), []).append(float(value))
        for metric, values in interim.items():
            spec = MetricSpec(f"{metric.name}-interim", metric.unit, metric.direction)
            samples.append(Samples(workload, spec, results[0].parameters, values))
    has_rates = any(part.metric.unit == "Mbit/s" for part in samples)
    if has_rates and not _TITLE.search(log.text) and not omni.is_omni(log.text):
        notes.append(f"{log.name}: the headings with the units are missing: rates are assumed to be in 10^6bits/s")
    return Reading(samples, notes=notes)


def _tests(log: Log) -> Iterator[_Test]:
    if not _TITLE.search(log.text):
        yield _Test("", log.text, 1)
    for title, text in sections(log.text, _TITLE):
        yield _Test(title[1], text, log.line_at(title.start()))


_SHORT = (
    ("connect/request/response", "crr"),
    ("request/response", "rr"),
    ("unidirectional send", "stream"),
    (" ", "-"),
)
_NAMED = re.compile(r"(TCP|UDP|STREAM|DG|SCTP)_(STREAM|RR|CRR|MAERTS|SENDFILE)", re.IGNORECASE)


def _workload(title: str, name: str) -> str:
    """Return the workload (``netperf-tcp-rr``) by a test's title, or by the name of a file such as ``TCP_RR.log``."""
    if title.startswith("OMNI"):
        return "netperf-omni"
    if not title:
        match = _NAMED.search(name.rpartition("/")[2])
        return f"netperf-{match[0].lower().replace('_', '-')}" if match else "netperf"
    test = title.lower()
    for long, short in _SHORT:
        test = test.replace(long, short)
    return f"netperf-{test}"


def _results(log: Log, workload: str, test: _Test) -> Iterator[Samples]:
    """Yield the results of one table; a log without titles may contain several results."""
    lines = [
        (test.line + number, match[1].split())
        for number, line in enumerate(Lines(test.text))
        if (match := _NUMBERS.match(line))
    ]
    unit = re.search(rf"(?:^|[ \t])({UNIT})(?=\s)", test.text)
    metric = metric_of(unit[1]) if unit else None
    at = 0
    while at < len(lines):
        number, *_ = lines[at]
        rows = [row for _, row in lines[at : at + _SHAPE_LINES]]
        kind = _kind(test.title) or _shape(rows)
        if kind is None:
            raise log.problem("figures that are not a result of netperf", number)
        first, second = _KINDS[kind]
        if len(rows[0]) not in first or (second and (len(rows) < 2 or len(rows[1]) not in second)):
            raise log.problem("a result is cut off", number)
        yield from _result(workload, kind, metric, rows[0], rows[1] if second else [])
        # Below a title, further lines are the details of -v 2.
        at = len(lines) if test.title else at + (2 if second else 1)


def _kind(title: str) -> str | None:
    if not title:
        return None
    if "request/response" in title.lower():
        return "rr"
    return "datagram" if title.startswith(("UDP", "DG")) else "stream"


def _result(
    workload: str, kind: str, metric: MetricSpec | None, first: list[str], second: list[str]
) -> Iterator[Samples]:
    if kind == "rr":
        parameters = {"request": int(float(first[2])), "reply": int(float(first[3]))}
        values = [(metric or metric_of("Trans/s"), first[5]), *_cpu(first[6:], "us/Tr")]
    elif kind == "stream":
        parameters = {"size": int(float(first[2]))}
        values = [(metric or metric_of("10^6bits/s"), first[4]), *_cpu(first[5:], "us/KB")]
    else:
        parameters = {"size": int(float(first[1]))}
        unit = metric.unit if metric else SENT.unit
        sent, received = (MetricSpec(spec.name, unit, spec.direction) for spec in (SENT, RECEIVED))
        cpu = [number for pair in zip(first[6:], second[4:], strict=False) for number in pair]
        values = [(sent, first[5]), (received, second[3]), *_cpu(cpu, "us/KB")]
    for spec, text in values:
        if float(text) >= 0:  # -1: not measured
            yield Samples(workload, spec, parameters, (float(text),))


def _cpu(numbers: list[str], unit: str) -> Iterator[tuple[MetricSpec, str]]:
    """Yield CPU utilisation of both ends, then the CPU time of a KB or a transaction at both ends."""
    specs = [MetricSpec(f"cpu-{end}", "%", "lower") for end in ("local", "remote")]
    specs += [MetricSpec(f"demand-{end}", unit, "lower") for end in ("local", "remote")]
    yield from zip(specs, numbers, strict=False)


READERS = (
    Reader(
        "netperf",
        "netperf: classic output, -P 0, -D interim results, omni as table, key=value or CSV",
        _recognises,
        _read,
    ),
)

"""netperf: its classic tables, with or without headings (``-P 0``), its interim results (``-D``), and the omni output.

A log is cut at the tests' titles; what follows one is a table of sizes and figures, or what :mod:`netperf_omni` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from schedlab.importers.logs import netperf_omni
from schedlab.importers.logs.base import NUMBER, Log, Reader, Reading, Samples, parts
from schedlab.importers.logs.netperf_units import UNIT, of_unit
from schedlab.workloads.base import MetricSpec
from schedlab.workloads.loopback import RECEIVED, SENT

_TITLE = re.compile(
    r"^(?:MIGRATED )?((?:(?:TCP|UDP|SCTP|STREAM|DG|UNIX|DCCP)\S* )[\w/ ]+?|OMNI \S+) TEST(?: (?:from|to|:) .*)?$",
    re.MULTILINE,
)
_FIGURES = re.compile(rf"^[ \t]*(-?{NUMBER}(?:[ \t]+-?{NUMBER})+)[ \t]*$")
_INTERIM = re.compile(rf"^Interim result: +({NUMBER}) (\S+) over ", re.MULTILINE)
_UNSURE = re.compile(r"^!!! Confidence intervals: Throughput +: +(\S+)$", re.MULTILINE)

_KINDS = {
    "stream": ((5, 9), ()),
    "rr": ((6, 10), (2,)),
    "datagram": ((6, 8), (4, 6)),
}
"""How many figures the first and the second line of a result have; with ``-c -C`` CPU figures follow."""


@dataclass(frozen=True)
class _Part:
    """What stands under one title, or a log without titles; ``line`` is that of the title."""

    title: str
    text: str
    line: int


def recognises(head: str) -> bool:
    """A test's title, the omni output's keys or names, or nothing but results of netperf's shapes."""
    return bool(_TITLE.search(head)) or netperf_omni.recognises(head) or _is_bare(head)


def _is_bare(head: str) -> bool:
    """Results alone: sizes are whole, a time and a rate with two decimals end the first line."""
    lines = [line for line in head.split("\n") if line.strip()]
    rows = [found[1].split() if (found := _FIGURES.match(line)) else [] for line in lines]
    first = r"\d+ \d+ (?:\d+ )?(?:\d+ )?\d+\.\d\d (?:\d+ \d+ )?\d+\.\d\d"
    return bool(rows) and all(rows) and bool(re.fullmatch(first, " ".join(rows[0]))) and _kind_of(rows) is not None


def _kind_of(rows: list[list[str]]) -> str | None:
    """The kind of a result by the shape of its lines."""
    if len(rows[0]) in (5, 9):
        return "stream"
    second = len(rows[1]) if len(rows) > 1 else 0
    return next(
        (kind for kind in ("rr", "datagram") if len(rows[0]) in _KINDS[kind][0] and second in _KINDS[kind][1]), None
    )


def read(log: Log) -> Reading:
    """Throughput or transactions of each test, UDP's as sent and received, CPU figures, and the interim results."""
    samples: list[Samples] = []
    notes: list[str] = []
    for part in _parts(log):
        workload = _workload(part.title, log.name)
        if netperf_omni.recognises(part.text) or part.title.startswith("OMNI"):
            found = list(netperf_omni.read(log, workload, part.text, part.line))
        else:
            found = list(_results(log, workload, part))
        if not found:
            raise log.problem("a test printed no result: it is cut off, or it failed", part.line)
        samples += found
        notes += [
            f"{log.name}:{part.line}: netperf did not reach its confidence: {width[1]}"
            for width in _UNSURE.finditer(part.text)
        ]
        interim = [(of_unit(unit), float(value)) for value, unit in _INTERIM.findall(part.text)]
        for metric in dict.fromkeys(metric for metric, _ in interim):
            here = [value for other, value in interim if other == metric]
            spec = MetricSpec(f"{metric.name}-interim", metric.unit, metric.direction)
            samples.append(Samples(workload, spec, found[0].parameters, here))
    rates = any(one.metric.unit == "Mbit/s" for one in samples)
    if rates and not _TITLE.search(log.text) and not netperf_omni.recognises(log.text):
        notes.append(f"{log.name}: without headings netperf tells no units: rates are taken as 10^6bits/s")
    return Reading(samples, notes=notes)


def _parts(log: Log) -> Iterator[_Part]:
    if not _TITLE.search(log.text):
        yield _Part("", log.text, 1)
    for title, text in parts(log.text, _TITLE):
        yield _Part(title[1], text, log.line_at(title.start()))


_SHORT = (
    ("connect/request/response", "crr"),
    ("request/response", "rr"),
    ("unidirectional send", "stream"),
    (" ", "-"),
)
_NAMED = re.compile(r"(TCP|UDP|STREAM|DG|SCTP)_(STREAM|RR|CRR|MAERTS|SENDFILE)", re.IGNORECASE)


def _workload(title: str, name: str) -> str:
    """``netperf-tcp-rr``; without a title the file's name may tell the test, as in ``TCP_RR.log``."""
    if title.startswith("OMNI"):
        return "netperf-omni"
    if not title:
        named = _NAMED.search(name.rpartition("/")[2])
        return f"netperf-{named[0].lower().replace('_', '-')}" if named else "netperf"
    test = title.lower()
    for long, short in _SHORT:
        test = test.replace(long, short)
    return f"netperf-{test}"


def _results(log: Log, workload: str, part: _Part) -> Iterator[Samples]:
    """The results of one table; without titles there may be many, one after the other."""
    lines = [
        (part.line + number, found[1].split())
        for number, line in enumerate(part.text.split("\n"))
        if (found := _FIGURES.match(line))
    ]
    unit = re.search(rf"(?:^|[ \t])({UNIT})(?=\s)", part.text)
    metric = of_unit(unit[1]) if unit else None
    while lines:
        kind = _kind(part.title) or _kind_of([row for _, row in lines])
        if kind is None:
            raise log.problem("figures that are no result of netperf", lines[0][0])
        first, second = _KINDS[kind]
        if len(lines[0][1]) not in first or (second and (len(lines) < 2 or len(lines[1][1]) not in second)):
            raise log.problem("a result is cut off", lines[0][0])
        yield from _result(workload, kind, metric, lines[0][1], lines[1][1] if second else [])
        # Below a title more lines are the details of -v 2.
        lines = [] if part.title else lines[2 if second else 1 :]


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
        figures = [(metric or of_unit("Trans/s"), first[5]), *_cpu(first[6:], "us/Tr")]
    elif kind == "stream":
        parameters = {"size": int(float(first[2]))}
        figures = [(metric or of_unit("10^6bits/s"), first[4]), *_cpu(first[5:], "us/KB")]
    else:
        parameters = {"size": int(float(first[1]))}
        unit = metric.unit if metric else SENT.unit
        sent, received = (MetricSpec(spec.name, unit, spec.direction) for spec in (SENT, RECEIVED))
        cpu = [figure for pair in zip(first[6:], second[4:], strict=False) for figure in pair]
        figures = [(sent, first[5]), (received, second[3]), *_cpu(cpu, "us/KB")]
    for spec, text in figures:
        if float(text) >= 0:  # -1: not measured
            yield Samples(workload, spec, parameters, (float(text),))


def _cpu(figures: list[str], unit: str) -> Iterator[tuple[MetricSpec, str]]:
    """CPU utilisation of both ends, then the CPU time that a KB or a transaction costs them."""
    specs = [MetricSpec(f"cpu-{end}", "%", "lower") for end in ("local", "remote")]
    specs += [MetricSpec(f"demand-{end}", unit, "lower") for end in ("local", "remote")]
    yield from zip(specs, figures, strict=False)


READER = Reader(
    "netperf", "netperf: classic output, -P 0, -D interim results, omni as table, key=value or CSV", recognises, read
)

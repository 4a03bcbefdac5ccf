"""netperf output: classic tables with or without headings (``-P 0``), interim results (``-D``), and the omni output.

A log is cut at the titles of the tests. A title is followed by a table of sizes and results, or omni output, which
:mod:`schedlab.workloads.netperf.omni` reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import NUMBER, Lines, Log, Reader, Reading, Samples, floats, lines_of, sections
from schedlab.workloads.mmtests_logs import Row, TreeLog, logs_named, open_log
from schedlab.workloads.netperf import omni
from schedlab.workloads.netperf.metrics import RECEIVED, SENT, TRANSACTIONS, UNIT, metric_of

_TITLE = re.compile(
    r"^(?:MIGRATED )?((?:(?:TCP|UDP|SCTP|STREAM|DG|UNIX|DCCP)\S* )[\w/ ]+?|OMNI \S+) TEST(?: (?:from|to|:) .*)?$",
    re.MULTILINE,
)
_NUMBERS = re.compile(rf"^[ \t]*(-?{NUMBER}(?:[ \t]+-?{NUMBER})+)[ \t]*$", re.MULTILINE)
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
        results: Sequence[Samples]
        if test.title.startswith("OMNI") or (omni.is_below_title if test.title else omni.is_omni)(test.text):
            selected = omni.read(log, workload, test.title, test.text, test.line)
            results = selected.samples
            notes += selected.notes(log.at(test.line))
        else:
            results = list(_results(log, workload, test))
        if not results:
            _refuse(log, test, "a test printed no result: the log is cut off, or the test failed", test.line)
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
    return Reading(list(map(_as_measured, samples)), notes=notes)


def _as_measured(part: Samples) -> Samples:
    """Return the samples with the adapter's workload and parameters, where the adapter has the test."""
    test = _MEASURED.fullmatch(part.workload)
    if test is None:
        return part
    workload = "netperf-rr" if test["kind"] == "rr" else "netperf"
    return replace(part, workload=workload, parameters={"protocol": test["protocol"], **part.parameters})


def _tests(log: Log) -> Iterator[_Test]:
    if not _TITLE.search(log.text):
        yield _Test("", log.text, 1)
    for title, text in sections(log.text, _TITLE):
        yield _Test(title[1], text, log.line_at(title.start()))


_MEASURED = re.compile(r"netperf-(?P<protocol>tcp|udp)-(?P<kind>stream|rr)")
_SHORT = (
    ("connect/request/response", "crr"),
    ("request/response", "rr"),
    ("unidirectional send", "stream"),
    (" ", "-"),
)
_NAMED = re.compile(r"(TCP|UDP|STREAM|DG|SCTP)_(STREAM|RR|CRR|MAERTS|SENDFILE)", re.IGNORECASE)


def _workload(title: str, name: str) -> str:
    """Return the test (``netperf-tcp-rr``) by a test's title, or by the name of a file such as ``TCP_RR.log``."""
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
            _refuse(log, test, "a result is cut off", number)
        yield from _result(workload, kind, metric, rows[0], rows[1] if second else [])
        # Below a title, further lines are the details of -v 2.
        at = len(lines) if test.title else at + (2 if second else 1)


def _refuse(log: Log, test: _Test, fault: str, line: int) -> NoReturn:
    """Raise ImportProblem with ``fault``, or with the columns that the user chose for the table of a test.

    All classic tables with a heading have the size of the socket.
    """
    below = takewhile(lambda text: not _NUMBERS.match(text), test.text.lstrip("\n").split("\n"))
    headings = [text for text in below if not _INTERIM.match(text)][: omni.HEADINGS]
    if test.title and any(map(str.strip, headings)) and "Socket" not in " ".join(headings):
        names = ", ".join(omni.columns_of(headings))
        raise log.problem(
            f"netperf's selected columns cannot be read: {names[:200]}",
            line,
            "copy the output with all its blanks, or run the test with '-- -k THROUGHPUT,THROUGHPUT_UNITS'",
        )
    raise log.problem(fault, line)


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


_HEADING_WORD = re.compile(
    r"[#%USM]|Alignment|Burst|[Bb]ytes|CPU|[Dd]em(?:and)?|Elapsed|Errors|Final|/?[Ll]ocal|Messages?|Offset|Okay|[Pp]er|Rate|"
    r"Recvs?|/?[Rr]emote|Req(?:uest)?|Resp\.|S\.dem|SS|Sen[dt]s?|Service|Sizes?|Socket|Throughput|Time|Trans\.|Units|"
    r"Util(?:ization)?|Xfered|\((?:avg|bytes|sec)\)|secs?\.?|us/(?:KB|Tr)"
)
"""Words above the figures of the classic tables."""
_IS_LINE = lines_of(
    _TITLE.pattern.strip("^$"),
    _NUMBERS.pattern.strip("^$"),
    omni.ROW,
    r"Interim result: .*|!!! .*",
    r"(?:LOCAL|REMOTE|THROUGHPUT|TRANSACTION|REQUEST|RESPONSE|PROTOCOL|DIRECTION|ELAPSED|CONFIDENCE|SD|BURST|UUID|COMMAND|"
    r"SOURCE|DEST|SOCKET|TRANSPORT|MARKER|RT|[LR]S[SR]|NET|OUTPUT|RESULT|INTERVAL|\w*LATENCY)\w*=.*",
    r"(?=(?:.*,)?-?\d+\.\d\d(?:,|\Z))[\w.|/^ -]*(?:,[\w.|/^ -]*){3,}",
)


def _is_line(line: str) -> bool:
    """Return whether netperf prints a line."""
    return _IS_LINE(line) or omni.is_omni(line) or all(map(_is_heading_word, line.split()))


def _is_heading_word(word: str) -> bool:
    return word in omni.WORDS or bool(_HEADING_WORD.fullmatch(word) or re.fullmatch(UNIT, word))


READER = Reader(
    "netperf",
    "netperf: classic output, -P 0, -D interim results, omni as table, key=value or CSV",
    _recognises,
    _read,
    line=_is_line,
    begins=_TITLE,
)
READERS = (READER,)

_DECIMALS = 2

_END = re.compile(r"(?:\.\d\d|^\d+ +\d+)\Z", re.M)
_NAME_END = re.compile(r"[A-Z]\Z")


def read_mmtests(folder: Path) -> list[Row]:
    """Return throughput or transactions of every repetition, a row for each message size; UDP as sent and received.

    In MMTests, ``protocols`` names the test (``UDP_STREAM``), and ``PROTOCOL-SIZE.N`` are its repetitions.
    """
    sizes: dict[tuple[str, int], list[TreeLog]] = {}
    for match, path in logs_named(folder, rf"({_protocol(folder)})-(\d+)\.\d+"):
        sizes.setdefault((match[1], int(match[2])), []).append(open_log(path, f"netperf {match[1]} log", _END))
    return [row for key in sorted(sizes) for row in _mmtests_rows(*key, sizes[key])]


def _protocol(folder: Path) -> str:
    for _, path in logs_named(folder, "protocols"):
        return re.escape(open_log(path, "list of netperf tests", _NAME_END).text.split()[0])
    return "[A-Z]+_[A-Z]+"


def _mmtests_rows(protocol: str, size: int, logs: list[TreeLog]) -> list[Row]:
    name = protocol.lower().replace("_", "")

    def row(metric: MetricSpec, kind: str, has_result: Callable[[int], bool]) -> Row:
        values = floats(_last_number(log, has_result) for log in logs)
        return Row(metric, _DECIMALS, f"{name}-{kind}-{size}", {"size": size}, values, logs[0].path)

    if protocol == "UDP_STREAM":
        return [row(SENT, "send", lambda numbers: numbers == 6), row(RECEIVED, "recv", lambda numbers: numbers == 4)]
    # MMTests labels transactions with Mbit/s, but netperf prints transactions a second.
    return [
        row(TRANSACTIONS if protocol.endswith("_RR") else metric_of("10^6bits/s"), "send", lambda numbers: numbers > 4)
    ]


def _last_number(log: TreeLog, has_result: Callable[[int], bool]) -> str:
    """Return the last number of the last result line. ``has_result`` selects lines by their count of numbers."""
    for match in reversed(list(_NUMBERS.finditer(log.text))):
        numbers = match[1].split()
        if has_result(len(numbers)):
            return numbers[-1]
    raise log.problem("no line of results", log.last_line)

"""Output of UnixBench: the rate of each test, its index against a reference machine, and the score of all tests.

``BASELINE`` of the columns ``BASELINE RESULT INDEX`` is UnixBench's reference machine, not a baseline run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import NUMBER, WHOLE, Log, Parameters, Reader, Reading, Samples, lines_of, sections

_INDEX = re.compile(
    r"^System Benchmarks (?:Partial )?Index(?: Values)?[ \t]+BASELINE[ \t]+RESULT[ \t]+INDEX", re.MULTILINE
)
_RUN = re.compile(rf"^{WHOLE} CPUs? in system; running ({WHOLE}) parallel cop(?:y|ies) of tests", re.MULTILINE)
_RATE = re.compile(rf"^(\S.*?)  +({NUMBER}) (\w+)[ \t]+\({NUMBER} s, {WHOLE} samples?\)", re.MULTILINE)
_ROW = re.compile(rf"^(\S.*?)[ \t]+{NUMBER}[ \t]+{NUMBER}[ \t]+({NUMBER})[ \t]*$", re.MULTILINE)
_SCORE = re.compile(rf"^System Benchmarks Index Score(?: \(Partial Only\))?:?[ \t]+({NUMBER})[ \t]*$", re.MULTILINE)

_INDEX_METRIC = MetricSpec("index", "index points", "higher")
_SCORE_METRIC = MetricSpec("score", "index points", "higher")
_LINES = (
    *(pattern.pattern.strip("^$") for pattern in (_INDEX, _RATE, _ROW, _SCORE)),
    rf"{_RUN.pattern.strip('^')}.*|Benchmark Run: .*|BYTE UNIX Benchmarks \(.*|=+|-{{10,}}|[# ]+",
    r"System: .+: .+|OS: .+ -- .+|Machine: \S+ \(.+|Language: .+charmap.+|CPU \d+: .+bogomips.+",
    r"(?:Hyper-Threading|x86-64), .*|\d\d:\d\d:\d\d up .+|\d+ x \S.*  \d[\d ]*",
)
"""Lines that UnixBench prints, without its banner."""


def _read(log: Log) -> Reading:
    """Return the tests and the score of each run; a run without its score is cut off."""
    samples: list[Samples] = []
    runs: list[tuple[Parameters, int, str]]
    runs = [({"copies": int(head[1])}, head.start(), text) for head, text in sections(log.text, _RUN)]
    for copies, start, text in runs or [({}, 0, log.text)]:
        samples += _run(text, copies)
        if _INDEX.search(text) and not _SCORE.search(text):
            raise log.problem("a run ends without its score: the log is cut off, or a test failed", log.line_at(start))
    if not samples:
        raise log.problem("contains no result of UnixBench", 1)
    return Reading(samples)


def _run(text: str, copies: Parameters) -> Iterator[Samples]:
    for match in _RATE.finditer(text):
        rate = MetricSpec("rate", match[3], "higher")
        yield Samples("unixbench", rate, {**copies, "test": match[1]}, (float(match[2]),))
    if head := _INDEX.search(text):
        for match in _ROW.finditer(text, head.end()):
            yield Samples("unixbench", _INDEX_METRIC, {**copies, "test": match[1]}, (float(match[2]),))
    for match in _SCORE.finditer(text):
        yield Samples("unixbench", _SCORE_METRIC, copies, (float(match[1]),))


READERS = (
    Reader(
        "unixbench",
        "UnixBench: rates, indices and scores",
        lambda head: bool(_INDEX.search(head)),
        _read,
        line=lines_of(*_LINES),
        begins=re.compile(r"BYTE UNIX Benchmarks \(.*|Benchmark Run: .*"),
    ),
)

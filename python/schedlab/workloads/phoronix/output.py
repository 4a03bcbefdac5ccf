"""Results of the Phoronix Test Suite: ``composite.xml`` in the folder of a result.

The elements are those that ``pts_result_file.php`` of version 10.8 writes. A ``Result`` is a test with its options, and
an ``Entry`` has the figures of a system::

    <Result><Identifier>pts/hackbench-1.0.0</Identifier> … <Scale>Seconds</Scale><Proportion>LIB</Proportion>
        <Data><Entry><Identifier>6.12</Identifier><Value>9.5</Value><RawString>9.4:9.5:9.6</RawString></Entry></Data>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from schedlab.notation.units import counted
from schedlab.results.metrics import Direction, MetricSpec
from schedlab.workloads.log_reader import NUMBER, Log, Reader, Reading, Samples

_DIRECTIONS: dict[str, Direction] = {"HIB": "higher", "LIB": "lower"}
"""Higher or lower is better."""
_TIMES = {"seconds": "s", "milliseconds": "ms", "ms": "ms", "microseconds": "us", "nanoseconds": "ns", "ns": "ns"}
"""Units of ``Scale`` in lower case that make a figure a time."""
_FIGURES = ("", "BAR_GRAPH")
"""``DisplayFormat`` of a figure for each system. Other formats are series over time, images, and passed or failed."""
_VALUE = re.compile(rf"-?{NUMBER}(?:[eE][-+]?\d{{1,3}})?")
_ROUNDING = 0.01
"""The mean is printed with two decimals, or with more for small figures (``pts_math``)."""


@dataclass(frozen=True)
class _Entry:
    """The figures of a system in a test; empty if the test failed there."""

    system: str
    values: tuple[float, ...]
    problem: str = ""


def _recognises(head: str) -> bool:
    return bool(re.match(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<PhoronixTestSuite>", head, re.DOTALL))


def _read(log: Log) -> Reading:
    """Return a sample for each run. The systems of a file are columns where the file is imported alone, otherwise rows
    (``system``); a single system then has the column of the file."""
    samples, undirected, notes = list[Samples](), list[Samples](), list[str]()
    results = list(_root(log).iterfind("Result"))
    systems = dict.fromkeys(entry.system for result in results for entry in _entries(log, result))
    seen: set[tuple[object, ...]] = set()
    for result in results:
        test = f"{_text(result, 'Identifier') or _text(result, 'Title')}: {_text(result, 'Description')}".rstrip(": ")
        if _text(result, "DisplayFormat") not in _FIGURES:
            notes.append(f"{log.name}: left out: {test}, whose results are no single figures")
            continue
        direction = _DIRECTIONS.get(_text(result, "Proportion"))
        for entry in _entries(log, result):
            if not entry.values:
                notes.append(f"{log.name}: left out: {test} has no figure of {entry.system}")
                continue
            if entry.problem:
                notes.append(f"{log.name}: {test}, {entry.system}: {entry.problem}")
            made = _samples(result, entry, direction or "lower", log.alone, len(systems) > 1)
            if (key := (made.workload, made.metric.name, tuple(made.parameters.items()), entry.system)) in seen:
                raise log.problem(
                    f"has {test} twice for {entry.system}", todo="remove one of the results from the file"
                )
            seen.add(key)
            (samples if direction else undirected).append(made)
    if not samples and not undirected:
        raise log.problem("contains no figure of a test", todo="\n".join(notes) or "run the tests again")
    return Reading(samples, notes=notes, undirected=undirected)


def _root(log: Log) -> ElementTree.Element:
    """Parse the text. A file with a document type is refused, as its entities could expand without limit."""
    if "<!DOCTYPE" in log.text:
        raise log.problem("has a document type, which the Phoronix Test Suite does not write", 1)
    try:
        return ElementTree.fromstring(log.text)
    except ElementTree.ParseError as error:
        raise log.problem(f"is not XML: {error}", error.position[0]) from error


def _text(element: ElementTree.Element, name: str) -> str:
    return " ".join((element.findtext(name) or "").split())


def _entries(log: Log, result: ElementTree.Element) -> Iterator[_Entry]:
    for entry in result.iterfind("Data/Entry"):
        system, value, raw = (_text(entry, name) for name in ("Identifier", "Value", "RawString"))
        texts = [text for text in (raw or value).split(":") if text]
        if not value or _text(result, "DisplayFormat") not in _FIGURES:
            yield _Entry(system, ())
            continue
        for text in (value, *texts):
            if not _VALUE.fullmatch(text):
                raise log.problem(f"{text[:40]!r} of {system or 'a system'} is not a number", todo="correct the file")
        samples, mean = tuple(map(float, texts)), float(value)
        slack = max(_ROUNDING, abs(mean) * 1e-3)
        if min(samples) - slack <= mean <= max(samples) + slack:
            yield _Entry(system, samples)
        else:
            problem = (
                f"the value {value} is not between the figures of its {counted(len(texts), 'run')}; it is one sample"
            )
            yield _Entry(system, (mean,), problem)


def _samples(result: ElementTree.Element, entry: _Entry, direction: Direction, alone: bool, several: bool) -> Samples:
    scale = _text(result, "Scale")
    unit = _TIMES.get(scale.lower())
    spec = MetricSpec("time", unit, direction) if unit else MetricSpec(scale or "result", scale, direction)
    parameters: dict[str, str | int | float] = {
        name: text
        for name, text in (
            ("options", _text(result, "Description") or _text(result, "Arguments")),
            ("version", _text(result, "AppVersion")),
            ("system", entry.system if several and not alone else ""),
        )
        if text
    }
    workload = _text(result, "Identifier") or _text(result, "Title") or "phoronix"
    return Samples(workload, spec, parameters, entry.values, entry.system if alone else "")


READERS = (
    Reader(
        "phoronix",
        "composite.xml of the Phoronix Test Suite",
        _recognises,
        _read,
        in_mails=False,
    ),
)

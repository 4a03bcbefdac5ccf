"""Figures that a command prints: their declaration in an experiment file, and reading of figures from the output."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import fsum, isfinite
from types import FrameType
from typing import Annotated, Any, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from schedlab.notation.units import SYMBOLS
from schedlab.results.metrics import Metric, MetricSpec, NotUnderstood

SECONDS = 10.0
"""CPU seconds for reading the figures of a trial. A backtracking expression can take exponential time."""

MOST_SAMPLES = 1_000_000
"""Largest number of samples that a trial may have of a metric."""

_NAME = r"^[A-Za-z][A-Za-z0-9_.-]*$"
_UNIT = r"^[^\s\[\],]+$"


class Figure(BaseModel):
    """A metric that a command prints.

    A figure has either ``regex`` or ``json``. Each match of ``regex`` is a sample; the only group of ``regex`` matches
    the number. ``json`` is the path of a number or of a list of numbers in a JSON document: keys and indices with
    points between them, and ``*`` for all elements. The value is the mean of the samples, or for a ``worst`` figure the
    worst sample: a worst case, for a command that always measures for the same time.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[str, Field(min_length=1, max_length=60, pattern=_NAME)]
    unit: Annotated[str, Field(min_length=1, max_length=20, pattern=_UNIT)]
    better: Literal["lower", "higher"]
    judged: bool = True
    worst: bool = False
    stream: Literal["stdout", "stderr"] = "stdout"
    regex: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    json_path: str | None = Field(None, alias="json", min_length=1)

    @field_validator("unit")
    @classmethod
    def _require_symbol(cls, unit: str) -> str:
        if (symbol := SYMBOLS.get(unit.lower())) is not None and unit != symbol:
            raise ValueError(f"{unit!r} is not the symbol of the unit: write {symbol!r}")
        return unit

    @field_validator("regex")
    @classmethod
    def _require_one_group(cls, regex: str | None) -> str | None:
        if regex is None:
            return None
        try:
            groups = re.compile(regex).groups
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"{regex!r} is not a regular expression: {error}") from error
        if groups != 1:
            raise ValueError(f"{regex!r} has {groups} groups: put only the number in parentheses; write other groups "
                             "as (?:…)")  # fmt: skip
        return regex

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        if (self.regex is None) == (self.json_path is None):
            raise ValueError("needs either regex or json, to find the number in the output")
        return self

    @property
    def spec(self) -> MetricSpec:
        """The metric."""
        return MetricSpec(self.name, self.unit, self.better, self.judged, self.worst)

    def read(self, stdout: str, stderr: str) -> Metric:
        """Return the value of the samples in the output; NotUnderstood when a number is missing or wrong."""
        text = stdout if self.stream == "stdout" else stderr
        samples = list(self._matches(text) if self.regex is not None else self._elements(text))
        if not samples:
            raise NotUnderstood(f"metric {self.name!r}: {self._source} has no number in {self.stream}")
        extreme = max if self.better == "lower" else min
        value = extreme(samples) if self.worst else fsum(samples) / len(samples)
        return Metric(self.spec, value, samples if len(samples) > 1 else None)

    @property
    def _source(self) -> str:
        return f"regex {self.regex!r}" if self.regex is not None else f"json {self.json_path!r}"

    def _matches(self, text: str) -> Iterator[float]:
        assert self.regex is not None
        for count, match in enumerate(re.finditer(self.regex, text, re.MULTILINE), start=1):
            self._limit(count)
            if match[1] is not None:
                yield self._number(match[1])

    def _elements(self, text: str) -> Iterator[float]:
        """Yield the numbers of each document of the output. A repeated command prints a document in each run."""
        assert self.json_path is not None
        count = 0
        for document in self._documents(text):
            for element in _at(document, self.json_path.split(".")):
                for value in element if isinstance(element, list) else [element]:
                    count += 1
                    self._limit(count)
                    if isinstance(value, bool) or not isinstance(value, int | float):
                        raise NotUnderstood(f"metric {self.name!r}: {self._source} is not a number: {value!r:.80}")
                    yield self._number(value)

    def _documents(self, text: str) -> Iterator[Any]:
        decoder, position = json.JSONDecoder(), 0
        while rest := len(text[position:].lstrip()):
            try:
                document, position = decoder.raw_decode(text, len(text) - rest)
            except (ValueError, RecursionError) as error:
                raise NotUnderstood(f"metric {self.name!r}: {self.stream} is not JSON: {error}") from error
            yield document

    def _number(self, text: object) -> float:
        try:
            number = float(str(text))
        except (ValueError, OverflowError):
            number = float("nan")
        if not isfinite(number):
            remedy = ": run the command with 'env LC_ALL=C'" if re.fullmatch(r"-?\d+,\d+", str(text)) else ""
            why = f"gives {str(text)[:80]!r}, which is not a number{remedy}"
            raise NotUnderstood(f"metric {self.name!r}: {self._source} {why}")
        return number

    def _limit(self, count: int) -> None:
        if count > MOST_SAMPLES:
            raise NotUnderstood(f"metric {self.name!r}: {self._source} has more than {MOST_SAMPLES:,} numbers")


def _at(document: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the values at a path."""
    if not path:
        yield document
        return
    key, *rest = path
    if key == "*" and isinstance(document, list | dict):
        for element in document.values() if isinstance(document, dict) else document:
            yield from _at(element, rest)
    elif isinstance(document, dict) and key in document:
        yield from _at(document[key], rest)
    elif isinstance(document, list) and key.isascii() and key.isdigit() and int(key) < len(document):
        yield from _at(document[int(key)], rest)


def read_all(figures: Sequence[Figure], stdout: str, stderr: str) -> list[Metric]:
    """Return the metrics; NotUnderstood if a metric is missing, or if reading takes more than :data:`SECONDS`."""
    with _limited(SECONDS):
        return [figure.read(stdout, stderr) for figure in figures]


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise NotUnderstood when the block takes longer, in CPU seconds of this process.

    Python's regular expressions check for signals while they match. Only the main thread receives signals; a run uses
    the main thread, because a run restores the machine on signals.
    """
    if threading.current_thread() is not threading.main_thread():
        raise NotUnderstood("figures of a command can be read in the main thread only")

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise NotUnderstood(f"reading the figures took more than {seconds:g} s: simplify the regular expressions")

    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)

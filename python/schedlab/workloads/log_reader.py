"""Readers of benchmark logs: the log, the samples that a reader returns, and helpers that the readers share.

A reader parses the output of one tool, independently of files, columns and blocks::

    Log ──Reader.read──▶ Reading (samples, printed tables, notes) ──importers.logs.series──▶ Import
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from schedlab.results.imported import NOT_STATED, ImportProblem, Origin, Table
from schedlab.results.metrics import Metric, MetricSpec, NotUnderstood

Parameters = Mapping[str, str | int | float]

WHOLE = r"\d{1,15}"
NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
"""Patterns of numbers in a tool's output. The limits keep every match within the exact range of a double."""

LARGEST = 256 << 20
"""Maximum number of bytes of a log, unpacked."""

CUT = "copy the file again, or run the benchmark again"


@dataclass(frozen=True)
class Lines:
    """The lines of a text, cut one at a time: a list of short lines takes many times the memory of the text."""

    text: str

    def __iter__(self) -> Iterator[str]:
        at, end = 0, len(self.text.removesuffix("\n"))
        while at <= end:
            stop = self.text.find("\n", at, end)
            stop = end if stop < 0 else stop
            yield self.text[at:stop]
            at = stop + 1

    def __len__(self) -> int:
        return self.text.count("\n") + (not self.text.endswith("\n"))


@dataclass(frozen=True)
class Log:
    """Output of a tool.

    Attributes:
        name: path of the log, for messages.
        text: the complete text, lines ended by ``\\n``.
        column: column of samples for which the log names no column.
        alone: no other log is imported with this log, so its variants may become columns.
        mixed: the text also contains output of other tools, which their readers read.
        numbers: number in the source of each line of ``text``; empty where the lines are numbered from 1.
        borders: indices of lines at which another text begins: a mail, a quotation, or text around a patch.
    """

    name: str
    text: str
    column: str = ""
    alone: bool = True
    mixed: bool = False
    numbers: Sequence[int] = ()
    borders: Collection[int] = ()

    @property
    def lines(self) -> Lines:
        """The lines without their ends. Only ``\\n`` ends a line, so that line numbers are the numbers of editors."""
        return Lines(self.text)

    def line_at(self, position: int) -> int:
        """Return the number of the line, from 1, that contains the character at ``position``."""
        return self.text.count("\n", 0, position) + 1

    @property
    def last_line(self) -> int:
        """Number of the last line that is not blank."""
        return self.line_at(len(self.text.rstrip()))

    def at(self, line: int) -> str:
        """Return the place of a line, for messages: ``before.log:12``."""
        return f"{self.name}:{self.numbers[min(line, len(self.numbers)) - 1] if self.numbers else line}"

    def problem(self, fault: str, line: int | None = None, todo: str = CUT) -> ImportProblem:
        """Return an error with a reason and a line of this log."""
        return ImportProblem(fault, where=self.at(line) if line else self.name, todo=todo)

    def cut_off(self, missing: str) -> NoReturn:
        """Raise the ImportProblem of a log that ends before ``missing``."""
        raise self.problem(f"ends without {missing}: the log is cut off, or the tool failed", len(self.lines))

    def find(self, pattern: re.Pattern[str], wanted: str) -> NDArray[np.float64]:
        """Return the number in group 1 of every match; ImportProblem names ``wanted`` where nothing matches."""
        numbers = floats(match[1] for match in pattern.finditer(self.text))
        if not len(numbers):
            raise self.problem(f"no {wanted}", self.last_line)
        return numbers

    def each_line(self, pattern: re.Pattern[str], wanted: str) -> NDArray[np.float64]:
        """Return the numbers in the groups of every line except blank lines, shape (lines, groups).

        ImportProblem for a line that ``pattern`` does not match.
        """
        self.require_each_line(pattern, wanted)
        numbers = floats(text for match in pattern.finditer(self.text) for text in match.groups())
        return numbers.reshape(-1, pattern.groups)

    def require_each_line(self, pattern: re.Pattern[str], wanted: str) -> None:
        """Raise ImportProblem for the first line that is neither blank nor a match of ``pattern``."""
        if sum(1 for _ in pattern.finditer(self.text)) != self.text.count("\n"):
            self.require_lines(pattern.match, wanted)

    def require_lines(self, is_known: Callable[[str], object], wanted: str) -> None:
        """Raise ImportProblem for the first line that is neither blank nor recognised."""
        for number, line in enumerate(self.lines, 1):
            if line.strip() and not is_known(line):
                raise self.problem(f"“{line.strip()[:60]}” is not {wanted}", number)


@dataclass(frozen=True)
class Samples:
    """Samples of one row in the order in which they were taken; several objects of one row are concatenated in order.

    Attributes:
        workload: name of the workload.
        metric: metric with unit and direction.
        parameters: values that distinguish the rows of one metric.
        values: shape (samples,), in the unit of the metric.
        column: name of the column; empty for the column of the log.
        block: repetition of the whole benchmark within the log, from 1.
    """

    workload: str
    metric: MetricSpec
    parameters: Parameters
    values: Sequence[float] | NDArray[np.float64]
    column: str = ""
    block: int = 1


@dataclass(frozen=True)
class Reading:
    """Content of a log.

    Attributes:
        samples: samples of metrics with a known direction.
        tables: printed summaries without samples.
        notes: omitted parts and reasons.
        undirected: samples of metrics of which only the user knows the better direction; theirs has no meaning.
        origin: see :mod:`schedlab.workloads.origins`.
    """

    samples: Sequence[Samples] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    undirected: Sequence[Samples] = ()
    origin: Origin = NOT_STATED


@dataclass(frozen=True)
class SideBySide:
    """Grammar of outputs of several runs side by side.

    Attributes:
        heading: line above the figures that names them; lines without a heading are not read.
        cell: beginning of a column in a line: group 1 is the output, and group ``label`` is the same in all columns.
        other: line between the figures without a figure of the format.
    """

    heading: re.Pattern[str]
    cell: re.Pattern[str]
    other: re.Pattern[str]


@dataclass(frozen=True)
class Unread:
    """Output of a tool that no reader reads: its pattern and name, and what to import instead."""

    pattern: re.Pattern[str]
    name: str
    todo: str


@dataclass(frozen=True)
class Reader:
    """Reader of one output format.

    Attributes:
        name: the value of ``--as``.
        reads: description of the format in one line, for users.
        recognises: whether a text that begins like this (64 KiB) has the format; strict and cheap.
        read: return the content of a log; ImportProblem with the unreadable line.
        in_mails: whether the format occurs inside other text, such as mails or the output of a script. False: the
            format always fills the complete file.
        within: whether a text contains this format together with other text; None where ``recognises`` also decides
            this question.
        line: whether a line, without blanks at its ends, is output of the tool. The lines between such lines are
            headings. None where a line alone does not show the tool.
        begins: beginning of a run: a pattern that matches the first line of a run, without blanks at its ends.
        command: the tool's command line, whose options hold for the output below.
        side_by_side: grammar of outputs side by side in one text; None where the format has no such columns.
        further: end of the names of further files of a run, which belong to the file without this end.
        unread: output of the tool in other formats.
    """

    name: str
    reads: str
    recognises: Callable[[str], bool]
    read: Callable[[Log], Reading]
    in_mails: bool = True
    within: Callable[[str], bool] | None = None
    line: Callable[[str], bool] | None = None
    begins: re.Pattern[str] | None = None
    command: re.Pattern[str] | None = None
    side_by_side: SideBySide | None = None
    further: re.Pattern[str] | None = None
    unread: tuple[Unread, ...] = ()

    def is_in(self, text: str) -> bool:
        """Return whether a complete text contains this format, alone or together with other text."""
        return (self.within or self.recognises)(text)


def parsed(reader: Reader, text: str, specs: Iterable[MetricSpec], *, complete: bool = False) -> list[Metric]:
    """Return the metrics in the output of one trial, as an import of the output would read them.

    Raises NotUnderstood if the reader refuses the output, or if a judged metric (``complete``: any metric) is missing.
    """
    try:
        samples = reader.read(Log("output", text)).samples
    except ImportProblem as problem:
        raise NotUnderstood(f"{reader.name}: {problem.what}") from problem
    values = {(part.metric.name, part.metric.unit): float(part.values[-1]) for part in samples}
    metrics = []
    for spec in specs:
        value = values.get((spec.name, spec.unit))
        if value is not None:
            metrics.append(Metric(spec, value))
        elif spec.judged or complete:
            raise NotUnderstood(f"{reader.name}: the output has no {spec.name}")
    return metrics


def lines_of(*patterns: str) -> Callable[[str], bool]:
    """Return whether a line, without blanks at its ends, is one of these patterns (``Reader.line``)."""
    pattern = re.compile("|".join(patterns))
    return lambda line: bool(pattern.fullmatch(line))


def single_run(workload: str, parameters: Parameters, values: Iterable[tuple[MetricSpec, float]]) -> Iterator[Samples]:
    """Yield one sample for each value of a single run."""
    for metric, value in values:
        yield Samples(workload, metric, parameters, (value,))


def named(specs: Iterable[MetricSpec], values: Mapping[str, float]) -> Iterator[tuple[MetricSpec, float]]:
    """Yield each value with its metric; a name without a metric is a cost in microseconds."""
    by_name = {spec.name: spec for spec in specs}
    for name, value in values.items():
        yield by_name.get(name) or MetricSpec(name, "us", "lower"), value


def sections(text: str, heading: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match of ``heading`` with the text between it and the next match."""
    heads = list(heading.finditer(text))
    for head, following in zip_longest(heads, heads[1:]):
        yield head, text[head.end() : following.start() if following else len(text)]


def floats(texts: Iterable[str | float]) -> NDArray[np.float64]:
    """Return numbers, or their text in a log, as an array of shape (samples,)."""
    return np.fromiter(map(float, texts), np.float64)


_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key that orders numbers within names by value: ``run-9`` before ``run-10``."""
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in _DIGITS.split(name) if part]

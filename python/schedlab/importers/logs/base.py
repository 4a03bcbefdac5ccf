"""What a reader of tool logs is: it knows one tool's output, and nothing of files, columns and blocks.

Log ──Reader.read──▶ Reading (samples of metrics, printed summaries, notes) ──series.py──▶ Import
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from schedlab.results import ImportProblem, Table, showable
from schedlab.workloads.base import MetricSpec

Parameters = Mapping[str, str | int | float]

WHOLE = r"\d{1,15}"
NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
"""Numbers in a tool's lines, for regular expressions: as long as a double is exact, so that none is too long."""

CUT = "copy it again, or run the benchmark again"


@dataclass(frozen=True)
class Log:
    """A tool's output.

    Attributes:
        name: how messages call it: its path.
        text: all of it, lines ended by ``\\n``.
        column: the column that its samples go to where it does not name columns itself.
        alone: nothing else is imported with it, so that variants it holds may become columns of their own.
        mixed: other tools' output stands in it too, and is read by their readers.
    """

    name: str
    text: str
    column: str
    alone: bool = True
    mixed: bool = False

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends; only ``\\n`` ends one, so that numbers of lines are an editor's."""
        return self.text.removesuffix("\n").split("\n")

    def problem(self, what: str, line: int | None = None, todo: str = CUT) -> ImportProblem:
        """What is wrong, and in which line (from 1)."""
        return ImportProblem(showable(what), where=f"{self.name}:{line}" if line else self.name, todo=todo)

    def cut_off(self, lacking: str) -> NoReturn:
        """Raise the ImportProblem of a log that ends before ``lacking``."""
        raise self.problem(f"ends without {lacking}: it is cut off, or the tool failed", len(self.lines), CUT)

    def line_at(self, position: int) -> int:
        """The number of the line, from 1, that holds the character at ``position`` of the text."""
        return self.text.count("\n", 0, position) + 1


@dataclass(frozen=True)
class Samples:
    """Samples of one row, in the order in which they were taken; several of one row are joined in their order.

    ``column`` is empty for the log's own; ``values`` have shape (samples,), in the metric's unit. ``block`` tells,
    from 1, which repetition of the whole within the log they belong to.
    """

    workload: str
    metric: MetricSpec
    parameters: Parameters
    values: Sequence[float] | NDArray[np.float64]
    column: str = ""
    block: int = 1


@dataclass(frozen=True)
class Reading:
    """What a log held. ``tables`` are printed summaries without samples; ``notes`` say what was left out and why."""

    samples: Sequence[Samples] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Reader:
    """One tool's output.

    Attributes:
        name: what ``--as`` takes.
        reads: one line for people: what it reads.
        recognises: whether a text that begins like this (64 KiB) is this tool's output; it is strict, and cheap.
        read: all that a log holds; ImportProblem with the line of what is not understood.
        in_mails: people paste it into mails, below headings of their own, and scripts write it beside other tools'.
        within: whether a text holds this tool's output beside other things; None where ``recognises`` tells that too.
    """

    name: str
    reads: str
    recognises: Callable[[str], bool]
    read: Callable[[Log], Reading]
    in_mails: bool = True
    within: Callable[[str], bool] | None = None

    def is_in(self, text: str) -> bool:
        """Whether a whole text holds this tool's output, alone or not."""
        return (self.within or self.recognises)(text)


def one_by_one(
    workload: str, parameters: Parameters, figures: Iterable[tuple[MetricSpec, float]], column: str = ""
) -> Iterator[Samples]:
    """One sample for each figure of a single run."""
    for metric, value in figures:
        yield Samples(workload, metric, parameters, (value,), column)


def parts(text: str, heading: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Each heading, and what stands below it up to the next one; nothing where there is no heading."""
    heads = list(heading.finditer(text))
    for head, following in zip_longest(heads, heads[1:]):
        yield head, text[head.end() : following.start() if following else len(text)]

"""Output of a tool, several runs side by side in one text: samples, with a column for each run.

    Latency percentiles (usec)
    first                     |  second                  | third
    50.0th: 56 (50 samples)   |    50.0th: 49 (51 samples)  | 50.0th: 53 (52 samples)
    *99.0th: 120 (9 samples)  |   *99.0th: 100 (9 samples)  | *99.0th: 108 (8 samples)

Each output has its own label in the line, so the columns are runs. The tool's reader reads each column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from schedlab.importers.checks import unique
from schedlab.importers.logs.series import ReadLog
from schedlab.importers.printed.lines import Line
from schedlab.workloads import log_reader
from schedlab.workloads.log_reader import Reading

_LONGEST_LINE = 1000
_FARTHEST_HEADING = 14


class Reader:
    """Reader of the outputs in a text in their order; outputs without names have the names of the outputs before."""

    def __init__(self, tool: log_reader.Reader, lines: Sequence[Line], source: str) -> None:
        assert tool.side_by_side is not None
        self._tool, self._grammar, self._lines, self._source = tool, tool.side_by_side, lines, source
        self._names: tuple[str, ...] = ()
        self._times: Counter[tuple[str, str]] = Counter()
        """Number of outputs by the name of the column and the metric."""
        self._logs: list[ReadLog] = []

    def read(self, at: int, floor: int) -> int | None:
        """Read the outputs whose first line is ``lines[at]``, and return their end; None if no outputs begin there."""
        first = self._cells(at)
        heading = self._heading(at, floor) if first else None
        if heading is None:
            return None
        rows, end = [(self._lines[at].number, first)], at + 1
        while end < len(self._lines):
            cells = self._cells(end)
            if len(cells) == len(first):
                rows.append((self._lines[end].number, cells))
            elif len(text := self._lines[end].text) > _LONGEST_LINE or not self._grammar.other.match(text):
                break
            end += 1
        self._names = self._columns(at, floor, len(first))
        numbers = [heading.number, *(number for number, _ in rows)]
        title = self._grammar.heading.search(heading.text)
        assert title is not None
        texts = ["\n\t".join([title[0], *(cells[k] for _, cells in rows)]) for k in range(len(first))]
        readings = [self._tool.read(log_reader.Log(self._source, f"{text}\n", numbers=numbers)) for text in texts]
        self._add(dict(zip(self._names, readings, strict=True)))
        return end

    def _add(self, readings: Mapping[str, Reading]) -> None:
        """Add the outputs by column; outputs of another run below the same names are never put into one column."""
        metrics = {samples.metric.name for reading in readings.values() for samples in reading.samples}
        count = max(self._times[name, metric] for name in readings for metric in metrics)
        for name, reading in readings.items():
            self._times.update((name, metric) for metric in metrics)
            column = f"{name} ({count + 1})" if count else name
            self._logs.append(ReadLog(self._tool.name, self._source, column, reading))

    def logs(self) -> list[ReadLog]:
        """Return the output of each column."""
        return self._logs

    def _cells(self, at: int) -> list[str]:
        """Return the output of each column, if the line has at least two columns and all have the same label."""
        text = self._lines[at].text
        matches, place = list[re.Match[str]](), 0
        while len(text) <= _LONGEST_LINE and place < len(text) and (match := self._grammar.cell.match(text, place)):
            matches.append(match)
            place = match.end()
        if text[place:].strip() or len(matches) < 2 or len({match["label"] for match in matches}) > 1:
            return []
        return [match[1] for match in matches]

    def _heading(self, at: int, floor: int) -> Line | None:
        above = (self._lines[place] for place in range(at - 1, max(floor, at - _FARTHEST_HEADING) - 1, -1))
        return next((line for line in above if self._grammar.heading.search(line.text[:_LONGEST_LINE])), None)

    def _columns(self, at: int, floor: int, count: int) -> tuple[str, ...]:
        """Return the names of the runs; the names of the outputs before, or numbered names, if no line above contains
        names."""
        for place in range(at - 1, max(floor, at - 3) - 1, -1):
            text = self._lines[place].text.strip()
            names = [name.strip() for name in (text.split("|") if "|" in text else re.split(r"\s{2,}", text))]
            if len(names) == count and all(names):
                if len(set(names)) > 1:
                    return unique(names)
            elif text and not self._grammar.heading.search(text[:_LONGEST_LINE]):
                break
        return self._names if len(self._names) == count else unique(["column"] * count)

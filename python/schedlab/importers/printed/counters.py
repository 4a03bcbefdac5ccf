"""Counters of ``perf stat`` below headings in a text: a column for each block of counters.

Neighbouring blocks of one command with an event in common are the columns of one table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from schedlab.importers.checks import unique
from schedlab.importers.logs.between import only_counts
from schedlab.importers.printed.lines import Line, is_rule, malformed
from schedlab.results.imported import Table
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.perf_stat import output, people
from schedlab.workloads.perf_stat.output import Count
from schedlab.workloads.perf_stat.people import LONGEST_LINE, Command

_DIFF_MARK = re.compile(r"\s*(?P<mark>[-+])\s(?=\s*[\d<])")
"""Before a counter of two runs that are written as a diff: ``-  71,938,508,607  cycles``."""
_NOT_A_HEADING = re.compile(r"[`>^]|.*(?:\d\s+\d|\(\+-)")
"""Remarks about a figure, and output of other tools."""
_SIDE = re.compile(
    r"\b(?:before|after|base(?:line)?|(?:un)?patched|vanilla|stock|mainline|upstream|orig(?:inal)?|old|new|with(?:out)?)\b",
    re.IGNORECASE,
)
"""Words for one of several kernels or settings."""
_FARTHEST_HEADING = 12
_LONGEST_HEADING = 90
_LONGEST_TITLE = 200


@dataclass(frozen=True)
class _Block:
    """The counters under one ``heading``; ``title`` is the heading above a block with a separate heading line.

    perf ``names`` the command of a block below the command's output. The last line of this output may look like a
    heading.
    """

    heading: str
    command: Command
    counts: tuple[Count, ...]
    line: int
    title: str = ""
    names: bool = False


@dataclass
class Reader:
    """Collector of the blocks of a text; :meth:`tables` returns them side by side."""

    lines: Sequence[Line]
    source: str
    output: Collection[int] = ()
    """Indices of lines that tools printed, which are not headings."""
    blocks: list[_Block] = field(default_factory=list)
    end: int = 0
    """End of the last block."""

    def read(self, at: int, floor: int) -> int | None:
        """Read the block that begins at ``lines[at]`` and return its end; None if no block begins at the line."""
        text = self.lines[at].text
        title = people.title_of(text)
        if title is None and (len(text) > LONGEST_LINE or not people.begins(text)):
            return None
        if title and (end := self._diff(at, floor, title)):
            return end
        end, heading, lines = self._events(at + 1 if title else at, title is not None)
        if lines:
            self._add(at, floor, title, heading, lines)
            self.end = end
            return end
        if title and not any(self.lines[place].text for place in range(at + 1, len(self.lines))):
            raise malformed(self.source, self.lines[at], "the text ends before its counters")
        return max(end, at + 1)

    def tables(self) -> list[Table]:
        """Return a table for each command, with its blocks as columns."""
        groups: list[list[_Block]] = []
        for block in self.blocks:
            if groups and _is_column_of(groups[-1], block):
                groups[-1].append(block)
            else:
                groups.append([block])
        return [_table(group) for group in groups]

    def _diff(self, at: int, floor: int, title: Command) -> int:
        """Read two runs in the form of a diff into two blocks. Return their end; 0 if there are no such runs."""
        sides: dict[str, list[Line]] = {"-": [], "+": []}
        end, place = at, at + 1
        while place < len(self.lines):
            line = self.lines[place]
            match = _DIFF_MARK.match(line.text)
            if match is None and line.text:
                break
            if match is not None:
                plain = replace(line, text=line.text[match.end() :])
                if not self._is_event(plain):
                    break
                sides[match["mark"]].append(plain)
                end = place + 1
            place += 1
        if not all(sides.values()):
            return 0
        for mark, lines in sides.items():
            self._add(at, floor, title, mark, lines)
        return end

    def _events(self, at: int, titled: bool) -> tuple[int, str, list[Line]]:
        """Return the end of a block, the heading within its first line, and the lines of its events."""
        lines: list[Line] = []
        while at < len(self.lines):
            line = self.lines[at]
            if not line.text or is_rule(line.text):
                if not (titled and not lines) and not self._continues(at + 1):
                    break
                at += 1
                continue
            inline = people.heading_within(line.text)
            if (inline and lines) or not self._is_event(line):
                break
            lines.append(line)
            at += 1
            if inline:
                return at, inline, lines
        return at, "", lines

    def _is_event(self, line: Line) -> bool:
        if len(line.text) > LONGEST_LINE:
            return False
        is_event = people.is_event(line.text)
        if is_event is None:
            why = "the figure or the event of the line cannot be read as output of perf stat"
            raise malformed(self.source, line, why)
        return is_event

    def _continues(self, at: int) -> bool:
        """Whether the block continues after a blank line: perf prints one or two blank lines before the
        elapsed times."""
        following = next((line.text for line in self.lines[at : at + 2] if line.text), "")
        return people.heading_within(following) == "" or people.is_of_table(following)

    def _add(self, at: int, floor: int, title: Command | None, heading: str, lines: Sequence[Line]) -> None:
        above, command = self._above(at, floor, titled=title is not None)
        if title:
            command = replace(title, runs=title.runs or command.runs)
        elif not command.text and self.blocks:
            command = self.blocks[-1].command
        if counts := people.counts_for_people([(line.number, line.text) for line in lines], command.runs, self.source):
            number = self.lines[at].number
            if not heading and not above and self._repeats(at, command):
                last = self.blocks[-1]
                self.blocks[-1] = replace(last, counts=(*last.counts, *counts))
                return
            block = _Block(heading or above, command, tuple(counts), number, above if heading else "")
            self.blocks.append(replace(block, names=title is not None and not heading))

    def _repeats(self, at: int, command: Command) -> bool:
        """Return whether the block repeats the last block: only counters of runs, times and commands are between."""
        between = (line.text.strip() for line in self.lines[self.end : at])
        return (
            bool(self.blocks)
            and command.text == self.blocks[-1].command.text
            and all(not text or is_rule(text) or only_counts(text) or self._is_last_command(text) for text in between)
        )

    def _is_last_command(self, text: str) -> bool:
        command = people.command_of(text)
        return command is not None and command.run == self.blocks[-1].command.run

    def _above(self, at: int, floor: int, *, titled: bool) -> tuple[str, Command]:
        """Return the heading and the command above a block."""
        heading = ""
        for place in range(at - 1, max(floor, at - _FARTHEST_HEADING) - 1, -1):
            text = self.lines[place].text.strip()
            if not text or is_rule(text) or only_counts(text) or place in self.output:
                continue
            if len(text) > LONGEST_LINE:
                break
            # Without the program, "# patched" is a heading.
            if (command := people.command_of(text)) and (text[0] != "#" or "perf " in text):
                return heading, command
            if len(text) > _LONGEST_HEADING:
                break
            if not _NOT_A_HEADING.match(text) and (not titled or _is_marked(text)):
                heading = heading or text.strip("#*|= ").rstrip(":").strip()
        return heading, Command()


def _is_marked(text: str) -> bool:
    """Return whether a line is a heading rather than a line of a program's output."""
    return text.endswith(":") or text[0] in "#*=" or " " not in text or _SIDE.search(text) is not None


def _names(group: Sequence[_Block]) -> list[str]:
    """Return the names of columns: headings, or the command where a heading may be output of the command.

    Headings of one command are headings if they differ, and the heading of a single block if it names a side.
    """
    headings = [block.heading for block in group]
    differ = len(set(headings)) == len(group) > 1 or (len(group) == 1 and _SIDE.search(headings[0]))
    return [
        ("" if block.names and not differ else block.heading) or block.command.text or f"line {block.line}"
        for block in group
    ]


def _is_column_of(group: Sequence[_Block], block: _Block) -> bool:
    headings = {before.heading for before in group}
    if len(headings) > 1 and block.heading == group[0].heading:
        # A repetition of the first heading begins the next comparison.
        return False
    metrics = {count.metric for count in group[0].counts}
    return block.command.text == group[-1].command.text and any(count.metric in metrics for count in block.counts)


def _table(group: Sequence[_Block]) -> Table:
    rows: dict[tuple[MetricSpec, int], dict[int, Count]] = {}
    for k, block in enumerate(group):
        times: Counter[MetricSpec] = Counter()
        for count in block.counts:
            times[count.metric] += 1
            rows.setdefault((count.metric, times[count.metric]), {})[k] = count
    # An event that is twice under one heading was measured twice.
    repeated = {metric for metric, time in rows if time > 1}
    first = group[0]
    run = {"run": first.command.run} if first.command.run else {}
    return Table(
        output.LAYOUT,
        (first.command.text or first.title)[:_LONGEST_TITLE],
        output.WORKLOAD,
        unique([name[:_LONGEST_HEADING] for name in _names(group)]),
        tuple(
            output.row_of(
                [by_block.get(k) for k in range(len(group))],
                {**run, "repetition": time} if metric in repeated else run,
            )
            for (metric, time), by_block in rows.items()
        ),
        first.line,
    )

"""Output of ``perf stat`` for people: blocks of counters, each under a heading.

    Performance counter stats for 'perf bench sched pipe' (10 runs):

        16,839.74 msec task-clock:u        #    1.158 CPUs utilized     ( +-  0.52% )
       45.291088843 seconds time elapsed                                ( +-  0.40% )

``+-`` is the standard error of the mean in per cent: ``print_noise`` prints ``rel_stddev_stats`` of ``stddev_stats``,
which divides the variance by n (linux, tools/perf/util/stat.c).

Neighbouring blocks of one command with an event in common are the columns of one table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from schedlab.importers.checks import unique
from schedlab.importers.printed.benchmarks import benchmark
from schedlab.importers.printed.lines import Line, is_rule, malformed
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.results.metrics import Direction

_TITLE = re.compile(r"\s*Performance counter stats for (?P<command>.+?)(?: \((?P<runs>\d+) runs\))?:?\s*\Z")
_NUMBER = r"(?:\d{1,3}(?:[., ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
_SPREAD = r"(?:\(\s*\+-\s*(?P<spread>\d+(?:[.,]\d+)?)\s*%\s*\))"
_SHARE = r"(?:[\[(]\s*[\d.,]+\s*%\s*[\])])?"
"""The time that a multiplexed counter was enabled."""
_ELAPSED = re.compile(
    rf"(?P<heading>.*?)(?<![\d.,\w])(?P<value>{_NUMBER})\s*(?:\+-\s*[\d.,]+\s*)?\s*seconds?\s+"
    rf"(?P<kind>time elapsed|user|sys)\b\s*{_SPREAD}?"
)
_COUNTER = re.compile(
    rf"\s*(?P<value>{_NUMBER}|<not (?:supported|counted)>)\s+(?:(?P<unit>msec|nsec|Joules|MiB|Bytes|ns|%)\s+)?"
    rf"(?P<event>[A-Za-z_][\w./:=,@-]*(?: \(msec\))?)\s*(?:\s#.*?|\s->.*?)?\s*{_SPREAD}?\s*{_SHARE}\s*\Z"
)
_DAMAGED = re.compile(r"\s*[\d<].*(?:seconds? time elapsed|\(\s*\+-\s*[\d.,]+\s*%\s*\)|\s#\s+[\d.,]+\s)")
_DAMAGED_ELAPSED = re.compile(r"\s*\S*\d\S*\s+seconds? time elapsed")
_SECOND_COMMENT = re.compile(rf"\s*#.*?{_SPREAD}?\s*{_SHARE}\s*\Z")
_COMMON_EVENT = re.compile(
    r"\s(?:(?:task|cpu)-clock|cycles|instructions|branch(?:es|-misses)|(?:page|major|minor)-faults|context-switches|"
    r"cpu-migrations|cache-(?:misses|references)|(?:L1-[di]cache|LLC|[di]TLB|node)-(?:load|store)[\w-]*|"
    r"stalled-cycles-\w+)(?::\w+)?\s"
)
_COMMAND = re.compile(r"perf stat|perf bench|^\s*[$#]\s")
_REPEAT = re.compile(r"(?:--repeat[= ]?|-r ?)(\d+)")
_DECIMAL_COMMA = re.compile(r"\d,\d+\s*%|\d\.\d{3}[.,]\d")
_UNITS = {"msec": "ms", "nsec": "ns", "Joules": "J"}
_CLOCKS = frozenset({"task-clock", "cpu-clock"})
"""Events that perf prints in milliseconds; old versions leave the unit out."""
_DIFF_MARK = re.compile(r"\s*(?P<mark>[-+])\s(?=\s*[\d<])")
"""Before a counter of two runs that are written as a diff: ``-  71,938,508,607  cycles``."""
_NOT_A_HEADING = re.compile(r"[`>^]|.*(?:\d\s+\d|\(\+-)")
"""Remarks about a figure, and output of other tools."""
_FARTHEST_HEADING = 12
_LONGEST_HEADING = 90
_LONGEST_TITLE = 200
_LONGEST_LINE = 1000
_LOWER: dict[str, Direction] = dict.fromkeys(
    (
        "elapsed", "user", "sys", "task-clock", "cpu-clock", "context-switches", "cpu-migrations", "page-faults",
        "cycles", "instructions", "branches", "branch-misses", "cache-references", "cache-misses",
    ),
    "lower",
)  # fmt: skip
"""Events for which less is better for the same work, as in the adapter of ``perf stat``."""


@dataclass(frozen=True)
class _Event:
    name: str
    unit: str
    cell: Cell
    line: int


@dataclass(frozen=True)
class _Block:
    """The counters under one ``heading``; ``title`` is the heading above a block with a separate heading line."""

    heading: str
    command: str
    runs: int | None
    events: tuple[_Event, ...]
    line: int
    title: str = ""


@dataclass
class Reader:
    """Collector of the blocks of a text; :meth:`tables` returns them side by side."""

    lines: Sequence[Line]
    source: str
    blocks: list[_Block] = field(default_factory=list)

    def read(self, at: int, floor: int) -> int | None:
        """Read the block that begins at ``lines[at]`` and return its end; None if no block begins at the line."""
        text = self.lines[at].text
        if len(text) > _LONGEST_LINE:
            return None
        titled = _TITLE.match(text) if "Performance counter stats" in text else None
        if titled is None and not _begins(text):
            return None
        if titled and (end := self._diff(at, floor, titled)):
            return end
        end, heading, lines = self._events(at + 1 if titled else at, titled is not None)
        if lines:
            self._add(at, floor, titled, heading, lines)
            return end
        if titled and not any(self.lines[place].text for place in range(at + 1, len(self.lines))):
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

    def _diff(self, at: int, floor: int, titled: re.Match[str]) -> int:
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
            self._add(at, floor, titled, mark, lines)
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
            inline = _heading_within(line.text)
            if (inline and lines) or not self._is_event(line):
                break
            lines.append(line)
            at += 1
            if inline:
                return at, inline, lines
        return at, "", lines

    def _is_event(self, line: Line) -> bool:
        if len(line.text) > _LONGEST_LINE:
            return False
        if _ELAPSED.search(line.text) or _COUNTER.match(line.text) or line.text.lstrip().startswith("#"):
            return True
        if _DAMAGED.match(line.text):
            raise malformed(
                self.source, line, ("the figure or the event of the line cannot be read as output of perf stat")
            )
        return False

    def _continues(self, at: int) -> bool:
        """Whether the block continues after a blank line: perf prints one or two blank lines before the
        elapsed times."""
        following = next((line.text for line in self.lines[at : at + 2] if line.text), "")
        match = _ELAPSED.match(following) if len(following) <= _LONGEST_LINE else None
        return bool(match and not match["heading"].strip())

    def _add(self, at: int, floor: int, titled: re.Match[str] | None, heading: str, lines: Sequence[Line]) -> None:
        above, command = self._above(at, floor)
        repeat = _REPEAT.search(command)
        runs = int(titled["runs"]) if titled and titled["runs"] else int(repeat[1]) if repeat else None
        if titled:
            command = titled["command"].strip("' ")
        elif not command and self.blocks:
            command, runs = self.blocks[-1].command, runs or self.blocks[-1].runs
        decimal_comma = any(_DECIMAL_COMMA.search(line.text) for line in lines)
        if events := _read_events(lines, runs, decimal_comma):
            title = above if heading else ""
            number = self.lines[at].number
            self.blocks.append(_Block(heading or above, command, runs, tuple(events), number, title))

    def _above(self, at: int, floor: int) -> tuple[str, str]:
        """Return the heading and the command above a block."""
        heading = ""
        for place in range(at - 1, max(floor, at - _FARTHEST_HEADING) - 1, -1):
            text = self.lines[place].text.strip()
            if not text or is_rule(text):
                continue
            if len(text) > _LONGEST_LINE:
                break
            if _COMMAND.search(text):
                return heading, text.lstrip("#$ ").strip("[] ")
            if len(text) > _LONGEST_HEADING:
                break
            if not _NOT_A_HEADING.match(text):
                heading = heading or text.strip("#*|= ").rstrip(":").strip()
        return heading, ""


def _begins(text: str) -> bool:
    if "time elapsed" in text:
        return _ELAPSED.search(text) is not None or _DAMAGED_ELAPSED.match(text) is not None
    if "%" not in text:
        return False
    return (_COMMON_EVENT.search(text) is not None or "+-" in text) and _COUNTER.match(text) is not None


def _heading_within(text: str) -> str:
    """Return the text before the figure in a line such as ``+NUMA:   0.248 seconds time elapsed``."""
    match = _ELAPSED.search(text) if len(text) <= _LONGEST_LINE else None
    return match["heading"].strip().rstrip(":").strip() if match else ""


def _read_events(lines: Sequence[Line], runs: int | None, decimal_comma: bool) -> list[_Event]:
    events: list[_Event] = []
    for line in lines:
        if match := _ELAPSED.search(line.text):
            name, unit = match["kind"].removeprefix("time "), "s"
        elif match := _COUNTER.match(line.text):
            name = match["event"]
            default = "ms" if name.partition(":")[0] in _CLOCKS else "events"
            unit = _UNITS.get(match["unit"] or "", match["unit"] or default)
            if name.endswith(" (msec)"):
                name, unit = name.removesuffix(" (msec)"), "ms"
        else:
            # A second comment on the counter above; perf prints the spread after the last comment.
            second = _SECOND_COMMENT.match(line.text)
            if events and second and second["spread"]:
                error = _number(second["spread"], decimal_comma)
                cell = replace(events[-1].cell, spread_percent=error, spread_kind="standard error")
                events[-1] = replace(events[-1], cell=cell)
            continue
        value = None if match["value"].startswith("<") else _number(match["value"], decimal_comma)
        spread = _number(match["spread"], decimal_comma) if match["spread"] else None
        cell = Cell(value, match["value"], n=runs)
        if spread is not None:
            cell = replace(cell, spread_percent=spread, spread_kind="standard error")
        events.append(_Event(name, unit, cell, line.number))
    return events


def _number(text: str, decimal_comma: bool) -> float:
    """Read a figure in the locale of its block: ``1,234.5`` or ``1.234,5``."""
    plain = text.replace(" ", "")
    return float(plain.replace(".", "").replace(",", ".") if decimal_comma else plain.replace(",", ""))


def _is_column_of(group: Sequence[_Block], block: _Block) -> bool:
    headings = {before.heading for before in group}
    if len(headings) > 1 and block.heading == group[0].heading:
        # A repetition of the first heading begins the next comparison.
        return False
    names = {event.name for event in group[0].events}
    return block.command == group[-1].command and any(event.name in names for event in block.events)


def _table(group: Sequence[_Block]) -> Table:
    events: dict[tuple[str, int], dict[int, _Event]] = {}
    for k, block in enumerate(group):
        times: Counter[str] = Counter()
        for event in block.events:
            times[event.name] += 1
            events.setdefault((event.name, times[event.name]), {})[k] = event
    # An event that is twice under one heading was measured twice.
    repeated = {name for name, time in events if time > 1}
    rows = tuple(
        _row({"run": time} if name in repeated else {}, [by_block.get(k) for k in range(len(group))])
        for (name, time), by_block in events.items()
    )
    command, title = group[0].command, group[0].title
    bench = benchmark(command) or benchmark(title)
    names = [block.heading or block.command or f"line {block.line}" for block in group]
    columns = unique([name[:_LONGEST_HEADING] for name in names])
    return Table(
        "perf-stat", (title or command)[:_LONGEST_TITLE], bench.name if bench else "", columns, rows, group[0].line
    )


def _row(parameters: dict[str, str | int | float], events: Sequence[_Event | None]) -> TableRow:
    first = next(event for event in events if event is not None)
    cells = tuple(Cell(None) if event is None else event.cell for event in events)
    direction = _LOWER.get(first.name.partition(":")[0])
    return TableRow(first.name, "", parameters, first.unit, direction, cells, first.line)

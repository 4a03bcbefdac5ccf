"""``perf stat`` as it prints for people: blocks of counters, each under a heading.

    Performance counter stats for 'perf bench sched pipe' (10 runs):

        16,839.74 msec task-clock:u        #    1.158 CPUs utilized     ( +-  0.52% )
       45.291088843 seconds time elapsed                                ( +-  0.40% )

``+-`` is the standard error of the mean in per cent: perf's ``print_noise`` prints ``rel_stddev_stats`` of
``stddev_stats``, which divides the variance by n (linux, tools/perf/util/stat.c).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from schedlab.importers.printed.found import malformed
from schedlab.importers.printed.page import Line
from schedlab.importers.printed.perf_table import Block, Event, tables_of
from schedlab.importers.printed.rows import is_separator
from schedlab.results import Cell, Spread, Table

_TITLE = re.compile(r"\s*Performance counter stats for (?P<command>.+?)(?: \((?P<runs>\d+) runs\))?:?\s*\Z")
_NUMBER = r"(?:\d{1,3}(?:[., ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
_SPREAD = r"(?:\(\s*\+-\s*(?P<spread>\d+(?:[.,]\d+)?)\s*%\s*\))"
_ELAPSED = re.compile(
    rf"(?P<heading>.*?)(?<![\d.,\w])(?P<value>{_NUMBER})\s*(?:\+-\s*[\d.,]+\s*)?\s*seconds?\s+"
    rf"(?P<what>time elapsed|user|sys)\b\s*{_SPREAD}?"
)
_COUNTER = re.compile(
    rf"\s*(?P<value>{_NUMBER}|<not (?:supported|counted)>)\s+(?:(?P<unit>msec|nsec|Joules|MiB|Bytes|ns|%)\s+)?"
    rf"(?P<event>[A-Za-z_][\w./:=,@-]*(?: \(msec\))?)\s*(?:\s#.*?|\s->.*?)?\s*{_SPREAD}?\s*"
    r"(?:[\[(]\s*[\d.,]+\s*%\s*[\])])?\s*\Z"
)
_LIKE_AN_EVENT = re.compile(r"\s*[\d<].*(?:seconds? time elapsed|\(\s*\+-\s*[\d.,]+\s*%\s*\)|\s#\s+[\d.,]+\s)")
_SECOND_COMMENT = re.compile(rf"\s*#.*?{_SPREAD}?\s*(?:[\[(]\s*[\d.,]+\s*%\s*[\])])?\s*\Z")
_KNOWN_EVENT = re.compile(
    r"\s(?:(?:task|cpu)-clock|cycles|instructions|branch(?:es|-misses)|(?:page|major|minor)-faults|context-switches|"
    r"cpu-migrations|cache-(?:misses|references)|(?:L1-[di]cache|LLC|[di]TLB|node)-(?:load|store)[\w-]*|"
    r"stalled-cycles-\w+)(?::\w+)?\s"
)
_BROKEN_ELAPSED = re.compile(r"\s*\S*\d\S*\s+seconds? time elapsed")
_COMMAND = re.compile(r"perf stat|perf bench|^\s*[$#]\s")
_REPEAT = re.compile(r"(?:--repeat[= ]?|-r ?)(\d+)")
_COMMA = re.compile(r"\d,\d+\s*%|\d\.\d{3}[.,]\d")
_UNITS = {"msec": "ms", "nsec": "ns", "Joules": "J"}
_SIDE = re.compile(r"\s*(?P<side>[-+])\s(?=\s*[\d<])")
"""Before a counter of two runs that are written as a diff: ``-  71,938,508,607  cycles``."""
_NO_NAME = re.compile(r"[`>^]|.*(?:\d\s+\d|\(\+-)")
"""What heads no column: what points at something, other tools' output."""
_FAR = 12
_LONGEST_HEADING = 90


@dataclass
class Reader:
    """Gathers the blocks of a page; :meth:`tables` puts them side by side in the end."""

    page: Sequence[Line]
    source: str
    blocks: list[Block] = field(default_factory=list)

    def read(self, at: int, floor: int) -> int | None:
        """Read the block that begins at ``page[at]``; where it ends, or None when none begins there."""
        text = self.page[at].text
        titled = _TITLE.match(text) if "Performance counter stats" in text else None
        if titled is None and not _begins(text):
            return None
        if titled and (end := self._sides(at, floor, titled)):
            return end
        end, heading, lines = self._lines(at + 1 if titled else at, titled is not None)
        if lines:
            self._add(at, floor, titled, heading, lines)
            return end
        if titled and not any(line.text for line in self.page[at + 1 :]):
            raise malformed(self.source, self.page[at], "the text ends before its counters")
        return max(end, at + 1)

    def tables(self) -> list[Table]:
        """One table for each command, its blocks as columns."""
        return tables_of(self.blocks)

    def _sides(self, at: int, floor: int, titled: re.Match[str]) -> int:
        """Read two runs that are written as a diff into a block each; where they end, or 0 where there are none."""
        sides: dict[str, list[Line]] = {"-": [], "+": []}
        end, place = at, at + 1
        while place < len(self.page):
            line = self.page[place]
            found = _SIDE.match(line.text)
            if found is None and line.text:
                break
            if found is not None:
                plain = replace(line, text=line.text[found.end() :])
                if not self._is_event(plain):
                    break
                sides[found["side"]].append(plain)
                end = place + 1
            place += 1
        if not all(sides.values()):
            return 0
        for side, lines in sides.items():
            self._add(at, floor, titled, side, lines)
        return end

    def _lines(self, at: int, titled: bool) -> tuple[int, str, list[Line]]:
        """Where the block ends, the heading within its first line, and the lines of its events."""
        lines: list[Line] = []
        while at < len(self.page):
            line = self.page[at]
            if not line.text or is_separator(line.text):
                if not (titled and not lines) and not self._goes_on(at + 1):
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
        if _ELAPSED.search(line.text) or _COUNTER.match(line.text):
            return True
        if line.text.lstrip().startswith("#"):
            return True
        if _LIKE_AN_EVENT.match(line.text):
            raise malformed(self.source, line, "its figure or event cannot be read as one of perf stat")
        return False

    def _goes_on(self, at: int) -> bool:
        """Whether the block goes on behind a blank line: perf sets the elapsed times apart by one or two."""
        following = [line.text for line in self.page[at : at + 2]]
        text = next(filter(None, following), "")
        match = _ELAPSED.match(text)
        return bool(match and not match["heading"].strip())

    def _add(self, at: int, floor: int, titled: re.Match[str] | None, heading: str, lines: Sequence[Line]) -> None:
        above, command = self._above(at, floor)
        repeat = _REPEAT.search(command)
        runs = int(titled["runs"]) if titled and titled["runs"] else int(repeat[1]) if repeat else None
        if titled:
            command = titled["command"].strip("' ")
        elif not command and self.blocks:
            command, runs = self.blocks[-1].command, runs or self.blocks[-1].runs
        comma = any(_COMMA.search(line.text) for line in lines)
        events = tuple(_events(lines, runs, comma))
        if events:
            title = above if heading else ""
            self.blocks.append(Block(heading or above, command, runs, events, self.page[at].number, title))

    def _above(self, at: int, floor: int) -> tuple[str, str]:
        """The heading and the command that stand above a block."""
        heading = ""
        for place in range(at - 1, max(floor, at - _FAR) - 1, -1):
            text = self.page[place].text.strip()
            if not text or is_separator(text):
                continue
            if _COMMAND.search(text):
                return heading, text.lstrip("#$ ").strip("[] ")
            if len(text) > _LONGEST_HEADING:
                break
            if not _NO_NAME.match(text):
                heading = heading or text.strip("#*|= ").rstrip(":").strip()
        return heading, ""


def _begins(text: str) -> bool:
    if "time elapsed" in text:
        return _ELAPSED.search(text) is not None or _BROKEN_ELAPSED.match(text) is not None
    if "%" not in text:
        return False
    return (_KNOWN_EVENT.search(text) is not None or "+-" in text) and _COUNTER.match(text) is not None


def _heading_within(text: str) -> str:
    """What stands before the figure in the same line (``+NUMA 1sec delay:   0.248 seconds time elapsed``)."""
    match = _ELAPSED.search(text)
    return match["heading"].strip().rstrip(":").strip() if match else ""


def _events(lines: Sequence[Line], runs: int | None, comma: bool) -> list[Event]:
    events: list[Event] = []
    for line in lines:
        if match := _ELAPSED.search(line.text):
            name, unit = match["what"].removeprefix("time "), "s"
        elif match := _COUNTER.match(line.text):
            name = match["event"]
            unit = _UNITS.get(match["unit"] or "", match["unit"] or "events")
            if name.endswith(" (msec)"):
                name, unit = name.removesuffix(" (msec)"), "ms"
        else:
            # A second comment on the counter above; perf prints the spread behind the last one.
            second = _SECOND_COMMENT.match(line.text)
            if events and second and second["spread"]:
                error = _number(second["spread"], comma)
                cell = replace(events[-1].cell, spread_percent=error, spread_kind="standard error")
                events[-1] = replace(events[-1], cell=cell)
            continue
        value = None if match["value"].startswith("<") else _number(match["value"], comma)
        spread = _number(match["spread"], comma) if match["spread"] else None
        kind: Spread = "standard error" if spread is not None else ""
        cell = Cell(value, match["value"], spread_percent=spread, spread_kind=kind, n=runs)
        events.append(Event(name, unit, cell, line.number))
    return events


def _number(text: str, comma: bool) -> float:
    """A figure in the locale of its block: ``1,234.5`` or ``1.234,5``."""
    plain = text.replace(" ", "")
    return float(plain.replace(".", "").replace(",", ".") if comma else plain.replace(",", ""))

"""Tables in multiples of the first column's mean, as two test scripts of the scheduler list print them.

AMD's, under a box that tells what it shows; a row holds mean, improvement and coefficient of variation of each column:

    Test          : hackbench
    Units         : Normalized time in seconds
    Interpretation: Lower is better
    Statistic     : AMean
    Case:           tip[pct imp](CV)    eevdf[pct imp](CV)
     1-groups     1.00 [ -0.00]( 2.69)     0.98 [  2.42]( 1.96)

Intel's; only the first column has a mean, the others an improvement, each with its standard deviation in per cent:

    case            load            baseline(std%)  compare%( std%)
    TCP_RR          56-threads       1.00 (  0.81)   -0.29 (  0.94)

The means of Intel's other columns are not printed and stay missing: a time that improves by 20 % may have been divided
by 1.2 or multiplied by 0.8, and nothing tells which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from schedlab.importers.printed import directions, units
from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.around import headings_of, text_above, title_above
from schedlab.importers.printed.benchmarks import Benchmark, benchmark
from schedlab.importers.printed.found import Found, malformed
from schedlab.importers.printed.header import unique, wide_fields
from schedlab.importers.printed.naming import Parameters, counted, name_row
from schedlab.importers.printed.page import Line
from schedlab.importers.printed.rows import is_separator
from schedlab.results import Cell, Direction, Table, TableRow

UNIT = "of first"
"""The unit of a mean divided by the first column's."""

_NUMBER = r"[-+]?\d+(?:\.\d+)?|[-+]?(?:nan|inf)"
_SPREAD = r"\(\s*(?P<spread>\d+(?:\.\d+)?|nan)\s*%?\s*\)"
_BOXED_NAME = re.compile(r"\[\s*pct imp\s*\]\s*\(\s*(?:CV|std%)\s*\)")
_BOXED_CELL = re.compile(rf"(?<!\S)(?P<value>{_NUMBER})\s*\[\s*(?P<gain>{_NUMBER})\s*%?\s*\]\s*{_SPREAD}")
_LISTED_HEADER = re.compile(
    r"\s*case\s+\S+\s+(?P<base>\S+?)\s*\(\s*std%\s*\)(?P<others>(?:\s+\S+?%\s*\(\s*std%\s*\))+)\s*\Z",
    re.IGNORECASE,
)
_BARE_HEADER = re.compile(r"\s*case\s+\S+\s+(?P<base>\S*[^\s%])(?P<others>(?:\s+(?!std%)\S+?%)+)\s*\Z", re.IGNORECASE)
_BARE_NAME = re.compile(r"(\S+?)%(?!\S)")
_BARE_CELL = re.compile(r"(?<!\S)(?P<value>[-+]?\d+\.\d+)\s?%?(?!\S)")
"""The same without any standard deviation; what has a decimal point is no load."""
_LISTED_NAME = re.compile(r"(\S+?)%\s*\(\s*std%\s*\)")
_LISTED_CELL = re.compile(rf"(?<!\S)(?P<value>{_NUMBER})\s*%?\s*{_SPREAD}")
_FACT = re.compile(r"\s*(?P<key>[A-Za-z][\w ]{2,20}?)\s*:\s+(?P<value>\S.*?)\s*\Z")
_CORNER = re.compile(r"\s*(?P<corner>[^:]*:|.*\s(?=\S+\s*\Z))?\s*(?P<name>.*\S)")
_BETWEEN_COUNTS = re.compile(r"(?<=[a-z])-(?=\d)", re.IGNORECASE)
_IN_UNIT = re.compile(rf"\b(?:in|,)\s+({units.IN_NAMES})(?!\w)")
_REST_OF_CELL = re.compile(r"[\[(]|[-+]?\d+(?:\.\d+)?\s*[\])]")
_MARKS = " *^|\\"
_BOX_HEIGHT = 12
_GAP = 8


@dataclass(frozen=True)
class _Box:
    """What a box tells of the tables under it; empty where there is none. ``end`` is the position behind the last."""

    test: str = ""
    measured: str = ""
    said: str = ""
    statistic: str = ""
    command: str = ""
    end: int = -_GAP


@dataclass(frozen=True)
class _Row:
    line: int
    label: str
    cells: tuple[Cell, ...]
    remark: str


class Reader:
    """Reads both kinds of tables of a page in their order; a table without a box may be under the last one's."""

    def __init__(self, page: Sequence[Line], source: str) -> None:
        self._page, self._source = page, source
        self._box = _Box()

    def read(self, at: int, floor: int) -> Found | None:
        """The table whose header is at ``page[at]``; what tells of it is not above ``page[floor]``. None: no header."""
        text = self._page[at].text
        if _BOXED_NAME.search(text):
            return self._boxed(at, floor)
        if match := _LISTED_HEADER.match(text):
            return self._listed(at, floor, match, _LISTED_NAME, _LISTED_CELL)
        if match := _BARE_HEADER.match(text):
            return self._listed(at, floor, match, _BARE_NAME, _BARE_CELL)
        return None

    def _boxed(self, at: int, floor: int) -> Found | None:
        text, first = self._page[at].text, at + 1
        while first < len(self._page) and _BOXED_NAME.search(self._page[first].text):
            text, first = f"{text}  {self._page[first].text}", first + 1
        *pieces, behind = _BOXED_NAME.split(text)
        head = _CORNER.match(pieces[0])
        names = [head["name"] if head else "", *(piece.strip() for piece in pieces[1:])]
        if len(names) < 2 or not all(names) or behind.strip(_MARKS):
            return None
        rows, end = self._rows(first, _BOXED_CELL, len(names))
        if not rows:
            return Found(end, notes=(f"line {self._page[at].number}: a table without rows",))
        heading = self._heading(at, floor)
        box = self._box_above(at, floor, heading)
        self._box = replace(box, end=end)
        known = benchmark(f"{box.test}\n{box.command}") if box.test else benchmark(heading)
        if known is None and not box.test:
            known = benchmark(headings_of(text_above(self._page, at, floor)))
        title = ", ".join(filter(None, (box.test, box.measured, heading)))
        direction = words.said_direction(box.said or heading) or words.worded_direction(box.measured)
        corner = (head["corner"] or "").strip().rstrip(":") if head else ""
        unit = UNIT if "normali" in box.measured.lower() or _starts_at_one(rows) else _unit_of(box.measured)
        made = [
            TableRow(
                box.statistic,
                " ".join(row.label.split()),
                _parameters(row.label, corner, known),
                unit,
                direction or (known.direction if known else None),
                row.cells,
                row.line,
            )
            for row in rows
        ]
        return self._found(made, rows, names, title, _workload(box.test, known), at, end)

    def _listed(
        self, at: int, floor: int, header: re.Match[str], name: re.Pattern[str], cell: re.Pattern[str]
    ) -> Found:
        names = [header["base"], *name.findall(header["others"])]
        rows, end = self._rows(at + 1, cell, len(names))
        if not rows:
            return Found(end, notes=(f"line {self._page[at].number}: a table without rows",))
        title = title_above(self._page, at, floor)
        known = benchmark(title) or benchmark(headings_of(text_above(self._page, at, floor)))
        said, made = words.said_direction(title), list[TableRow]()
        for row in rows:
            base, *others = row.cells
            cells = (
                base,
                *(replace(cell, value=None, text="", gain=cell.value, gain_text=cell.text) for cell in others),
            )
            case, parameters = _case(row.label)
            of_case = known if known and known.direction else benchmark(case) or known
            direction: Direction | None = (
                said or (of_case.direction if of_case else None) or words.worded_direction(title)
            )
            made.append(TableRow("", " ".join(row.label.split()), parameters, UNIT, direction, cells, row.line))
        found = self._found(made, rows, names, title, known.name if known else "", at, end)
        if said != "lower":
            return found
        # The script's own sign is + for better; who writes this above a table means that a minus is.
        note = f'line {self._page[at].number}: "{title}" is taken to say that negative changes are better'
        return replace(found, tables=(replace(found.tables[0], gains="change"),), notes=(*found.notes, note))

    def _found(
        self, made: list[TableRow], rows: list[_Row], names: list[str], title: str, workload: str, at: int, end: int
    ) -> Found:
        line = self._page[at].number
        settled, gains, notes = directions.settle(made, 0, mmtests=True)
        if any(row.remark.strip() and not row.remark.strip(_MARKS) for row in rows):
            notes.append(f"line {line}: marks behind the rows of this table left out")
        notes += [
            f'line {row.line}: remark left out: "{row.remark.strip()}"' for row in rows if row.remark.strip(_MARKS)
        ]
        return Found(end, (Table("columns", title, workload, unique(names), settled, line, gains=gains),), tuple(notes))

    def _rows(self, at: int, pattern: re.Pattern[str], count: int) -> tuple[list[_Row], int]:
        """The rows from ``page[at]`` on, over rules and wrapped lines, and the position behind the last."""
        rows, end = list[_Row](), at
        while at < len(self._page) and (text := self._page[at].text):
            following = at + 1
            if is_separator(text):
                at = following
                continue
            found = list(pattern.finditer(text))
            if not found and not _may_begin(text, rows):
                break
            while len(found) < count and following < len(self._page) and self._continues(following, pattern):
                text, following = f"{text} {self._page[following].text.strip()}", following + 1
                found = list(pattern.finditer(text))
            if not found:
                break
            label = text[: found[0].start()].strip().rstrip(":")
            between = [text[a.end() : b.start()].strip(_MARKS) for a, b in pairwise(found)]
            if len(found) != count or not label or any(between):
                why = f"it has {len(found)} readable cells where the table has {count} columns"
                raise malformed(self._source, self._page[at], why)
            cells = tuple(_cell(match) for match in found)
            rows.append(_Row(self._page[at].number, label, cells, text[found[-1].end() :]))
            at = end = following
        return rows, end

    def _continues(self, at: int, pattern: re.Pattern[str]) -> bool:
        """Whether a line goes on with the row before it: it begins with cells, or with the rest of one."""
        text = self._page[at].text.strip()
        return _REST_OF_CELL.match(text) is not None or pattern.match(text) is not None

    def _box_above(self, at: int, floor: int, heading: str) -> _Box:
        """The box of a table: the facts right above it, else those of a table shortly before."""
        facts = dict[str, str]()
        for place in range(at - 1, max(floor, at - _BOX_HEIGHT) - 1, -1):
            if match := _FACT.match(self._page[place].text):
                facts.setdefault(match["key"].lower(), match["value"])
                if match["key"].lower() == "test":
                    break
        if "test" in facts or "interpretation" in facts:
            measured, said = facts.get("units", ""), facts.get("interpretation", "")
            return _Box(facts.get("test", ""), measured, said, facts.get("statistic", ""), facts.get("cmdline", ""))
        near = at - self._box.end <= _GAP and benchmark(heading) is None
        return self._box if near else _Box()

    def _heading(self, at: int, floor: int) -> str:
        """A heading between the box and the table (``Zen3, 2 Sockets``), underlined with a rule or not."""
        for place in range(at - 1, max(floor, at - 3) - 1, -1):
            text = self._page[place].text
            if not text or _FACT.match(text):
                return ""
            if not is_separator(text):
                title = title_above(self._page, at, floor)
                return title.rstrip(":")
        return ""


def _may_begin(text: str, rows: Sequence[_Row]) -> bool:
    """Whether a line without a whole cell may be the beginning of a row that a mail program broke."""
    return bool(rows) and re.search(rf"\s(?:{_NUMBER})\s*(?:\[[^\]]*)?\Z", text) is not None


def _cell(match: re.Match[str]) -> Cell:
    found = match.groupdict()
    spread, gain = _finite(found["spread"]) if "spread" in found else None, found.get("gain")
    return Cell(
        value=_finite(found["value"]),
        text=found["value"],
        gain=None if gain is None else _finite(gain),
        gain_text=gain or "",
        spread_percent=spread,
        spread_kind="" if spread is None else "standard deviation",
    )


def _finite(text: str) -> float | None:
    return None if "n" in text else float(text)


def _starts_at_one(rows: Sequence[_Row]) -> bool:
    """Whether the first column is 1.00 throughout, which measured figures are not."""
    return all(row.cells[0].value == 1 for row in rows)


def _unit_of(measured: str) -> str:
    """The unit in words such as ``time in seconds`` or ``Bandwidth, MB/s``; empty when there is none."""
    match = _IN_UNIT.search(measured)
    return "" if match is None else "s" if match[1] == "seconds" else match[1]


def _parameters(label: str, corner: str, known: Benchmark | None) -> Parameters:
    """What a row's label tells: ``16-groups``, ``64`` under ``Clients:``, the name of a case otherwise."""
    if found := _counts(label):
        return found
    if corner.lower().startswith("case "):
        return _case(label)[1]
    return (label.isdigit() and name_row((label,), (corner,), known).parameters) or {"case": label}


def _case(label: str) -> tuple[str, Parameters]:
    """The case that a label begins with, and its parameters: it and its load (``56-threads``, ``25%``)."""
    fields = [name for _, _, name in wide_fields(label)]
    case, load = fields if len(fields) == 2 else [*label.split(None, 1), ""][:2]
    return case, {"case": case, **(_counts(load) or ({"load": load} if load else {}))}


def _counts(label: str) -> dict[str, int]:
    """What a label counts: ``16-groups``, ``4-mthreads-2-workers``; empty when it is another name."""
    if one := counted(label):
        return dict([one])
    found = [counted(part) for part in _BETWEEN_COUNTS.split(label)]
    return {} if None in found else dict(one for one in found if one)


def _workload(test: str, known: Benchmark | None) -> str:
    """The benchmark's name; a longer one made from it (``stream-10``) names another benchmark than its plain name."""
    own = test.lower() if test and " " not in test else ""
    return own if known is None or own.startswith(f"{known.name}-") else known.name

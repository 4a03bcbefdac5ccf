"""The names above a table's columns: one header line, several stacked ones, or ones that a mail program broke."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.page import Line
from schedlab.importers.printed.rows import Row, is_separator, read_row
from schedlab.importers.printed.tokens import Figure

_TABS = re.compile(r"\s*\t\s*| {2,}")
_WIDE = re.compile(r"\S+(?: \S+)*")
_WORDS = re.compile(r"(?:Std\.? Dev\.?|% ?[Dd]iff|[Bb]enefit %|[%] change|\S+)")
_JOINS = ("-", "/", "_", "=", "+", "~")
_REMARK = re.compile(r"\s*\([^()]*\)")
"""A line that only remarks on the rows below it: ``(HT off)``."""
_FIGURES = re.compile(r"[-+\d.,%\s]*\d[-+\d.,%\s]*")
_LOOK_BACK = 8
_LONGEST = 40
_MOST = 0.8

LEVELS = "\x1f"
"""In a column's name: between what several columns have above them together and the column's own name."""

Field = tuple[int, int, str]
Zone = tuple[int, int]
"""Where a column's figures begin and end, in characters."""


@dataclass(frozen=True)
class Header:
    """``names`` of the figures' columns, ``corner`` the names left of them; ``at`` is its first line in the page.

    ``together`` is a line of names without spaces between them, from which no name can be told.
    """

    names: tuple[str, ...]
    corner: tuple[str, ...]
    at: int
    together: str = ""


def wide_fields(text: str) -> list[Field]:
    """What two or more spaces (or the bars of a table) set apart."""
    return [(m.start(), m.end(), m[0]) for m in _WIDE.finditer(text.replace("|", " "))]


def _tab_fields(line: Line) -> list[Field]:
    """What tabs, or two and more spaces, set apart; nothing where there are no tabs."""
    if "\t" not in line.tabbed.strip():
        return []
    found, at = list[Field](), 0
    for name in _TABS.split(line.tabbed.strip()):
        start = line.text.find(name, at)
        at = start + len(name)
        found.append((start, at, name))
    return found


def word_fields(text: str) -> list[Field]:
    """Single words, except for the few names of two words that field's tables have."""
    return [(m.start(), m.end(), m[0]) for m in _WORDS.finditer(text.replace("|", " "))]


def zones(rows: Sequence[Row], count: int) -> list[Zone]:
    """The extent of the last ``count`` columns over the rows that have them, but for a few that stand elsewhere.

    A row of fewer figures than others may have the right number of them in the wrong columns.
    """
    having = [row for row in rows if len(row.cells) >= count and not row.wrapped]
    if not having:
        return []
    if full := max(row.marked for row in having):
        having = [row for row in having if row.marked == full]
    most = Counter(len(row.cells) for row in having).most_common(1)[0][0]
    whole = [row.cells[-count:] for row in having if len(row.cells) == most]
    found = _extents(whole)
    if are_columns(found):
        return found
    middles = [median(cell.start + cell.end for cell in column) for column in zip(*whole, strict=True)]
    kept = [cells for cells in whole if all(_closest(cell, middles) == k for k, cell in enumerate(cells))]
    return _extents(kept) if len(kept) >= len(whole) * _MOST else found


def _extents(whole: Sequence[Sequence[Figure]]) -> list[Zone]:
    return [(min(c.start for c in column), max(c.end for c in column)) for column in zip(*whole, strict=True)]


def _closest(cell: Figure, middles: Sequence[float]) -> int:
    distances = [abs(cell.start + cell.end - middle) for middle in middles]
    return distances.index(min(distances))


def are_columns(columns: Sequence[Zone]) -> bool:
    """Whether the figures stand below one another, so that places can be trusted."""
    return all(left[1] <= right[0] for left, right in pairwise(columns))


def find_header(page: Sequence[Line], first: int, floor: int, rows: Sequence[Row], count: int) -> Header | None:
    """The header of ``count`` columns above ``page[first]`` and not above ``page[floor]``; None when there is none."""
    above = _lines_above(page, first, floor)
    if not above:
        return None
    places = zones(rows, count)
    heads = max((len(row.text[: row.cells[0].start].rstrip()) for row in rows), default=0)
    # Figures with single spaces between them may stand below one another by chance.
    apart = any("  " in row.text.strip() for row in rows)
    aligned = bool(places) and are_columns(places) and apart
    spreads = any(cell.spread is not None for row in rows for cell in row.cells)
    tabs = all("\t" in page[row.at].tabbed.strip() for row in rows)
    if any(row.wrapped for row in rows) and (broken := _broken(page, above, count)):
        return broken
    stack: list[list[str]] = []
    corner: tuple[str, ...] = ()
    top, whole = first, False
    lowest: list[Field] = []
    together, named = _run_together(page, above, count)
    for at in named:
        if top != first and at != top - 1:
            break
        if lowest and (names := _under_groups(wide_fields(page[at].text), lowest)):
            return Header(names, corner, at)
        if _holds_results(page, at):
            break
        told = whole and len(set(stack[-1])) > 1
        strict = heads if told or count == 1 else None
        tabbed = _tab_fields(page[at]) if tabs else []
        # A name for each field of every row: more of them than one may be of the rows' own names.
        exact = bool(tabbed) and all(len(_tab_fields(page[row.at])) == len(tabbed) and not row.remark for row in rows)
        if (aligned or not whole) and (
            found := _match(page[at].text, tabbed, exact, places, aligned, count, strict, spreads)
        ) is not None:
            left, fields = found
            corner, whole = corner or left, True
            lowest = [] if lowest or stack else fields
            stack.insert(0, [name for _, _, name in fields])
        elif (aligned and (some := _partial(page[at].text, places, heads)) is not None) or (
            whole and (some := _paired(page[at].text, rows, count)) is not None
        ):
            stack.insert(0, some)
        else:
            break
        top = at
        if len(stack) == (4 if aligned else 2):
            break
    if not whole:
        return None
    if len(stack) > 1 and len(set(stack[-1])) == 1 and len(set(stack[0])) > 1:
        # What all columns share names none of them.
        stack.pop()
    names = unique([_stacked([line[k] for line in stack if line[k]]) for k in range(count)])
    return Header(names, corner, top, together)


def _run_together(page: Sequence[Line], above: Sequence[int], count: int) -> tuple[str, Sequence[int]]:
    """The nearest line above if it is MMTests' names, longer than their columns are wide, and the lines without it."""
    text = page[above[0]].text.strip()
    if count < 2 or " " in text or len(above) < 2 or above[1] != above[0] - 1:
        return "", above
    return (text, above[1:]) if len(word_fields(page[above[1]].text)) == count else ("", above)


def _may_be_counts(names: Sequence[str]) -> bool:
    """Whether names may be sizes or counts, if all are whole numbers: they rise, or fall by whole parts.

    What else is made of digits alone is no name: changes in per cent, figures with a space between them.
    """
    if len(names) < 2 or not all(_FIGURES.fullmatch(name) for name in names):
        return True
    if not all(name.isdigit() for name in names):
        return all("." in name and "%" not in name and " " not in name for name in names)
    numbers = [int(name) for name in names]
    return all(a < b for a, b in pairwise(numbers)) or all(a > b and b and a % b == 0 for a, b in pairwise(numbers))


def _under_groups(groups: Sequence[Field], fields: Sequence[Field]) -> tuple[str, ...] | None:
    """The names of columns that stand in groups: the same names under each of those in the line above."""
    size, first = (len(fields) // len(groups), len(fields) % len(groups)) if len(groups) > 1 else (0, 0)
    own = [name for _, _, name in fields]
    if size < 2 or first > 1 or own[first:] != own[first : first + size] * len(groups):
        return None
    inside = [fields[first + k * size : first + (k + 1) * size] for k in range(len(groups))]
    if any(
        start >= members[-1][1] or end <= members[0][0] for (start, end, _), members in zip(groups, inside, strict=True)
    ):
        return None
    found = [
        f"{group}{LEVELS}{name}"
        for (_, _, group), members in zip(groups, inside, strict=True)
        for _, _, name in members
    ]
    return (*own[:first], *found) if len(set(found)) == len(found) else None


def _paired(text: str, rows: Sequence[Row], count: int) -> list[str] | None:
    """The names in a line right above another one of names, wherever they stand: as many words as columns.

    A title is not: it begins where the rows do, or has single spaces between its words.
    """
    fields = word_fields(text)
    begin = min(len(row.text) - len(row.text.lstrip()) for row in rows)
    if count < 2 or len(fields) != count or fields[0][0] <= begin or not _are_names(fields, fields, count):
        return None
    apart = all(b[0] - a[1] >= 2 for a, b in pairwise(fields))
    names = [name for _, _, name in fields]
    return names if (apart or len(set(names)) == 1) and not _is_prose(fields) else None


def _holds_results(page: Sequence[Line], at: int) -> bool:
    """Whether a line is rather a row: figures with changes or spreads name no columns, nor do those of an operation."""
    row = read_row(page, at)
    if row is None:
        return False
    return words.begins_with_operation(row.head) or any(cell.marked or cell.spread is not None for cell in row.cells)


def _partial(text: str, places: Sequence[Zone], heads: int) -> list[str] | None:
    """The names in a line of a stack that names some of the columns only, each right above its own."""
    names = [""] * len(places)
    for start, end, name in wide_fields(text):
        over = [k for k, (a, b) in enumerate(places) if start < b and end > a]
        if len(over) != 1 or names[over[0]] or start < heads:
            return None
        names[over[0]] = name
    # What stands above the first column alone is rather the title.
    if not any(names[1:]) or not _may_be_counts([name for name in names if name]):
        return None
    return None if _is_prose([(0, 0, text)]) else names


def _lines_above(page: Sequence[Line], first: int, floor: int) -> list[int]:
    """Positions of text above ``first``, nearest first: over rules and a blank line or two, but not over text."""
    out: list[int] = []
    blanks = 0
    for at in range(first - 1, max(floor, first - _LOOK_BACK) - 1, -1):
        text = page[at].text
        if is_separator(text) or (_REMARK.fullmatch(text) and not out and at > floor):
            continue
        if not text:
            blanks += 1
            if out or blanks > 2:
                break
            continue
        out.append(at)
    return out


def _match(
    text: str,
    tabbed: list[Field],
    exact: bool,
    places: Sequence[Zone],
    aligned: bool,
    count: int,
    heads: int | None,
    spreads: bool,
) -> tuple[tuple[str, ...], list[Field]] | None:
    """The fields of a header line that name ``count`` columns, and those left of them.

    With ``heads``, where the rows' own names end, each name must stand right above its column: a line above another
    header line, or one that names a single column, is else as likely to be the title. ``tabbed`` are fields set apart
    by tabs, as the rows are: a long name moves the next ones, and only their number can tell; ``exact``: the rows have
    as many fields.
    """
    near = count <= len(tabbed) <= count + 1 or (exact and len(tabbed) > count)
    if heads is None and near and _are_names(tabbed[-count:], tabbed, count) and _may_be_counts(_names_of(tabbed)):
        return tuple(name for _, _, name in tabbed[:-count]), tabbed[-count:]
    found: list[tuple[int, tuple[str, ...], list[Field]]] = []
    for every, single in ((wide_fields(text), False), (word_fields(text), True)):
        # What stands behind the last figures is not of this table: a file's name.
        within = [field for field in every if field[0] < places[-1][1]] if aligned else every
        fields = within if len(within) >= count else every
        if spreads and len(every) > count:
            # Names of spreads that are printed within the cells.
            fields = [field for field in every if not words.SPREAD_COLUMN.match(field[2])]
        left, names = fields[: max(0, len(fields) - count)], fields[max(0, len(fields) - count) :]
        if not _are_names(names, fields, count) or (single and aligned and not _sharp(names, places)):
            continue
        if _fits(left, names, places, aligned, heads):
            found.append((_distance(names, places), tuple(name for _, _, name in left), names))
    if not found:
        return None
    # Of two ways to split a line the one is right that has the names above their columns.
    _, corner, names = min(found, key=lambda way: way[0])
    own = _names_of(names)
    return (corner, names) if heads is not None or (_may_be_counts(own) and _may_be_counts([*corner, *own])) else None


def _names_of(fields: Sequence[Field]) -> list[str]:
    return [name for _, _, name in fields]


def _are_names(names: Sequence[Field], fields: Sequence[Field], count: int) -> bool:
    if len(names) < count or any(len(name) > _LONGEST or name.startswith("$ ") for _, _, name in fields):
        return False
    colons = sum(name.endswith(":") for _, _, name in names)
    if colons and (colons < count or count == 1):
        return False
    return all(any(map(str.isalnum, name)) or name in "%Δ±" for _, _, name in names)


def _distance(names: Sequence[Field], places: Sequence[Zone]) -> int:
    """How far names are from standing flush with their columns, left or right; 0 where columns have no places."""
    return sum(min(abs(n[0] - p[0]), abs(n[1] - p[1])) for n, p in zip(names, places, strict=False))


def _sharp(names: list[Field], places: Sequence[Zone]) -> bool:
    """Whether single words stand flush with the columns, left or right, as words of a sentence do not."""
    pairs = list(zip(names, places, strict=True))
    return all(abs(n[1] - p[1]) <= 3 for n, p in pairs) or all(abs(n[0] - p[0]) <= 3 for n, p in pairs)


def _fits(left: list[Field], names: list[Field], places: Sequence[Zone], aligned: bool, heads: int | None) -> bool:
    strict = heads is not None
    if not aligned:
        # Nothing but the number of names can tell: it must be exact.
        apart = all(b[0] - a[1] >= 2 for a, b in pairwise([*left, *names]))
        return (not left or (len(left) == 1 and apart)) and not strict and not _is_prose(names)
    if any(end > places[0][1] for _, end, _ in left):
        return False
    near = [_nearest(field, places) == k for k, field in enumerate(names)]
    if all(near):
        above = all(start < b and end > a - 2 for (start, end, _), (a, b) in zip(names, places, strict=True))
        return heads is None or (above and (bool(left) or names[0][0] >= heads))
    gaps = [b[0] - a[1] for a, b in pairwise(names)]
    return not strict and len(left) <= 1 and bool(gaps) and min(gaps) >= 2 and not _is_prose(names)


def _nearest(field: Field, places: Sequence[Zone]) -> int:
    start, end, _ = field
    distances = [max(a - end, start - b, 0) + abs((start + end) - (a + b)) / 1000 for a, b in places]
    return distances.index(min(distances))


def _is_prose(fields: Sequence[Field]) -> bool:
    return fields[-1][2].endswith((".", ",", ";")) and not fields[-1][2].endswith("Dev.")


def _broken(page: Sequence[Line], above: Sequence[int], count: int) -> Header | None:
    """Header lines of which each was broken in two or more, as the rows were."""
    names: list[list[Field]] = []
    parts: list[Field] = []
    top = above[0]
    for at in above:
        fields = wide_fields(page[at].text)
        if len(fields) + len(parts) > count:
            fields = word_fields(page[at].text)
        glued = _rejoined(wide_fields(page[at].text) + parts) if parts else None
        if glued is not None and len(glued) == count:
            fields, parts = glued, []
        if len(fields) + len(parts) > count or _is_prose(fields) or not _may_be_counts(_names_of(fields)):
            break
        parts = fields + parts
        if len(parts) == count:
            names.insert(0, parts)
            parts, top = [], at
            if len(names) == 2:
                break
    if not names:
        return None
    return Header(unique([_stacked([line[k][2] for line in names]) for k in range(count)]), (), top)


def _rejoined(fields: Sequence[Field]) -> list[Field]:
    """The fields of a broken line without the corner's name, a name that was broken behind a sign whole again."""
    out: list[Field] = []
    for field in fields[1:] if fields[0][2].endswith(":") else fields:
        if out and out[-1][2].endswith(_JOINS):
            out[-1] = (out[-1][0], out[-1][1], f"{out[-1][2]} {field[2]}")
        else:
            out.append(field)
    return out


def _stacked(parts: Sequence[str]) -> str:
    """One name from its lines: MMTests breaks a name at its first dash, others at a sign of their own."""
    name = parts[0] if parts else ""
    for part in parts[1:]:
        name += part if name.endswith(_JOINS) or part.startswith(_JOINS) else f"-{part}"
    return name


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names with numbers behind those that come again."""
    out: list[str] = []
    for name in names:
        times = 1 + sum(other == name or other.startswith(f"{name} (") for other in out)
        out.append(name if times == 1 else f"{name} ({times})")
    return tuple(out)

"""How many columns a block of rows has, and whether it is a table at all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.header import Header, are_columns, zones
from schedlab.importers.printed.rows import Row
from schedlab.importers.printed.tokens import Figure

_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_HOLDS_DIGIT = re.compile(r"(?<!\S)\S*\d\S*")


def typical(block: Sequence[Row]) -> int:
    """The number of figures that most rows have."""
    return Counter(len(row.cells) for row in block).most_common(1)[0][0]


def counts(block: Sequence[Row]) -> list[int]:
    """How many columns the block may have, likeliest first."""
    most = typical(block)
    marked = marked_count(block) if any(row.marked for row in block) else most
    percent = percent_columns(block, most)
    widest = [] if any(row.marked for row in block) else [max(len(row.cells) for row in block)]
    found = [*widest, marked, most, most - percent, most - 1, most - 1 - percent]
    return [count for count in dict.fromkeys(found) if count > 0]


def marked_count(block: Sequence[Row]) -> int:
    """Columns by the printed changes: the first figure may be the row's label, or a baseline without a change."""
    widest = max(block, key=lambda row: (row.marked, len(row.cells)))
    bare = len(widest.cells) - widest.marked
    if bare == 0 or any(not cell.marked for cell in widest.cells[bare:]):
        return len(widest.cells)
    label = not widest.head or words.OPERATION.match(widest.head) is not None
    return widest.marked + bare - (1 if label else 0)


def percent_columns(block: Sequence[Row], count: int) -> int:
    """How many columns hold bare percentages, if others do not: changes that the header need not name."""
    whole = [row.cells for row in block if len(row.cells) == count]
    percent = [all(cell.percent or cell.value is None for cell in column) for column in zip(*whole, strict=True)]
    return sum(percent) if not all(percent) and not percent[0] else 0


def with_changes(block: Sequence[Row], count: int) -> list[Row]:
    """Rows with bare percentages taken as changes of the figures before them, where most have more than ``count``."""
    if typical(block) > count or is_list_of_runs(block):
        return [_with_changes(row, count) for row in block]
    # A few rows may have them while most have none: means beside extremes.
    longer = [(row, _with_changes(row, count)) for row in block]
    return [changed if row.head and len(changed.cells) == count else row for row, changed in longer]


def _with_changes(row: Row, count: int) -> Row:
    if len(row.cells) <= count or row.marked or row.cells[0].percent:
        return row
    cells = row.cells
    if not cells[-1].percent and [cell.percent for cell in cells] == [k % 2 == 1 for k in range(len(cells))]:
        # One between each two figures, none behind the last: changes from the figure before to the one behind.
        cells = (cells[0], *(cells[k] for pair in range(2, len(cells), 2) for k in (pair, pair - 1)))
    merged: list[Figure] = []
    for cell in cells:
        if not cell.percent:
            merged.append(cell)
        elif merged[-1].marked:
            return row
        else:
            # Nothing says that it is a change; what it amounts to will.
            merged[-1] = replace(
                merged[-1],
                change=cell.value,
                change_text=cell.text,
                change_percent=False,
                star=False,
                start=min(merged[-1].start, cell.start),
                end=max(merged[-1].end, cell.end),
            )
    return replace(row, cells=tuple(merged)) if len(merged) in (count, count + 1) else row


def with_counts_in_heads(block: Sequence[Row]) -> list[Row]:
    """Rows of which all begin with a word and a whole number (``group 16``) with that number in their head."""
    if any(row.head == "" or len(row.cells) < 2 for row in block) or is_mmtests(block):
        return list(block)
    gaps = [row.cells[0].start - len(row.text[: row.cells[0].start].rstrip()) for row in block]
    flush = len({row.cells[0].end for row in block}) == 1
    if min(gaps) != 1 or not (flush or max(gaps) == 1):
        return list(block)
    counted = all(
        row.cells[0].text.isdigit()
        and row.cells[0].unit == ""
        and not row.cells[0].marked
        and row.cells[0].spread is None
        and row.cells[1].start - row.cells[0].end > 1
        for row in block
    )
    return [_with_label(row) for row in block] if counted else list(block)


def with_labels(block: Sequence[Row], count: int) -> list[Row]:
    """Rows whose first figure stands left of the columns with that figure in their head (``Hmean     64``)."""
    places = zones(block, count)
    # Where whole rows have such a label, one with a missing cell has it, too.
    widest = max(len(row.cells) for row in block)
    start = places[0][0] if widest == count + 1 and places and are_columns(places) else -1
    return [_with_label(row) if _is_label(row, count, start) else row for row in block]


def _is_label(row: Row, count: int, start: int) -> bool:
    first = row.cells[0]
    if len(row.cells) < 2 or first.marked:
        return False
    if row.head and ("." in first.text or first.unit):
        # What stands behind a name counts something; a measured figure there lacks its column's name.
        return False
    return len(row.cells) == count + 1 or (len(row.cells) <= count and row.cells[0].end <= start)


def _with_label(row: Row) -> Row:
    label = row.text[row.cells[0].start : row.cells[1].start].strip()
    return Row(row.at, row.end, row.line, row.text, f"{row.head} {label}".strip(), row.cells[1:], row.remark)


def sections(block: Sequence[Row], count: int) -> tuple[list[Row], dict[int, tuple[str, str]]]:
    """The rows without the lines that head some of them (``Groups: 16``), and what these say, by the rows' places.

    Only where the rows come again under each, the first of them too: else such a line may be a row like the others.
    """
    heads = {row.at: (row.head.rstrip(": "), row.cells[0].text) for row in block if _heads_section(row, count)}
    if not heads or count < 2 or block[0].at not in heads:
        return list(block), {}
    rows = [row for row in block if row.at not in heads]
    if len(heads) > 1 and len({row.head for row in rows}) * 2 > len(rows):
        return list(block), {}
    said = {row.at: heads[max(at for at in heads if at < row.at)] for row in rows}
    return rows, said if len({name for name, _ in said.values()}) == 1 else {}


def _heads_section(row: Row, count: int) -> bool:
    if len(row.cells) != 1 or count < 2 or not row.cells[0].text.isdigit() or row.cells[0].unit or row.remark:
        return False
    return words.PARAMETER.match(row.head.rstrip(": ")) is not None


def may_name_columns(block: Sequence[Row]) -> bool:
    """Whether the first row may be a header whose names are numbers: it is unlike the row after it."""
    first, second = block[0], block[1]
    plain = all(cell.unit == "" and "." not in cell.text and not cell.marked for cell in first.cells)
    if len(first.cells) != len(second.cells):
        return plain
    return plain and not all(
        a.unit == b.unit and "." not in b.text for a, b in zip(first.cells, second.cells, strict=True)
    )


def rejoined(block: Sequence[Row]) -> list[Row]:
    """Rows of bare figures that a mail program broke: a head with figures, then figures alone, over and over."""
    if len(block) < 4 or len(block) % 2 or any(row.marked for row in block):
        return list(block)
    first, second = block[0::2], block[1::2]
    if not all(row.head for row in first) or any(row.head for row in second):
        return list(block)
    if len({len(row.cells) for row in first}) > 1 or len({len(row.cells) for row in second}) > 1:
        return list(block)
    return [
        replace(a, end=b.end, text=f"{a.text} {b.text.strip()}", cells=(*a.cells, *b.cells), remark=b.remark)
        for a, b in zip(first, second, strict=True)
    ]


def is_convincing(block: Sequence[Row], header: Header) -> bool:
    """Whether rows without printed changes are a table of this header: most of one shape, and not one by chance."""
    count = len(header.names)
    places = zones(block, count)
    fitting = [row for row in block if count <= len(row.cells) <= count + 1 or placed(row, places) is not None]
    if not fitting or len(fitting) < len(block) * 0.6:
        return False
    aligned = are_columns(zones(fitting, count))
    apart = all("  " in row.text.strip() or row.wrapped for row in fitting)
    if count == 1:
        flush = min(len({row.cells[-1].start for row in fitting}), len({row.cells[-1].end for row in fitting})) <= 2
        # A single column has little to show that it is one: its name must look like a name.
        (name,) = header.names
        named = any(map(str.isalpha, name)) and not any(sign in name for sign in ",:;")
        named = named and len(header.corner) <= 2 and not any(corner.endswith(":") for corner in header.corner)
        return len(fitting) > 1 and flush and apart and all(row.head for row in fitting) and named
    if len(fitting) == 1:
        return aligned and apart and bool(fitting[0].head)
    return aligned or all(len(row.cells) == count for row in fitting)


def looks_like_table(block: Sequence[Row]) -> bool:
    """Whether rows of which no header is found are one all the same: alike, named, their figures below one another."""
    count = len(block[0].cells)
    alike = all(row.head and len(row.cells) == count and "  " in row.text.strip() for row in block)
    return len(block) > 1 and count > 1 and alike and are_columns(zones(block, count))


def is_marked_table(block: Sequence[Row]) -> bool:
    """Whether rows with printed changes are a table without any header: known operations, or several alike."""
    if any(words.begins_with_operation(row.head) for row in block if row.marked):
        return True
    marked = [row for row in block if row.marked]
    alike = len({len(row.cells) for row in block}) == 1
    return alike and len(block) > 1 and len(marked) >= min(len(block) - 1, len(block) * 0.75)


def is_list_of_runs(block: Sequence[Row]) -> bool:
    """Whether each row is a run and its only figure, all in one unit (``before: 123 ops/s``, ``after: 134 ops/s``)."""
    rows = [_with_changes(row, 1) for row in block]
    units = {row.cells[0].unit for row in rows}
    alone = all(len(row.cells) == 1 and words.RUN.search(row.head) for row in rows)
    return len(rows) > 1 and alone and len(units) == 1 and units.isdisjoint(("", "%"))


def is_mmtests(block: Sequence[Row]) -> bool:
    """Whether most rows begin with operations of MMTests."""
    known = sum(words.begins_with_operation(row.head) or words.DURATION.match(row.head) is not None for row in block)
    return known * 2 > len(block)


def placed(row: Row, places: Sequence[tuple[int, int]]) -> list[Figure | None] | None:
    """The figures of a short row in the columns under which they stand; None when that is not plain."""
    if not are_columns(places) or not places or row.wrapped:
        return None
    head = _IN_PARENTHESES.sub(lambda match: " " * len(match[0]), row.text[: row.cells[0].start])
    if any(word.start() >= places[0][0] for word in _HOLDS_DIGIT.finditer(head)):
        # Where a figure should be stands what is none.
        return None
    out: list[Figure | None] = [None] * len(places)
    for cell in row.cells:
        under = [k for k, (start, end) in enumerate(places) if cell.start < end and cell.end > start]
        if len(under) != 1 or out[under[0]] is not None:
            return None
        out[under[0]] = cell
    return out

"""Tables drawn with bars: Markdown, sysbench's and psql's style, with or without a frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from schedlab.importers.printed.around import text_above, title_above
from schedlab.importers.printed.evidence import is_of_results
from schedlab.importers.printed.found import Found, listing, malformed
from schedlab.importers.printed.grid import Grid, GridRow
from schedlab.importers.printed.header import unique
from schedlab.importers.printed.page import Line
from schedlab.importers.printed.rows import is_separator
from schedlab.importers.printed.table import to_table
from schedlab.importers.printed.tokens import MISSING_WORDS, Figure, tokens

_RULE = re.compile(r"[\s|+:=\-]+\Z")
_SIGN_APART = re.compile(r"^([-+])\s+(?=[\d.]+\s*%)")
_EMPHASIS = re.compile(r"\*\*|`")
_SAMPLES = re.compile(r"\s*\(\d+ samples\)")
_LABELLED = re.compile(r"(?m:^)\s*\*?(?P<label>[^\s:|]+):(?=\s+[-\d.])")
_EVEN = 0.75
_Fields = tuple[tuple[str, ...], tuple[str, ...], tuple[GridRow, ...]]
"""Names of label columns, names of figures' columns, rows."""


@dataclass(frozen=True)
class _Barred:
    """A line's fields, and the places in the line where each begins and ends."""

    line: Line
    fields: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    remark: str = ""


def read(page: Sequence[Line], at: int, floor: int, source: str, *, meant: bool = False) -> Found | None:
    """The bordered table that begins at ``page[at]``; None when there is none."""
    if "|" not in page[at].text or _is_rule(page[at].text):
        return None
    end, drawn, rules = _extent(page, at)
    once, apart = _labelled_once(drawn)
    lines = _framed(once)
    if len(lines) < 2:
        return None
    height = _header_height(lines, rules)
    body = lines[height:]
    width = max((len(line.fields) for line in body), default=0)
    if height == 0 or width < 2:
        return Found(end, notes=_unread(lines))
    odd = [line for line in body if len(line.fields) != width]
    broken = [line for line in odd if any(_figure(field) for field in line.fields)]
    if broken and _is_table(body, width):
        raise malformed(source, broken[0].line, f"it has {len(broken[0].fields)} fields where the table has {width}")
    if odd or not body:
        return Found(end, notes=_unread(lines))
    grid = _grid(lines[:height], _continued(body), width)
    if grid is None:
        return Found(end)
    found = _found(page, at, floor, end, grid, body, meant=meant)
    notes = [f'line {line.number}: left out, it has labels of its own: "{line.text.strip()}"' for line in apart]
    return replace(found, notes=(*notes, *found.notes))


def _found(
    page: Sequence[Line], at: int, floor: int, end: int, grid: _Fields, body: Sequence[_Barred], *, meant: bool
) -> Found:
    """The table of a grid that stands in ``page[at:end]``."""
    corners, names, rows = grid
    title, around = title_above(page, at, floor), text_above(page, at, floor)
    table, notes = to_table(Grid(corners, names, rows, title, around, page[at].number), mmtests=False)
    if not (meant or is_of_results(table, around)):
        return Found(end, notes=(listing(page, at, end - 1),))
    remarks = [f'line {line.line.number}: remark left out: "{line.remark}"' for line in body if line.remark]
    return Found(end, (table,), (*remarks, *notes))


def _unread(lines: Sequence[_Barred]) -> tuple[str, ...]:
    """A note of lines that look like rows and are of no table that is understood."""
    if sum(sum(any(isinstance(item, Figure) for item in tokens(f)) for f in line.fields) > 1 for line in lines) < 2:
        return ()
    where = f"lines {lines[0].line.number}–{lines[-1].line.number}"
    return (f"{where}, drawn with bars, were not read: no header fits their figures",)


def _is_rule(text: str) -> bool:
    return is_separator(text) or (bool(text) and _RULE.match(text) is not None and ("-" in text or "=" in text))


def _extent(page: Sequence[Line], at: int) -> tuple[int, list[Line], list[int]]:
    """Where the lines with bars end, those lines, and before which of them a rule is drawn."""
    lines, rules, end = list[Line](), list[int](), at
    for place in range(at, len(page)):
        text = page[place].text
        if _is_rule(text):
            closed = rules and lines and rules[-1] == len(lines) and rules[0] != rules[-1]
            if closed and not (place + 1 < len(page) and _holds_row(page[place + 1].text)):
                # Two rules on end: one frame closes, another opens.
                break
            rules.append(len(lines))
        elif "|" in text:
            lines.append(page[place])
        elif text or len(lines) != 1 or place + 1 >= len(page) or not _is_alike(lines[0], page[place + 1]):
            break
        end = place + 1
    return end, lines, rules


def _holds_row(text: str) -> bool:
    """Whether a line with bars is one of figures, and so heads no table of its own."""
    fields = [field.strip() for field in text.strip("| ").split("|")]
    return len(fields) > 1 and sum(_figure(field) is not None for field in fields) * 2 > len(fields)


def _framed(lines: Sequence[Line]) -> list[_Barred]:
    """The fields of all lines, by whether most of them have bars at their ends."""
    opened = all(line.text.lstrip().startswith("|") for line in lines)
    closed = sum(line.text.endswith("|") for line in lines) * 2 > len(lines)
    return [_barred(line, opened=opened, closed=closed) for line in lines]


def _is_alike(header: Line, line: Line) -> bool:
    """Whether a line behind the blank one under a header has as many bars, and labels in its fields."""
    return header.text.count("|") == line.text.count("|") and len(_LABELLED.findall(line.text.replace("|", "\n"))) > 1


def _labelled_once(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """Outputs side by side, each with its labels (``50.0th: 9 (4 samples) | 50.0th: 7 (4 samples)``), as one table.

    The second are lines that are left out: what else the tool says (``min=4, max=90``) has no label to read it by.
    """
    fields = [[_LABELLED.match(field) for field in line.text.split("|")] for line in lines]
    same = [
        len({match["label"] if match else None for match in found}) == 1 and found[0] is not None for found in fields
    ]
    if sum(same) < 2 or any(one and line.text.lstrip().startswith("|") for one, line in zip(same, lines, strict=True)):
        return list(lines), []
    first = same.index(True)
    out, apart = list[Line](), list[Line]()
    for line, found, one in zip(lines, fields, same, strict=True):
        if one:
            parts = [_SAMPLES.sub("", _LABELLED.sub("", field)) for field in line.text.split("|")]
            text = " | ".join([found[0]["label"] if found[0] else "", *parts])
        elif len(out) < first and len(found) == len(fields[first]):
            text = f" | {line.text}"
        else:
            apart.append(line)
            continue
        out.append(replace(line, text=text, tabbed=text))
    return out, apart


def _barred(line: Line, *, opened: bool, closed: bool) -> _Barred:
    """The fields of a line whose frame is ``opened`` by a bar on its left or not, ``closed`` on its right or not."""
    text, remark = line.text, ""
    start = len(text) - len(text.lstrip())
    if closed and (last := text.rindex("|")) > start:
        text, remark = text[:last], text[last + 1 :].strip()
    start = start + 1 if opened else 0
    fields, places = [], []
    for piece in text[start:].split("|"):
        fields.append(_EMPHASIS.sub("", piece).strip().strip("*").strip())
        places.append((start, start + len(piece)))
        start += len(piece) + 1
    return _Barred(line, tuple(fields), tuple(places), remark)


def _header_height(lines: Sequence[_Barred], rules: Sequence[int]) -> int:
    """How many lines name the columns: those above the last rule before figures, or one line without figures."""
    below = [rule for rule in rules if 0 < rule < len(lines)]
    figures = [sum(_figure(field) is not None for field in line.fields) * 2 > len(line.fields) for line in lines]
    first = figures.index(True) if any(figures) else len(lines)
    before = [rule for rule in below if rule <= max(first, 1)]
    if before:
        return before[-1] if before[-1] <= 5 else 0
    if below:
        return below[0] if below[0] <= 5 else 0
    return first if 0 < first <= 2 else 0


def _is_table(body: Sequence[_Barred], width: int) -> bool:
    """Whether lines with bars are a table in spite of some that have other numbers of fields."""
    good = sum(len(line.fields) == width for line in body)
    figures = sum(any(_figure(field) for field in line.fields) for line in body)
    return good >= 2 and good >= len(body) * _EVEN and figures >= len(body) * _EVEN


def _grid(header: Sequence[_Barred], body: Sequence[_Barred], width: int) -> _Fields | None:
    """What the lines say; None if there are no figures."""
    values = [k for k in range(width) if _holds_figures([line.fields[k] for line in body])]
    labels = [k for k in range(width) if k not in values]
    # Figures in the first column alone are the axis of a plot, or numbers of lines.
    if values in ([], [0]) or not body:
        return None
    names = [_name(header, body[0], k) for k in range(width)]
    rows = tuple(
        GridRow(
            line.line.number,
            tuple(line.fields[k] for k in labels),
            tuple(_figure(line.fields[k]) for k in values),
        )
        for line in body
    )
    return tuple(names[k] for k in labels), unique([names[k] for k in values]), rows


def _name(header: Sequence[_Barred], row: _Barred, k: int) -> str:
    """A column's name from all header lines; a field of a line with fewer fields spans the columns under it."""
    parts = []
    for line in header:
        if len(line.fields) == len(row.fields):
            parts.append(line.fields[k])
            continue
        middle = sum(row.places[k]) / 2
        parts += [field for field, (a, b) in zip(line.fields, line.places, strict=True) if a <= middle <= b]
    return " ".join(filter(None, parts))


def _continued(lines: Sequence[_Barred]) -> list[_Barred]:
    """Rows without an empty first field, which is that of the row above; a row of nothing else is a broken name."""
    out: list[_Barred] = []
    for line in lines:
        first, rest = line.fields[0], line.fields[1:]
        if out and first and not any(rest):
            above = out[-1]
            out[-1] = replace(above, fields=(f"{above.fields[0]} {first}", *above.fields[1:]))
        elif first or not out:
            out.append(line)
        elif any(rest):
            out.append(replace(line, fields=(out[-1].fields[0], *rest)))
    return out


def _holds_figures(fields: Sequence[str]) -> bool:
    """Whether a column holds results: figures, or what stands for a missing one, and a figure at least once."""
    figures = [_figure(field) for field in fields]
    printed = sum(f is not None for f in figures)
    filled = sum(field != "" for field in fields)
    return any(f is not None and f.value is not None for f in figures) and printed >= max(
        filled * _EVEN, len(fields) / 2
    )


def _figure(field: str) -> Figure | None:
    """The figure that fills a field; words behind it are allowed, anything before it is not."""
    if not field:
        return None
    if MISSING_WORDS.match(field):
        return Figure(0, len(field), field, None)
    found = tokens(_SIGN_APART.sub(r"\1", field))
    if not found or not isinstance(found[0], Figure) or sum(isinstance(item, Figure) for item in found) > 1:
        return None
    return found[0]

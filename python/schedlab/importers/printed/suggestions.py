"""A ``--table`` option for a table of unknown layout: the shortest of some layouts that the table's lines fit.

Only the structure is tried: the header, separator, columns of labels, columns to leave out, parts of cells. The meaning
of the columns and figures stays a choice of the user, such as ``better=lower|higher``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

from schedlab.importers.printed import stated
from schedlab.importers.printed.layout import layouts, option
from schedlab.importers.printed.lines import Line, is_rule
from schedlab.importers.printed.possible_tables import PossibleTable
from schedlab.results.imported import ImportProblem

_LABELS = ("label=1", "label=1+2")
_SPREAD = "spread=standard deviation|standard error|unknown"
_CHOICES = ("", "gains=improvement|change", _SPREAD, f"{_SPREAD},spread_unit=percent|value")
_CHOICE = re.compile(r"\|[^,]*")
"""All but the first of several choices."""
_WIDE = re.compile(r"\s{2,}")
_NO_FIGURES = re.compile(r"diff|delta|change|chg|improve|gain|ratio|std|%", re.IGNORECASE)
"""Names of columns that compare or describe the other columns."""
_MOST_LINES = 40
"""Lines of a table that are tried: the work grows with the lines and the layouts."""


def suggestion(table: PossibleTable, lines: Sequence[Line], source: str) -> str:
    """Return an option that the table fits, with the choices that the user must make; a general option if none fits."""
    inside = [at for at in range(table.first, table.end) if lines[at].text and not is_rule(lines[at].text)]
    if not 2 < len(inside) <= _MOST_LINES:
        return table.option(lines)
    # The line above the figures may be a heading.
    for first, keys in product(inside[:2], _layouts([lines[at].text for at in inside])):
        stated_lines = f"{lines[first].number}-{lines[table.end - 1].number}"
        text = _CHOICE.sub("", f"lines={stated_lines},columns=runs,{keys},better=lower")
        if _fits(text, first, table.end, lines, source):
            return option(stated_lines, keys)
    return table.option(lines)


def _layouts(texts: Sequence[str]) -> Iterator[str]:
    """Yield the keys to try, the shortest first."""
    has_bars = all(text.count("|") > 1 for text in texts)
    separators = ("", "separator=bars") if has_bars else ("", "separator=wide", "separator=spaces")
    fields = [text.strip().strip("|").split("|") if has_bars else _WIDE.split(text.strip()) for text in texts]
    width = max(map(len, fields))
    skips = ("", f"skip={width}", f"skip={width - 1}+{width}") if width > 2 else ("",)
    tried = product(_CHOICES, skips, _LABELS, separators)
    keys = (",".join(filter(None, (label, skip, mark, extra))) for extra, skip, label, mark in tried)
    yield from sorted(keys, key=len)


def _fits(text: str, first: int, end: int, lines: Sequence[Line], source: str) -> bool:
    """Whether the lines are a table of a layout without doubts: two columns of figures, and labels that are texts."""
    try:
        (layout,) = layouts(text)
        part = stated.read(lines, first, end, layout, source)
    except ImportProblem:
        return False
    (table,) = part.tables
    are_texts = len(layout.label) == 1 or not any(row.parameters for row in table.rows)
    return not part.notes and len(table.columns) > 1 and are_texts and not any(map(_NO_FIGURES.search, table.columns))

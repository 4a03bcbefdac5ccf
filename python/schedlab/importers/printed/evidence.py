"""Whether figures under a header are somebody's results, or a listing of anything: a manual's, the system's.

Printed changes and spreads say so by themselves. Bare figures need a word that does: a run, a metric, a unit, something
that is counted up. ``free``, ``/proc/interrupts`` and a table of constants have none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.around import unit_in
from schedlab.results import Table

_PLACE = re.compile(r"(?:cpu|node|socket|core|irq)?[ _#]?\d+", re.IGNORECASE)
"""Columns that only number something."""
_NAMES = frozenset({"case", "metric"})
"""Parameters that are nothing but a name."""
_CODE = frozenset("=;{}\"'")
_ITEM = re.compile(r"\s*(?:\d+[.)]|.*\w\(\))")
"""An item of a list, or a line that speaks of a function: explanations, not headings."""
_WORDS = 8
"""In longer lines ``time`` or ``system`` may mean anything."""


def is_of_results(table: Table, around: str) -> bool:
    """Whether anything in a table says that its figures were measured; ``around`` is the text above it."""
    cells = [cell for row in table.rows for cell in row.cells]
    # A single row that begins with "Max" need not be one of MMTests'.
    known = table.layout == "mmtests" and len(table.rows) > 1
    if known or any(cell.gain is not None or cell.spread_percent is not None for cell in cells):
        return True
    heads = [f"{row.operation} {row.label}".strip() for row in table.rows]
    if any(any(map(str.isalpha, name)) and words.RUN.search(name) for name in (*table.columns, *heads)):
        return True
    if any(row.unit or row.parameters.keys() - _NAMES for row in table.rows):
        return True
    if any(map(_is_heading, (table.title, *around.splitlines()[:2]))):
        return True
    if len(table.columns) > 1 and all(_PLACE.fullmatch(name.strip()) for name in table.columns):
        return _grows(table.columns)
    # Of a single column its own name must tell: listings of anything have a row that is called "max" or "size".
    names = (*table.columns, *heads) if len(table.columns) > 1 else table.columns
    return bool(table.workload) or any(map(_is_measured, names))


def _grows(names: Sequence[str]) -> bool:
    """Whether columns are sizes or counts that grow or shrink, rather than numbers one after the other."""
    if not all(name.strip().isdigit() for name in names):
        return False
    steps = [int(b) - int(a) for a, b in pairwise(names)]
    return (min(steps) > 0 or max(steps) < 0) and any(abs(step) != 1 for step in steps)


def _is_heading(text: str) -> bool:
    """Whether a line above a table says in a few words what was measured: ``Table 3: throughput in MB/s,``."""
    if len(text.split()) > _WORDS or not _CODE.isdisjoint(text) or _ITEM.match(text):
        return False
    return bool(unit_in(text)) or words.worded_direction(text) is not None


def _is_measured(name: str) -> bool:
    """Whether a name is that of something measured; a bare number is no percentile here."""
    metrics = any(any(map(str.isalpha, match[0])) for match in words.METRIC.finditer(name))
    return metrics or words.worded_direction(name) is not None

"""MMTests' printed tables as data, and the columns of the trees of these tables."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from schedlab.analysis.distributions import Columns
from schedlab.importers.mmtests import read
from tests.importers.mmtests import trees
from tests.importers.side_by_side import to_columns

PRINTED = Path(__file__).with_name("mmtests_printed")

_WRITE = {"now": trees.write_now, "2019": trees.write_old, "2016": trees.write_older}
SHARED = Path(__file__).parents[3] / "shared" / "mmtests-fixtures"
"""Optional trees next to the checkout. Without these trees, the tests of the trees are skipped."""

_WIDTH = {"now": 18, "shared": 18, "2019": 12, "2016": 12}


class Printed(NamedTuple):
    """A printed cell."""

    value: str
    gain: str
    star: bool


MISSING = Printed("-", "-", False)


@cache
def columns(year: str) -> Columns:
    """The samples of a year's trees."""
    if year == "shared":
        return to_columns([read(SHARED)])
    with TemporaryDirectory() as folder:
        return to_columns([read(_WRITE[year](Path(folder) / "log"))])


def names(year: str) -> list[str]:
    """Names of the tables printed in a year."""
    return sorted(path.stem for path in (PRINTED / year).glob("*.txt"))


def text(year: str, name: str) -> str:
    """A table in the form that MMTests printed."""
    return (PRINTED / year / f"{name}.txt").read_text()


def figures(year: str, name: str) -> dict[tuple[str, str], list[Printed]]:
    """A table's cells by operation and label."""
    # Split by column width from the right: no space precedes a value that fills its column.
    last_cell = re.compile(rf"(?=.{{{_WIDTH[year]}}} [(*])( *\d+\.\d+) ([(*]) *(-?\d+\.\d\d)%[)*]$")
    cells_by_row = {}
    for line in text(year, name).splitlines():
        head, cells = line, []
        while cell := last_cell.search(head):
            cells.append(Printed(cell[1].strip(), cell[3], cell[2] == "*"))
            head = head[: cell.start()]
        if cells:
            operation, label = head.split()
            cells_by_row[operation, label] = cells[::-1]
    return cells_by_row

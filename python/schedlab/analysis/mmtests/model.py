"""What the MMTests view is made of: tables of operations over columns, ready to be laid out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Direction = Literal["lower", "higher"]

Layout = Literal["current", "2019", "2016"]
"""Which of MMTests' sets of rows: today's; from 2019-04 to 2024-11; from 2015-03 to 2017-06."""

Stars = Literal["none", "verdicts", "mmtests-2018", "mmtests-2024"]
"""Who gives stars: nobody; the caller's verdicts; MMTests' rule from 2018-10 to 2024-11; its rule since then."""

Verdicts = Mapping[tuple[int, str], bool]
"""Whether to star a row of :class:`~schedlab.analysis.columns.Columns`, by (index of the row, name of the column)."""


@dataclass(frozen=True)
class Cell:
    """A figure and its gain over the baseline in per cent, positive when better; None where there is none."""

    value: float | None
    gain: float | None
    star: bool = False


@dataclass(frozen=True)
class Line:
    """One line: an operation (``Hmean``) on one row (``tput-4``); one cell for each column."""

    operation: str
    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Rows that are summarised alike: one benchmark, unit and direction.

    ``parameters`` name what several numbers behind a label's metric are (``time-4-100``); there are none where MMTests
    has a label of its own, or one number is all there is. ``decimals`` is how many digits values have behind the
    point, ``width`` and ``gain_width`` how wide the layout makes them.
    """

    workload: str
    metrics: tuple[str, ...]
    unit: str
    direction: Direction
    decimals: int
    width: int
    gain_width: int
    lines: tuple[Line, ...]
    parameters: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """``tbench throughput (MB/s, higher is better)``, ``hackbench time by groups, size (s, lower is better)``."""
        by = f" by {', '.join(self.parameters)}" if self.parameters else ""
        return f"{self.workload} {', '.join(self.metrics)}{by} ({self.unit}, {self.direction} is better)"


@dataclass(frozen=True)
class View:
    """All tables over the same columns, the first being the baseline; ``footers`` say what stars mean."""

    columns: tuple[str, ...]
    tables: tuple[Table, ...]
    footers: tuple[str, ...]

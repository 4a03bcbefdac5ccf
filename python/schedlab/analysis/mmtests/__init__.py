"""MMTests' comparison figures: what ``compare-mmtests.pl`` prints, computed from samples.

    Columns ──kinds (which rows a benchmark has)──▶ formulas ──▶ View (operations × columns, gains, stars)

The formulas, and when they changed: ``docs/mmtests.md``. A star is a verdict only where it is asked for as one.
"""

from __future__ import annotations

from schedlab.analysis.mmtests.model import Cell, Direction, Layout, Line, Stars, Table, Verdicts, View
from schedlab.analysis.mmtests.viewing import view

__all__ = ["Cell", "Direction", "Layout", "Line", "Stars", "Table", "Verdicts", "View", "view"]

"""The comparison figures of MMTests' ``compare-mmtests.pl``, computed from samples.

    Columns ──kinds (statistics of a benchmark)──▶ formulas ──▶ View (operations × columns, gains, stars)

``docs/mmtests.md`` has the formulas and the dates of their changes.
"""

from __future__ import annotations

from schedlab.analysis.mmtests.kinds import Layout
from schedlab.analysis.mmtests.stars import Stars
from schedlab.analysis.mmtests.tables import Cell, Line, Table, Verdicts, View, view

__all__ = ["Cell", "Layout", "Line", "Stars", "Table", "Verdicts", "View", "view"]

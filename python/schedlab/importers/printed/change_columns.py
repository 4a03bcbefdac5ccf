"""Columns of changes and spreads among the columns of a stated table: their figures are relative to other columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from schedlab.results.imported import ImportProblem

_CHANGE = r"(?:diff(?:erence)?|changes?|deltas?|[Δδ])"
_NAME = re.compile(
    rf"(?i)(?:rel\.? |relative |abs\.? |absolute )?(?:%|pct)?[ _]?{_CHANGE}[ _]?(?:\(?(?:%|pct)\)?)?"
    rf"|\(?(?:%|pct|per ?cent)\)?|(?:±|\+/?-)[ _]?%?|(?:%|pct[ _]?)(?:std\w*|sd|cv|err\w*|gain|impr\w*)"
    rf"|(?:std\w*|sd|cv|err\w*|gain|impr\w*)[ _]?(?:\(?(?:%|pct)\)?)?|improvement|imp|pct\d*|speed-?up|ratio"
)
"""Names of columns of changes and spreads."""


def is_name(text: str) -> bool:
    """Return whether a column or row of this name contains changes or spreads."""
    return _NAME.fullmatch(text) is not None


def require_none(header: Sequence[str], rows: Sequence[Sequence[str]], places: Sequence[int], where: str) -> None:
    """Raise ImportProblem if columns at these places contain changes or spreads.

    A gain of such a column over a run has no meaning. The columns have such a name, or a figure with a plus sign.
    """
    signed = {place for place in places for fields in rows if fields[place].startswith("+")}
    if found := [place for place in places if is_name(header[place]) or place in signed]:
        shown = ", ".join(f'{place + 1} ("{header[place]}")' for place in found)
        raise ImportProblem(
            f"columns of changes or spreads are not figures of a run: {shown}",
            where=where,
            todo=f"state skip={'+'.join(str(place + 1) for place in found)}, or names=NAME+NAME with other names",
        )

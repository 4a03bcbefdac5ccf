"""A layout to state for a CSV file that no reader recognises."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.importers.printed import stated
from schedlab.importers.printed.layout import layouts
from schedlab.importers.printed.lines import Line, is_rule
from schedlab.results.imported import ImportProblem


def proposed(lines: Sequence[Line], first: int, end: int, source: str) -> str | None:
    """Return a ``--table`` option that reads ``lines[first:end]`` as CSV; None if the lines are not CSV with a header.

    The user still decides between ``columns=metrics`` and ``columns=runs``, which no text shows.
    """
    inside = [line for line in lines[first:end] if line.text and not is_rule(line.text)]
    for separator in ("commas", "semicolons"):
        header, *rows = [stated.divided(line, separator) for line in inside]
        if len(header) < 2 or not rows or {len(fields) for fields in rows} != {len(header)}:
            continue
        texts = [k for k in range(len(header)) if not all(stated.is_figure(fields[k]) for fields in rows)]
        labels = [k + 1 for k in texts if texts[: k + 1] == list(range(k + 1))] or [1]
        if len({tuple(fields[k - 1] for k in labels) for fields in rows}) < len(rows):
            labels = []
        skip = [k + 1 for k in texts if k + 1 not in labels]
        words = f"lines={inside[0].number}-{inside[-1].number},columns=metrics,separator={separator}"
        words += f",label={'+'.join(map(str, labels)) or 'none'}{',skip=' * bool(skip)}{'+'.join(map(str, skip))}"
        try:
            stated.read(lines, first, end, layouts(words)[0], source)
        except ImportProblem:
            continue
        return (
            f"--table {words} (where a row is a run; where a column is a run: columns=runs), with better=lower|higher"
        )
    return None

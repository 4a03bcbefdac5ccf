"""The reader of values in columns: it asks which of the forms a file has."""

from __future__ import annotations

from schedlab.importers.logs.base import Log, Reader, Reading
from schedlab.importers.logs.values import summary, tidy, wide
from schedlab.importers.logs.values.grid import NoGrid, grid
from schedlab.importers.logs.values.roles import roles_of

_ENOUGH = 200
"""Lines by which a file of values is told: more would take as long as reading it."""


def recognises(head: str) -> bool:
    """Names above rows of as many values, or a number a line; the last line of a head may be cut off."""
    lines = head.rstrip("\n").split("\n")[:_ENOUGH]
    for rows in (lines, lines[:-1]):
        try:
            grid("\n".join(rows))
        except NoGrid:
            continue
        return True
    return False


def read(log: Log) -> Reading:
    """Summaries as a table; else samples, of variants side by side or one measurement a row."""
    try:
        found = grid(log.text)
    except NoGrid as error:
        raise log.problem(error.what, error.line, "every row needs as many values as there are names") from error
    roles = roles_of(found)
    if summary.is_summary(found, roles):
        return summary.read(log, found, roles)
    if wide.is_wide(found, roles):
        return wide.read(log, found, roles)
    return tidy.read(log, found, roles)


READER = Reader(
    "csv",
    "values in columns: CSV of samples, of variants side by side, or of summaries",
    recognises,
    read,
    in_mails=False,
)

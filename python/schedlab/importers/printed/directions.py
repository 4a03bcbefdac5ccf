"""Which direction is better in each row: what words say, checked against the signs of the printed changes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.benchmarks import Benchmark
from schedlab.results import Cell, Direction, TableRow

_NEITHER = frozenset({"ops", "cpu", "cpu%"})
"""Of counters in general, and of the CPU's share, neither more nor less is better."""
_HARMONIC = re.compile(r"(?:Sub|B)?Hmean(?:[-.%][\d.]+%?)?", re.IGNORECASE)
_TELLING_STATISTICS = frozenset({"lat", "time", "mb/sec", "gb/sec"})
"""Operations that are metrics, and so tell the direction."""
_PERCENTILE = re.compile(r"\d\d(?:\.\d+)?th", re.IGNORECASE)
_RATE = re.compile(r"rps|requests", re.IGNORECASE)
_TIME_OF = re.compile(
    r"\b(?:time|system|user)\s+(?=[a-z])(?!(?:in|of|to|for|per|taken|spent|elapsed)\b)", re.IGNORECASE
)
"""A word that only tells something of the next one: a fork time hint is no time."""
_HEADING_WORDS = 6
"""In longer titles ``time`` or ``system`` may mean anything."""
Gains = Literal["improvement", "change"]


def guess(operation: str, label: str, unit: str, title: str, around: str, known: Benchmark | None) -> Direction | None:
    """The direction as far as words tell: the row's own first, then its table's, then its benchmark's.

    MMTests takes harmonic means of rates only, arithmetic ones mostly of times.
    """
    head = f"{operation} {label}"
    if words.SPREAD_OPERATION.match(operation):
        return "lower"
    if operation.lower() in _NEITHER:
        return None
    if operation.lower() == "duration" or words.DURATION.match(operation):
        return "lower"
    if _HARMONIC.fullmatch(operation):
        return "higher"
    # A percentile has no name but that of what the title says it is of.
    of_title = words.PERCENTILE.fullmatch(operation) is not None
    for direction in (
        words.said_direction(head),
        words.said_direction(f"{title}\n{around}"),
        words.worded_direction(_without_statistic(head)),
        words.worded_direction(unit),
        words.worded_direction(_TIME_OF.sub("", title)) if len(title.split()) <= _HEADING_WORDS or of_title else None,
        known.direction if known else None,
    ):
        if direction:
            return direction
    # schbench's percentiles are of wake-up and request latencies, but for those of requests a second.
    latency = known and known.name == "schbench" and _PERCENTILE.search(head) and not _RATE.search(f"{head} {title}")
    said = f"{title}\n{around}"
    latency = latency or (of_title and "latenc" in said.lower() and not _RATE.search(said))
    return "lower" if latency or operation.lower() == "amean" else None


def _without_statistic(head: str) -> str:
    """The head without MMTests' statistic, of which ``Max`` or ``Mean`` imply nothing."""
    first, _, rest = head.partition(" ")
    statistic = words.OPERATION.match(first) and first.lower() not in _TELLING_STATISTICS
    return rest if statistic and rest else head


def settle(
    rows: Sequence[TableRow], baseline: int, mmtests: bool, plain: bool = False
) -> tuple[tuple[TableRow, ...], Gains, list[str]]:
    """Rows with the direction that their changes prove, what the changes are, and where words had it otherwise.

    A change of MMTests is an improvement: its sign beside the values' own tells the direction. Other tables' changes
    are improvements only if some of them run against their values; else they are plain changes, which prove nothing.
    Nor do those of a column that is ``plain`` by its name (``delta``) where words have it otherwise.
    """
    votes: defaultdict[tuple[bool, str], int] = defaultdict(int)
    for row in rows:
        votes[_kind(row)] += sum(_vote(row.cells[baseline], cell) for k, cell in enumerate(row.cells) if k != baseline)
    if not mmtests and all(count >= 0 for count in votes.values()):
        return tuple(rows), "change" if any(votes.values()) else "improvement", []
    if not mmtests and not _words_agree(rows, votes):
        # Some changes run against their values and words do not explain it: errors of the source stay visible as such.
        opposed = sum(count < 0 for count in votes.values())
        if plain or opposed * 2 < sum(count != 0 for count in votes.values()):
            return tuple(rows), "change", []
    out, against = [], defaultdict[tuple[bool, str], list[TableRow]](list)
    for row in rows:
        count = votes[_kind(row)]
        proved: Direction | None = "higher" if count > 0 else "lower" if count < 0 else row.direction
        out.append(row if proved == row.direction else replace(row, direction=proved))
        if row.direction and proved != row.direction:
            against[_kind(row)].append(row)
    return tuple(out), "improvement", [_note(wrong) for wrong in against.values()]


def _note(rows: Sequence[TableRow]) -> str:
    first = rows[0]
    name, more = (
        f"{first.operation} {first.label}".strip(),
        f" and {len(rows) - 1} rows like it" if len(rows) > 1 else "",
    )
    proved = "lower" if first.direction == "higher" else "higher"
    return (
        f'line {first.line}: "{name}"{more} is taken as {proved}-is-better, as the printed changes say; '
        f"by its name it would be {first.direction}-is-better"
    )


def _words_agree(rows: Sequence[TableRow], votes: dict[tuple[bool, str], int]) -> bool:
    return all(
        row.direction is None or votes[_kind(row)] == 0 or (votes[_kind(row)] > 0) == (row.direction == "higher")
        for row in rows
    )


def _kind(row: TableRow) -> tuple[bool, str]:
    """Rows whose changes must have one sign: those of one metric, its spreads apart."""
    spread = words.SPREAD_OPERATION.match(row.operation) is not None
    name = row.label if words.OPERATION.match(row.operation) else row.operation
    return spread, re.sub(r"\d+(?:\.\d+)?", "", name)


def _vote(base: Cell, cell: Cell) -> int:
    """1 where the change follows the value, -1 where it runs against it, 0 where one of them does not move."""
    if cell.gain is None or base.value is None or cell.value is None or base.value <= 0:
        return 0
    moved = cell.value - base.value
    if moved == 0 or cell.gain == 0:
        return 0
    return 1 if (moved > 0) == (cell.gain > 0) else -1

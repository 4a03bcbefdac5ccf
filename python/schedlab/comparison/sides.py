"""The sides of a comparison: columns, each with the store that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from schedlab.store.columns import Chosen
from schedlab.store.reading import Run


@dataclass(frozen=True)
class Side:
    """One column and its store."""

    column: Chosen
    engine: Engine

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.column.name

    @property
    def run(self) -> Run:
        """The run that it is a part of."""
        return self.column.run

    @property
    def of(self) -> tuple[Engine, int]:
        """What identifies its run: runs of two stores may have the same number."""
        return self.engine, self.column.run.id


def one_of_each_run(sides: Sequence[Side]) -> list[Side]:
    """The first side of each run, in order."""
    first: dict[tuple[Engine, int], Side] = {}
    for side in sides:
        first.setdefault(side.of, side)
    return list(first.values())


def variants_taken(sides: Sequence[Side], of: Side) -> set[str]:
    """The variants of a side's run that are compared."""
    return {side.column.variant for side in sides if side.of == of.of}

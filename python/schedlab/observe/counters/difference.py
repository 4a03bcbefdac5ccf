"""From two readings to numbers: what rose between them, and what cannot be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schedlab.observe.counters.source import Reading


@dataclass(frozen=True)
class Difference:
    """``values``: counter → rise. ``dropped``: counter → why its rise is not known."""

    values: dict[str, float]
    dropped: dict[str, str]


def between(before: Reading, after: Reading, by_cpu: frozenset[str]) -> Difference:
    """The rise of each counter from one reading to the next; a counter with any doubt is dropped, never guessed.

    Counters only rise. One that fell has wrapped (many are 32 bits wide) or was reset; one whose CPUs are not the
    same in both readings lost what those CPUs had counted.
    """
    values: dict[str, float] = {}
    dropped: dict[str, str] = {}
    for name in before.keys() | after.keys():
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            dropped[name] = "was switched on or off"
            continue
        rises = {part: new[part] - old[part] for part in old.keys() & new.keys()}
        if old.keys() != new.keys():
            dropped[name] = "lost or gained a CPU"
        elif any(rise < 0 for rise in rises.values()):
            dropped[name] = "went backwards"
        else:
            values[name] = sum(rises.values())
        if name in by_cpu:
            values |= _by_cpu(name, rises)
    return Difference(values, dropped)


def _by_cpu(name: str, rises: Mapping[str, int]) -> dict[str, float]:
    return {f"{name}.cpu{part}": rise for part, rise in rises.items() if part and rise >= 0}

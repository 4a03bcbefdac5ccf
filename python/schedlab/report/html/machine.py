"""The machines: fingerprints flattened into lines, side by side where several runs are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.store.reading import Run


@dataclass(frozen=True)
class Fact:
    """One line of the fingerprint: a value for each run, ``-`` where it is not known."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the runs do not agree."""
        return len(set(self.values)) > 1


def facts(runs: Sequence[Run]) -> list[Fact]:
    """Every line that any run has, in the order of the first that has it."""
    flat = [dict(_flat(run.fingerprint)) for run in runs]
    names = dict.fromkeys(name for of_run in flat for name in of_run)
    return [Fact(name, tuple(of_run.get(name, "-") for of_run in flat)) for name in names]


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """``cpu.model`` → its text; a list's items by their place, as in ``caches.0.size``."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}".strip("."))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _flat(inner, f"{path}.{place}")
    else:
        yield path, "-" if value is None or value == "" else str(value)

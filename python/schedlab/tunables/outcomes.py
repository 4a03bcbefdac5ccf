"""What became of a value: written for a variant, or put back, or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Change:
    """A value that was written, in canonical form."""

    name: str
    path: Path
    old: str
    new: str


@dataclass(frozen=True)
class Restored:
    """The original value is in place; `wrote` is False when it was there already."""

    name: str
    path: Path
    value: str
    wrote: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.value} {'put back in' if self.wrote else 'already in'} {self.path}"


@dataclass(frozen=True)
class LeftAlone:
    """A value that is not ours to put back; `original` is what was there before the run."""

    name: str
    path: Path
    original: str
    current: str | None
    reason: str

    def __str__(self) -> str:
        now = "" if self.current is None else f" at {self.current}"
        return f"{self.name}: {self.path} left{now}, {self.reason}; before the run it was {self.original}"


@dataclass(frozen=True)
class Failed:
    """A value that should have been put back and could not; its journal stays, and the next start tries again."""

    name: str
    path: Path
    original: str
    reason: str
    errno: int = 0

    def __str__(self) -> str:
        return f"{self.name}: could not put {self.original} back in {self.path}: {self.reason}"


Outcome = Restored | LeftAlone | Failed

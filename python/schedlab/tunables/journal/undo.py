"""The history of each value that a journal records, and putting values back, last written first.

The live journal and the recovery of dead runs use the same functions, so that both have the same behaviour.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from schedlab.tunables.codecs import codec
from schedlab.tunables.kernel_files import Files
from schedlab.tunables.mounts import DEBUGFS

from . import journal_file
from .journal_file import Back, Done, Record, Released, Write
from .resources import NotRemoved, Removed

DAMAGED = "damaged"
"""Folder, in the folder of journals, of damaged journals."""

LEFT_ALONE = "left-alone"
"""Folder, in the folder of journals, of the journals whose values another process has changed."""


@dataclass(frozen=True)
class Change:
    """A value that was written, in canonical form."""

    name: str
    path: Path
    old: str
    new: str


@dataclass(frozen=True)
class Restored:
    """A value that is the original again; `wrote` is False when nothing had to be written."""

    name: str
    path: Path
    value: str
    wrote: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.value} {'put back in' if self.wrote else 'already in'} {self.path}"


@dataclass(frozen=True)
class LeftAlone:
    """A value that the run must not put back; `original` is the value before the run."""

    name: str
    path: Path
    original: str
    current: str | None
    reason: str

    def __str__(self) -> str:
        now = "" if self.current is None else f" at {self.current}"
        return f"{self.name}: {self.path} left{now}, {self.reason}; before the run the value was {self.original}"


@dataclass(frozen=True)
class Failed:
    """A value that could not be put back. The journal stays, and the next start tries again."""

    name: str
    path: Path
    original: str
    reason: str
    errno: int = 0

    def __str__(self) -> str:
        return f"{self.name}: could not put {self.original} back in {self.path}: {self.reason}"


@dataclass(frozen=True)
class Damaged:
    """A damaged journal, kept at `path`. The values that can be read have separate outcomes."""

    path: Path
    why: str

    def __str__(self) -> str:
        return (
            f"a journal was damaged ({self.why}); the values that can be read are undone, other values may still be "
            f"changed. "
            f"The journal is kept as {self.path}: read the file, or reboot, which undoes every change"
        )


Outcome = Restored | LeftAlone | Failed | Damaged | Removed | NotRemoved

Slot = tuple[str, str]
"""A value's address: path and codec. Features share a path, and the codec names the feature."""


@dataclass
class History:
    """A file's value before the run, and the run's last write. `made` is True when that write is certainly done."""

    name: str
    path: Path
    codec: str
    original: str
    last: Write
    made: bool = False
    taken_back: bool = False

    @property
    def ours(self) -> str:
        """The value that the run last gave the file."""
        return self.last.old if self.taken_back else self.last.new

    @property
    def in_debugfs(self) -> bool:
        """Whether the file is in the running kernel's debugfs, which may have to be mounted first."""
        return self.path.is_relative_to(DEBUGFS)

    @property
    def possible(self) -> frozenset[str]:
        """Values that the file may contain if only the run has written to it."""
        return frozenset({self.ours} if self.made or self.taken_back else {self.last.old, self.last.new})


class Verdict(Enum):
    """Treatment of a value at the end of a run."""

    IN_PLACE = "the original is in place"
    PUT_BACK = "the run wrote the value, and the original is put back"
    FOREIGN = "another process changed the value"


class Histories:
    """The histories of all values that a journal is responsible for, in the order of first writes."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._by_slot: dict[Slot, History] = {}
        self._slot_of: dict[int, Slot] = {}
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Update the histories with the next record."""
        match record:
            case Write():
                slot = (record.path, record.codec)
                self._slot_of[record.n] = slot
                before = self._by_slot.get(slot)
                original = record.original if before is None else before.original
                self._by_slot[slot] = History(record.name, Path(record.path), record.codec, original, record)
            case Done(numbers):
                for history in self._latest(numbers):
                    history.made = True
                    self._forget_if_original(history)
            case Back(numbers):
                for history in self._latest(numbers):
                    history.taken_back = True
                    self._forget_if_original(history)
            case Released(numbers):
                for history in self._latest(numbers):
                    self._forget(history)

    def get(self, slot: Slot) -> History | None:
        """The value's history; None for a value that the journal is not responsible for."""
        return self._by_slot.get(slot)

    def all(self) -> list[History]:
        """Every history, in the order of first writes."""
        return list(self._by_slot.values())

    def _forget_if_original(self, history: History) -> None:
        """Forget a value that is back at its original; a later write begins a new history."""
        if history.ours == history.original:
            self._forget(history)

    def _forget(self, history: History) -> None:
        self._by_slot.pop((str(history.path), history.codec), None)

    def _latest(self, numbers: Iterable[int]) -> list[History]:
        """The histories whose last write has one of these numbers."""
        histories = (self._by_slot.get(self._slot_of.get(number, ("", ""))) for number in numbers)
        wanted = set(numbers)
        return [history for history in histories if history is not None and history.last.n in wanted]


def judge(history: History, current: str | None) -> Verdict:
    """Decide what to do with a file that contains `current`."""
    if current == history.original:
        return Verdict.IN_PLACE
    if current is not None and (current in history.possible or not codec(history.codec).steady):
        return Verdict.PUT_BACK
    return Verdict.FOREIGN


Release = Callable[[History, Literal["restored", "left"]], None]


def undo(histories: Sequence[History], files: Files, release: Release) -> list[Outcome]:
    """Put every value of the run back, in reverse order of first writes, and return the outcome of each value.

    `release` is called for each value that needs nothing more. A value that the kernel calls invalid is tried again
    after the other values: runtime and period, for example, limit each other.
    """
    outcomes: list[Outcome] = []
    waiting = list(reversed(histories))
    while waiting:
        again: list[tuple[History, Failed]] = []
        for history in waiting:
            outcome = _undo_one(history, files)
            if isinstance(outcome, Failed) and outcome.errno == errno.EINVAL:
                again.append((history, outcome))
                continue
            outcomes.append(outcome)
            if not isinstance(outcome, Failed):
                release(history, "left" if isinstance(outcome, LeftAlone) else "restored")
        if len(again) == len(waiting):
            outcomes.extend(failed for _, failed in again)
            break
        waiting = [history for history, _ in again]
    return outcomes


def _undo_one(history: History, files: Files) -> Outcome:
    name, path, original = history.name, history.path, history.original
    format_ = codec(history.codec)
    try:
        current = format_.decode(files.read(path))
        match judge(history, current):
            case Verdict.IN_PLACE:
                return Restored(name, path, original, wrote=False)
            case Verdict.FOREIGN:
                return LeftAlone(
                    name, path, original, current, (f"another process changed the value from {history.ours}")
                )
            case Verdict.PUT_BACK:
                files.write(path, format_.encode(original), format_)
        current = format_.decode(files.read(path))
    except (FileNotFoundError, NotADirectoryError):
        return LeftAlone(name, path, original, None, "because the file is gone")
    except OSError as error:
        return Failed(name, path, original, error.strerror or str(error), error.errno or 0)
    if format_.steady and current != original:
        return Failed(name, path, original, f"the value was written, but the file contains {current}")
    return Restored(name, path, original, wrote=True)


def is_open(outcomes: Sequence[Outcome]) -> bool:
    """Whether something is left to undo."""
    return any(isinstance(outcome, Failed | NotRemoved) for outcome in outcomes)


def retire(path: Path, outcomes: Sequence[Outcome], *, damaged: bool = False) -> Path:
    """Remove or move the journal after an undo with these outcomes; return its path.

    The journal stays while something is left to undo. A damaged journal moves to the folder DAMAGED. A journal with a
    value that another process changed moves to LEFT_ALONE.
    """
    if is_open(outcomes):
        return path
    if damaged:
        return journal_file.set_aside(path, DAMAGED)
    if any(isinstance(outcome, LeftAlone) for outcome in outcomes):
        return journal_file.set_aside(path, LEFT_ALONE)
    journal_file.remove(path)
    return path

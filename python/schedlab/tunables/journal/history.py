"""What a journal's records say about each file, and what that means for putting it back. No files, no clock.

The same fold serves the live journal and the one that a later start finds, so the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from schedlab.tunables.codecs import codec

from .records import Back, Done, Record, Released, Write

Slot = tuple[str, str]
"""A value's address: path and codec. Several values (features) share a path, and a codec names which is meant."""


@dataclass
class History:
    """One value's story: what it was before the run, and what the run's last write may have left in the file."""

    name: str
    path: Path
    codec: str
    original: str
    last: Write
    made: bool = False
    """True when the last write is known to have happened."""
    taken_back: bool = False

    @property
    def ours(self) -> str:
        """The value that the run last meant the file to hold."""
        return self.last.old if self.taken_back else self.last.new

    @property
    def possible(self) -> frozenset[str]:
        """Values that the file may hold if nobody but the run has touched it."""
        return frozenset({self.ours} if self.made or self.taken_back else {self.last.old, self.last.new})


class Verdict(Enum):
    """What is to be done with a value at the end."""

    THERE = "the original is in place"
    PUT_BACK = "it is ours, and goes back"
    FOREIGN = "somebody else changed it"


class Histories:
    """Every value that a journal has to answer for, in the order of first writes."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._by_slot: dict[Slot, History] = {}
        self._slot_of: dict[int, Slot] = {}
        for record in records:
            self.take(record)

    def take(self, record: Record) -> None:
        """Account for one more record."""
        match record:
            case Write():
                slot = (record.path, record.codec)
                self._slot_of[record.n] = slot
                known = self._by_slot.get(slot)
                original = record.old if known is None else known.original
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
        """The value's story, or None when the journal has nothing to do with it."""
        return self._by_slot.get(slot)

    def all(self) -> list[History]:
        """Every story, in the order of first writes."""
        return list(self._by_slot.values())

    def _forget_if_original(self, history: History) -> None:
        """A value that is back at its original is nobody's; a later write begins a new story."""
        if history.ours == history.original:
            self._forget(history)

    def _forget(self, history: History) -> None:
        self._by_slot.pop((str(history.path), history.codec), None)

    def _latest(self, numbers: Iterable[int]) -> list[History]:
        found = (self._by_slot.get(self._slot_of.get(number, ("", ""))) for number in numbers)
        wanted = set(numbers)
        return [history for history in found if history is not None and history.last.n in wanted]


def judge(history: History, current: str | None) -> Verdict:
    """Whether a file that now holds `current` is to be put back."""
    if current == history.original:
        return Verdict.THERE
    if current is not None and (current in history.possible or not codec(history.codec).steady):
        return Verdict.PUT_BACK
    return Verdict.FOREIGN

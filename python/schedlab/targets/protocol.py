"""What every target offers: this machine's kernel, a virtual one, a remote one, a simulated one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.measurement import Measurement


@dataclass(frozen=True)
class Obstacle:
    """A reason why a plan cannot run here: what it concerns, why, and what would mend it."""

    subject: str
    reason: str
    mend: str = ""

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}" + (f"\n  → {self.mend}" if self.mend else "")


@dataclass(frozen=True)
class Download:
    """Something that a run brings here before its first trial, once: what it is, and the call that brings it."""

    what: str
    fetch: Callable[[], object]


class Session(Protocol):
    """A target made ready for one run."""

    @property
    def notes(self) -> Sequence[str]:
        """What could not be observed so far, and what would turn it on."""

    def put_in_place(self, variant: Variant) -> None:
        """Make the system's state that of the variant; a no-op when it is already."""

    def run(self, trial: Trial) -> Measurement:
        """Run one trial under the variant in place. A trial's failure is a measurement, not an exception."""


class Target(Protocol):
    """A place where trials run."""

    name: str
    """For people: ``host``."""
    kind: str
    """How its figures come to be: ``real``, ``simulated``, ``scripted``, …"""
    virtual: bool
    """Whether time passes on a clock of its own: then nobody waits for a design's pauses."""

    warms: bool
    """Whether a warm-up reaches the trials after it, as on a machine, which cools again while nothing runs. A guest or
    a simulation begins anew each time, whatever ran before."""

    def obstacles(self, plan: Plan) -> Sequence[Obstacle]:
        """Everything that would stop this plan here; found without changing or downloading anything."""

    def downloads(self) -> Sequence[Download]:
        """What is not here yet and can be had; what depends on it is no obstacle before it is here."""

    def fingerprint(self) -> Mapping[str, Any]:
        """What the machine is, JSON-ready."""

    def fingerprint_hash(self, fingerprint: Mapping[str, Any]) -> str:
        """The same for the same machine in the same configuration."""

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """What of the machine is another now than in this fingerprint, as key paths."""

    leftovers: Sequence[str]
    """What the last session could not put back, or what was not its to put back; for people."""

    def session(self, plan: Plan, run_id: int) -> AbstractContextManager[Session]:
        """Get ready for a run; at the exit everything is as it was before, whatever happened."""

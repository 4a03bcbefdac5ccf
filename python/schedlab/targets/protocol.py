"""The interface of every target: this machine's kernel, a virtual machine, a simulated machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import CONTROL, Plan, Trial
from schedlab.observe.fingerprint import differences, stable_hash
from schedlab.results.measurement import Measurement

SILENT_CONTROL = (
    f"{CONTROL!r} is the baseline under the same seeds: equal by construction, so that the control shows no noise"
)
"""Note of targets whose trials depend on their seed only."""

Fault = tuple[str, str]
"""A reason why a trial cannot run, and a remedy."""


@dataclass(frozen=True)
class MissingRequirement:
    """A reason why a plan cannot run on a target: its subject, the reason, and the remedy."""

    subject: str
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}" + (f"\n  → {self.remedy}" if self.remedy else "")


@dataclass(frozen=True)
class Download:
    """A file that a run fetches before its first trial: a description, and the call that fetches the file."""

    what: str
    fetch: Callable[[], object]


@dataclass(frozen=True)
class Boots:
    """The boots of a plan: their number, their estimated seconds in total, and whether they wait for pauses.

    ``variants`` are the names of the variants whose kernels boot.
    """

    count: int
    seconds: float
    waits: bool
    variants: frozenset[str] = frozenset()


class Session(Protocol):
    """A target that is ready for one run."""

    @property
    def notes(self) -> Sequence[str]:
        """Data that could not be observed, and how to enable the observation."""

    def put_in_place(self, variant: Variant) -> None:
        """Change the system to the variant's state; a no-op when the system has that state."""

    def run(self, trial: Trial) -> Measurement:
        """Run one trial under the variant in place. A trial's failure is a measurement, not an exception."""


class Identity(Protocol):
    """What the figures of a run belong to: a machine in a configuration, or the models of a simulation."""

    name: str
    """The target's name for people, such as ``host``."""
    kind: str
    """The kind of its figures: ``real``, ``simulated``, ``scripted``, …"""

    def downloads(self) -> Sequence[Download]:
        """Files that a run has to fetch first. A requirement that a download meets is not missing."""
        return ()

    def fingerprint(self) -> Mapping[str, Any]:
        """Return a description of the machine that JSON can represent."""

    def fingerprint_hash(self, fingerprint: Mapping[str, Any]) -> str:
        """Return the same text for the same machine in the same configuration."""
        return stable_hash(fingerprint)

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """Return the key paths in which the machine differs from this fingerprint."""
        return differences(fingerprint, self.fingerprint())


class Target(Identity, Protocol):
    """A place where trials run."""

    virtual: bool
    """Whether time passes on a virtual clock. Such a target does not wait for a design's pauses."""
    warms: bool
    """Whether a warm-up affects later trials, as on a machine. A guest or a simulation always starts afresh."""
    leftovers: Sequence[str] = ()
    """Messages about state that the last session could not restore, or left because another process changed it."""

    def missing_requirements(self, plan: Plan) -> Sequence[MissingRequirement]:
        """All reasons why this plan cannot run here. The check changes and downloads nothing."""

    def session(self, plan: Plan, run_id: int) -> AbstractContextManager[Session]:
        """Prepare a run; at the exit the machine's state is restored, even after an error."""


def by_variant(faults: Iterable[tuple[str, Fault]], every: int | None = None) -> Iterator[MissingRequirement]:
    """Report each fault of the (variant, fault) pairs once, with all variants that have the fault.

    ``every`` is the number of variants that were checked, if "every variant" may replace their names.
    """
    variants: dict[Fault, list[str]] = {}
    for name, fault in faults:
        variants.setdefault(fault, []).append(name)
    for (reason, remedy), names in variants.items():
        subject = "every variant" if 1 < len(names) == every else naming(names)
        yield MissingRequirement(subject, reason, remedy)


MOST_NAMES = 10
"""Most variants that a message names."""


def naming(names: Sequence[str]) -> str:
    """Name variants in a message: ``variant 'a'``, ``variants 'a', 'b'``; the first ten of many."""
    listed = ", ".join(map(repr, names[:MOST_NAMES]))
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{'variants' if len(names) > 1 else 'variant'} {listed}{more}"

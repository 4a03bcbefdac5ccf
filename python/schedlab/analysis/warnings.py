"""Warnings: each is a kind of its own, says what was seen, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Every warning that a report can carry."""

    CONTROL = "control"
    RESOLUTION = "resolution"
    FAILED = "failed-trials"
    INCOMPLETE = "incomplete"
    DRIFT = "drift"
    AUTOCORRELATION = "autocorrelation"
    MODES = "two-modes"
    OUTLIERS = "outliers"
    STEAL = "steal"
    LOAD = "load"
    FREQUENCY = "frequency"
    CLOCKSOURCE = "clocksource"
    MACHINE = "machine"


_NEXT = {
    Kind.CONTROL: "do not trust this run's verdicts: find what disturbs the machine, or use more blocks",
    Kind.RESOLUTION: "ask for more blocks, or fewer rows or metrics",
    Kind.FAILED: "read their output with 'schedlab report --failures' and this run's number and store",
    Kind.INCOMPLETE: "go on with 'schedlab run' on the same file and store, and --resume",
    Kind.DRIFT: 'pairing by block takes most of it out; a longer warm-up or interleave = "rows" takes out more',
    Kind.AUTOCORRELATION: "a disturbance outlasts a trial: take more blocks, over a longer time, not more iterations",
    Kind.MODES: "a mean hides them: find what flips (placement, frequency, huge pages), or pin it, and measure again",
    Kind.OUTLIERS: "nothing was dropped; look at those blocks, and use more blocks if they recur",
    Kind.STEAL: "another guest had the CPUs: use more blocks, or a quieter or dedicated host",
    Kind.LOAD: "something else ran: stop it, or keep it off the CPUs that are measured",
    Kind.FREQUENCY: "fix the governor to performance and turn turbo off, or read small effects with care",
    Kind.MACHINE: "trials before and after the change were measured on two machines: run it again on one",
    Kind.CLOCKSOURCE: "times before and after the change do not compare: boot with a stable clock and run again",
}


@dataclass(frozen=True)
class Warning:
    """One warning: its kind, what was seen, and what to do next."""

    kind: Kind
    seen: str

    @property
    def todo(self) -> str:
        """What to do next."""
        return _NEXT[self.kind]

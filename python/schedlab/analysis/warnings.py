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
    SPREAD = "spread"
    STEAL = "steal"
    LOAD = "load"
    FREQUENCY = "frequency"
    CLOCKSOURCE = "clocksource"
    MACHINE = "machine"
    MACHINES = "other-machines"
    ORIGIN = "origins"
    UNPAIRED = "unpaired"
    POOLED = "pooled-samples"
    GOVERNOR = "governor"
    EMULATED = "emulated"
    COUNTED = "instructions-counted"
    PARAMETERS = "boot-parameters"


_NEXT = {
    Kind.CONTROL: "do not trust this run's verdicts: find what disturbs the machine, or use more blocks",
    Kind.RESOLUTION: "ask for more blocks, or fewer rows or metrics",
    Kind.FAILED: "read their output with 'schedlab report --failures' and this run's number and store",
    Kind.INCOMPLETE: "go on with 'schedlab run' on the same file and store, and --resume",
    Kind.DRIFT: 'pairing by block takes most of it out; a longer warm-up or interleave = "rows" takes out more',
    Kind.AUTOCORRELATION: "a disturbance outlasts a trial: take more blocks, over a longer time, not more iterations",
    Kind.MODES: "a mean hides them: find what flips (placement, frequency, huge pages), or pin it, and measure again",
    Kind.OUTLIERS: "nothing was dropped; look at those blocks, and use more blocks if they recur",
    Kind.SPREAD: "the change may be one of spread, not of the mean: look at the distributions, and take more blocks",
    Kind.STEAL: "another guest had the CPUs: use more blocks, or a quieter or dedicated host",
    Kind.LOAD: "something else ran: stop it, or keep it off the CPUs that are measured",
    Kind.FREQUENCY: "fix the governor to performance and turn turbo off, or read small effects with care",
    Kind.MACHINE: "trials before and after the change were measured on two machines: run it again on one",
    Kind.MACHINES: "what differs may be why the figures do: measure both on one machine, as variants of one experiment",
    Kind.ORIGIN: "they came to be in different ways: trust the sign of a change at most, and measure it in one way",
    Kind.UNPAIRED: "take a difference for a hint: measure both in turn, block by block, with 'schedlab run'",
    Kind.POOLED: "samples of one block resemble each other, so p is too small: import or measure several blocks",
    Kind.GOVERNOR: "trials before and after ran under two governors: fix it to performance and run again",
    Kind.EMULATED: "read counters ('schedlab report --counters'), not times and rates: those need KVM or hardware",
    Kind.COUNTED: "blocks are seeds: they replicate the kernel's own choices, not a machine's noise",
    Kind.PARAMETERS: "kernels pass over what they do not know: look it up in kernel-parameters.txt of that kernel",
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

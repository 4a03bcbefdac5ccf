"""Warnings of a report: the name, the text and the advice of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Every warning that a report can contain: its published name, the observation, and the advice.

    The observation is a format string; :meth:`warning` fills it in.
    """

    text: str
    advice: str

    def __new__(cls, name: str, text: str, advice: str) -> Kind:
        """Make a member that equals its published name."""
        member = str.__new__(cls, name)
        member._value_, member.text, member.advice = name, text, advice
        return member

    def warning(self, **facts: object) -> Warning:
        """Return the warning with these facts in its text."""
        return Warning(self, self.text.format(**facts))

    CONTROL = (
        "control",
        "the A/A control, the same as the baseline, differs from it in {alarms} of {rows} rows",
        "do not trust this run's verdicts: find what disturbs the machine, or use more blocks",
    )
    RESOLUTION = (
        "resolution",
        "{blocks} cannot show any difference over {rows}, however large; {needed} can",
        "ask for more blocks, or fewer rows or metrics",
    )
    FAILED = (
        "failed-trials",
        "{failed} of {recorded} trials failed; the first: {workload} under {variant}: {reason}",
        "read their output with 'schedlab report --failures' and this run's number and store",
    )
    INCOMPLETE = (
        "incomplete",
        "{missing} of {planned} trials have not run",
        "continue with 'schedlab run --resume' on the same file and store",
    )
    DRIFT = (
        "drift",
        "{workload} {metric} moved by {change:+z.1f} % from first trial to last",
        'pairing by block removes most of the drift; a longer warm-up or interleave = "rows" removes more',
    )
    AUTOCORRELATION = (
        "autocorrelation",
        "{workload} {metric}: neighbours in time resemble each other (correlation {correlation:.2f})",
        "a disturbance outlasts a trial: take more blocks, over a longer time, not more iterations",
    )
    MODES = (
        "two-modes",
        "block means have two modes: {cells}",
        "a mean hides two modes: find the cause (placement, frequency, huge pages), fix it, and measure again",
    )
    OUTLIERS = (
        "outliers",
        "outside the fences around the quartiles: {blocks}",
        "nothing was dropped; look at those blocks, and use more blocks if they recur",
    )
    SPREAD = (
        "spread",
        "{workload} {metric}: block means under {variant} spread {ratio:.1f} times as wide as the baseline's",
        "the spread may have changed instead of the mean: look at the distributions, and take more blocks",
    )
    MEANS = (
        "means",
        "{workload} {metric}: under {variant} the change is {change:+z.1f} %, "
        "and {arithmetic:+z.1f} % of the arithmetic means, outside the interval",
        "a few large values decide the arithmetic mean; verdicts are on logarithms: look at the block values",
    )
    STEAL = (
        "steal",
        "{percent:.1f} % of the CPUs' time was stolen by the hypervisor (worst trial {worst:.0f} %)",
        "another guest had the CPUs: use more blocks, or a quieter or dedicated host",
    )
    LOAD = (
        "load",
        "other processes used {percent:.1f} % of the CPUs' time during the trials",
        "stop the other processes, or keep them off the CPUs that are measured",
    )
    FREQUENCY = (
        "frequency",
        "CPU frequencies varied from {low} to {high} MHz",
        "fix the governor to performance and turn turbo off, or read small effects with care",
    )
    CLOCKSOURCE = (
        "clocksource",
        "the kernel changed its clock source during the run ({sources})",
        "times before and after the change cannot be compared: boot with a stable clock source and run again",
    )
    MACHINE = (
        "machine",
        "the machine changed during the run: {changes}",
        "trials ran on different machines or configurations: repeat the run without such a change",
    )
    MACHINES = (
        "other-machines",
        "{column} was not measured on the machine or configuration of {baseline}: {differences}",
        "these differences may explain the figures: measure both on one machine, as variants of one experiment",
    )
    ORIGIN = (
        "origins",
        "figures of several kinds are compared: {kinds}",
        "trust the sign of a change at most: measure all columns in the same way",
    )
    UNPAIRED = (
        "unpaired",
        "{columns} and {baseline} were not measured in turn: an effect of the order cannot be ruled out",
        "treat a difference as a hint: measure both in turn, block by block, with 'schedlab run'",
    )
    POOLED = (
        "pooled-samples",
        "{pooled} of {columns} columns have only one block; its samples were judged as independent blocks",
        "samples of one block resemble each other, so p is too small: import or measure several blocks",
    )
    GROUPS = (
        "small-groups",
        "{columns} and {baseline} have groups too small or too unequal for the test: {small} against {large} values",
        "p errs with such groups, by up to 26 %: import more values of the smaller group",
    )
    GOVERNOR = (
        "governor",
        "the CPU frequency governor changed during the run: {change}",
        "trials ran under different governors: fix the governor to performance and run again",
    )
    EMULATED = (
        "emulated",
        "a real kernel on emulated CPUs: its behaviour is right, its times are not",
        "read counters ('schedlab report --counters'): times and rates need KVM or hardware",
    )
    COUNTED = (
        "instructions-counted",
        "instructions are counted: caches, stalls and remote memory are not, and CPUs took turns",
        "blocks are random seeds: they replicate the kernel's own choices, not a machine's noise",
    )
    UNSETTLED = (
        "unsettled",
        "the machine had not settled {times}; the first: {first}",
        'find what disturbs the machine, give [settle] a longer limit, or let such trials fail with after = "fail"',
    )
    PARAMETERS = (
        "boot-parameters",
        "{note}",
        "a kernel ignores parameters that it does not know: look them up in its kernel-parameters.txt",
    )


@dataclass(frozen=True)
class Warning:
    """One warning: its kind, and the observation (``seen``)."""

    kind: Kind
    seen: str

    @property
    def todo(self) -> str:
        """Advice on the next step."""
        return self.kind.advice

"""What keeps CPUs from being quiet: remedies, each with the time that it can give back by a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.observe.quiet import USE, Finding, Machine, boot_parameters, findings
from schedlab.results.interruptions import Noise, Remedy


@dataclass(frozen=True)
class Quiet:
    """What keeps CPUs from being quiet.

    Attributes:
        target: the machine.
        cpus: the examined CPUs.
        seconds: time over which rates were observed.
        findings: see :func:`remedies`.
        boot_parameters: the boot parameters of all findings as words of one command line.
        is_measured: whether a measurement gave the gains.
    """

    target: str
    cpus: Sequence[int]
    seconds: float
    findings: list[Remedy]
    boot_parameters: str
    is_measured: bool


def quiet(target: str, machine: Machine, noise: Noise | None) -> Quiet:
    """Examine CPUs; a measurement of the same CPUs gives the gains."""
    made = remedies(machine, noise)
    words = boot_parameters(findings(machine))
    return Quiet(target, list(machine.examined), machine.seconds, made, words, noise is not None)


def remedies(machine: Machine, noise: Noise | None = None, *, meanwhile: bool = False) -> list[Remedy]:
    """Return the remedies, the largest gain first; then those without a gain, the most frequent interruption first.

    ``meanwhile``: the machine was observed during the measurement, whose loop uses the CPUs.
    """
    made = [_remedy(each, noise) for each in findings(machine) if not (meanwhile and each.subject == USE)]
    return sorted(made, key=lambda each: (-_known(each.gain), -_known(each.per_second)))


def _known(number: float | None) -> float:
    """Return a number for sorting: an unknown number comes after 0."""
    return -1.0 if number is None else number


def _remedy(finding: Finding, noise: Noise | None) -> Remedy:
    time_ns = gain_ns(finding, noise)
    gain = of_lost = None
    if noise is not None and time_ns is not None:
        lost_ns = sum(cpu.stolen_ns for cpu in noise.cpus)
        gain = time_ns / (1e9 * sum(cpu.seconds for cpu in noise.cpus))
        of_lost = time_ns / lost_ns if lost_ns else 0.0
    return Remedy(**{**vars(finding), "causes": list(finding.causes)}, gain=gain, of_lost=of_lost)


def gain_ns(finding: Finding, noise: Noise | None) -> float | None:
    """Return the time that the causes of a finding took in a measurement.

    None without a trace, or if no cause of the trace belongs to the finding.
    """
    if noise is None or not noise.tracing.traced or not finding.causes:
        return None
    return sum(cause.total_ns for cause in noise.causes if finding.removes(cause.name))

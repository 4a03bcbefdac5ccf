"""The results of ``schedlab doctor`` for this machine or for another machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from schedlab.targets.protocol import Target
    from schedlab.tunables import System
    from schedlab.tunables.journal.client import Client
    from schedlab.workloads.base import Tool


@dataclass(frozen=True)
class Check:
    """A fact about a machine. ``limited``: a feature cannot be used here; the text gives the reason or the
    remedy."""

    subject: str
    text: str
    state: Literal["fine", "limited"] = "fine"


@dataclass(frozen=True)
class Readiness:
    """Missing requirements of a workload: programs, with the command that installs the programs, or others."""

    name: str
    missing: list[str]
    reasons: list[str]
    install: str

    @property
    def text(self) -> str:
        """A short description of the state."""
        return f"missing {', '.join(self.missing)}" if self.missing else "; ".join(self.reasons) or "ready"


@dataclass(frozen=True)
class Examination:
    """The checks of a machine, its workloads, and the tools that these lack. ``where`` is its name, None here."""

    checks: list[Check]
    workloads: list[Readiness]
    missing: list[Tool]
    where: str | None = None


def workload_checks(agent: Client) -> tuple[list[Readiness], list[Tool]]:
    """Return what each workload lacks on the agent's machine with its default parameters, and all missing tools."""
    from pydantic import ValidationError

    from schedlab.workloads import registry
    from schedlab.workloads.preparation import place_of
    from schedlab.workloads.tools import install_line

    place = place_of(agent)
    adapters = [registry.adapter(name) for name in registry.names()]
    missing = place.machine.missing(dict.fromkeys(tool for adapter in adapters for tool in adapter.tools))
    rows = []
    for adapter in adapters:
        absent = [tool for tool in adapter.tools if tool in missing]
        reasons: list[str] = []
        with suppress(ValidationError):
            # A workload with a required parameter has no default case.
            reasons = [] if absent else adapter.missing_requirements(adapter.parameters(), place)
        programs = [tool.program for tool in absent]
        rows.append(Readiness(adapter.name, programs, reasons, install_line(absent) if absent else ""))
    return rows, missing


def machine_checks(target: Target, *, is_root: bool) -> Iterator[Check]:
    """Yield the identity of a machine, and whether the user may change its tunables."""
    fingerprint = target.fingerprint()
    kernel, cpu = fingerprint["kernel"], fingerprint["cpu"]
    guest = ", a virtual machine" if fingerprint["virtualisation"]["virtualised"] else ""
    yield Check("machine", f"{target.fingerprint_hash(fingerprint)}{guest}")
    yield Check("CPUs", f"{fingerprint['topology']['cpus']} × {cpu.get('model', 'unknown model')}")
    yield Check("kernel", f"{kernel['release']}, clock source {kernel['clocksource']}")
    if not is_root:
        yield Check("user", "not root: most tunables cannot be written")


def tunable_checks(system: System) -> Iterator[Check]:
    """Yield the number of writable tunables, and each reason why a tunable is not writable."""
    from schedlab.tunables import Absent, Available, BootOnly, catalogue

    reasons: dict[str, int] = {}
    counts = {"writable": 0, "at boot only": 0, "not in this kernel": 0}
    with system.debugfs():
        for tunable in catalogue().values():
            match system.resolve(tunable):
                case Available():
                    counts["writable"] += 1
                case BootOnly():
                    counts["at boot only"] += 1
                case Absent():
                    counts["not in this kernel"] += 1
                case refused:
                    reasons[refused.reason] = reasons.get(refused.reason, 0) + 1
    summary = ", ".join(f"{number} {what}" for what, number in counts.items())
    yield Check("tunables", f"{summary} ('schedlab tunables list' shows them)")
    for reason, number in reasons.items():
        yield Check("refused", f"{number}: {reason}", "limited")

"""What a trial yields: the noun that goes from a target through the store to the analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from schedlab.workloads.metrics import Metric

State = Literal["ok", "failed", "timeout"]


PARAMETERS = "boot parameters: "
"""How a run's notes on them begin: every report warns of what they say."""


@dataclass(frozen=True)
class Conditions:
    """How the machine was while a trial ran; None where it was not watched or the kernel does not tell.

    ``load`` is Linux's one-minute average at the start, ``steal_percent`` and ``other_percent`` are shares of all CPUs'
    time taken by the hypervisor and used by other processes; ``mhz_*`` the CPU frequencies seen.
    """

    load: float | None = None
    steal_percent: float | None = None
    other_percent: float | None = None
    mhz_min: int | None = None
    mhz_max: int | None = None
    clocksource: str | None = None


@dataclass(frozen=True)
class Measurement:
    """One trial's result. ``metrics`` is empty unless ``state`` is ``ok``; ``reason`` says why it is not.

    ``started`` is seconds since 1970 (UTC), ``elapsed`` seconds. ``conditions`` holds what was watched around the
    trial, ``counters`` by how much the kernel's counters rose.
    """

    state: State
    started: float
    elapsed: float
    metrics: Sequence[Metric] = ()
    reason: str = ""
    conditions: Conditions = Conditions()
    counters: Mapping[str, float] = field(default_factory=dict)
    command: Sequence[str] = ()
    stdout: str = ""
    stderr: str = ""

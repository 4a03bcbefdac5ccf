"""The result of a trial, which a target returns, the store keeps and the analysis reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Literal

from schedlab.results.metrics import Metric

State = Literal["ok", "failed", "timeout"]


UNSETTLED = "not settled before "
"""Start of a note on a block that began before the machine had settled."""

PARAMETERS = "boot parameters: "
"""Start of a run's notes on boot parameters, which every report repeats as warnings."""

UNDOCUMENTED = "undocumented: "
"""Start of a run's notes on knobs that no catalogue describes, which every report repeats as notes."""

NOT_INHERITED = "SCHED_DEADLINE is not inherited"
"""Part of a run's notes on tasks that were not under the variant's policy, which every report repeats as notes."""

UNMADE = "a trial ended before the change after "
"""Part of a run's notes on timed changes of groups that no trial was long enough for, which every report repeats."""


@dataclass(frozen=True)
class Conditions:
    """State of the machine during a trial; None where the value was not observed or the kernel does not report the
    value.

    Attributes:
        load: Linux's one-minute load average at the start.
        steal_percent: share of all CPUs' time that the hypervisor took.
        other_percent: share of all CPUs' time that other processes used.
        mhz_min: lowest CPU frequency.
        mhz_max: highest CPU frequency.
    """

    load: float | None = None
    steal_percent: float | None = None
    other_percent: float | None = None
    mhz_min: int | None = None
    mhz_max: int | None = None
    clocksource: str | None = None


@dataclass(frozen=True)
class Measurement:
    """Result of one trial.

    Attributes:
        started: seconds since 1970 (UTC).
        elapsed: seconds.
        metrics: empty unless ``state`` is ``ok``.
        reason: why the trial failed.
        counters: increase of the kernel's counters during the trial.
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

    def checked(self, trial: str) -> Measurement:
        """Return this measurement, or the measurement of a failed trial if a value or sample is not a finite number."""
        for metric in self.metrics:
            if not isfinite(metric.value) or not all(map(isfinite, metric.samples or ())):
                reason = f"{metric.spec.name} of {trial} is not a finite number: {metric.value}"
                return replace(self, state="failed", metrics=(), reason=reason)
        return self

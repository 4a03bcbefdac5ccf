"""The plan of a calibration: the steps for the CPUs of a machine, and their probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.simulation.host import steps
from schedlab.simulation.host.probes import basics, wakeups
from schedlab.simulation.host.runners import Probe
from schedlab.simulation.host.solve import Step

NOISE_SPANS = 120
"""Spans in which a pass measures noise."""


@dataclass(frozen=True)
class Steps:
    """The steps for the CPUs of a machine."""

    cpus: Sequence[int]
    pairs: Mapping[str, tuple[int, int]]
    one_cpu: Sequence[Step]
    memory: Sequence[Step]
    between: Sequence[Step]
    overlap: Sequence[Step]
    remote: Remote
    children: Sequence[Step]
    timers: Sequence[Step]
    noise: Probe
    speeds: Probe | None

    @classmethod
    def of(cls, machine: Mapping[str, Any], cpus: Sequence[int]) -> Steps:
        """The steps of a machine, on these of its CPUs."""
        pairs, first = steps.pairs(machine, cpus), min(cpus)
        between = [step for distance, pair in pairs.items() for step in steps.between(*pair, distance)]
        # SMT siblings have one core, and its speed.
        two_cores = next((pair for distance, pair in pairs.items() if distance != "core"), None)
        elsewhere = [step for name, pair in pairs.items() for step in steps.of_children_elsewhere(*pair, name)]
        return cls(
            cpus,
            pairs,
            [*steps.on_one_cpu(first)],
            [*steps.of_memory(first, machine)],
            between,
            [*steps.overlap(pairs)],
            Remote.of(pairs),
            [*steps.of_children(first), *elsewhere],
            [*steps.of_timers(first)],
            basics.tick(first, NOISE_SPANS),
            basics.both_write(two_cores) if two_cores else None,
        )

    @property
    def nearest(self) -> tuple[int, int] | None:
        """The first CPU and its nearest neighbour; None for a single CPU."""
        return next(iter(self.pairs.values()), None)

    @property
    def probes(self) -> Sequence[Probe]:
        """The probes of a pass."""
        alone = (*self.one_cpu, *self.memory, *self.between, *self.overlap, *self.children, *self.timers)
        lines = [wakeups.atomics(*pair) for pair in self.pairs.values()]
        return [
            *(step.probe for step in alone),
            *lines,
            *self.remote.probes,
            self.noise,
            *([self.speeds] if self.speeds else ()),
        ]


@dataclass(frozen=True)
class Remote:
    """The steps of interrupts and of idle states; without steps on a single CPU."""

    sending: Sequence[Step]
    interrupts: Sequence[Step]
    idleness: Sequence[Step]
    arrival: Step | None

    @classmethod
    def of(cls, pairs: Mapping[str, tuple[int, int]]) -> Remote:
        """The steps for a pair of CPUs at each distance."""
        if not pairs:
            return cls((), (), (), None)
        nearest, pair = next(iter(pairs.items()))
        idle = steps.idle_probes(*pair)
        interrupts = [step for distance, each in pairs.items() for step in steps.interrupts(*each, distance)]
        return cls([*steps.sending(idle)], interrupts, [*steps.idleness(idle)], steps.arrival(idle[0], nearest))

    @property
    def probes(self) -> Sequence[Probe]:
        """The probes of all steps."""
        return [step.probe for step in (*self.interrupts, *self.idleness)]

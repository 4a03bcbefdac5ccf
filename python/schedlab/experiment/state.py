"""The attributes that a variant sets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from schedlab.experiment.groups import GroupSettings, Utilisation
from schedlab.experiment.values import (
    CommandLine,
    CommandWords,
    CpuList,
    MemoryMib,
    MemoryPolicy,
    Nanoseconds,
    SliceNs,
    SwitchName,
    Table,
    TopologyText,
    Tunables,
)
from schedlab.tunables import setting

AUTOGROUP = "kernel.sched_autogroup_enabled"
"""The tunable that ``autogroup`` sets."""

RUNTIME_NS_MIN = 1024
"""Least runtime of the policy deadline (``DL_SCALE``, kernel/sched/sched.h: times are counted in units of 2¹⁰ ns)."""

TIMER_SLACK_NS_MAX = 2_000_000_000
"""Longest timer slack: prctl(2) returns the slack as an int."""


class State(Table):
    """The attributes that a variant sets. Attributes that are not set keep the machine's values.

    ``kernel`` and its command line ``cmdline`` are for targets that can start another kernel. ``topology``,
    ``memory_mib`` of each node and the nodes' ``distances`` are for virtual machines. ``sched_ext`` is the command
    that loads a sched_ext scheduler, for targets with a real kernel. ``tunables`` are settings by canonical name;
    ``autogroup`` is such a setting under a shorter name.
    """

    kernel: Annotated[str, Field(min_length=1)] | None = None
    cmdline: CommandLine | None = None
    topology: TopologyText | None = None
    memory_mib: MemoryMib | None = None
    distances: list[list[int]] | None = None
    sched_ext: CommandWords | None = None
    tunables: Tunables = Field(default_factory=dict)
    policy: Literal["other", "batch", "idle", "fifo", "rr", "deadline"] | None = None
    priority: Annotated[int, Field(ge=1, le=99)] | None = None
    nice: Annotated[int, Field(ge=-20, le=19)] | None = None
    slice: SliceNs | None = None
    runtime: Nanoseconds | None = None
    deadline: Nanoseconds | None = None
    period: Nanoseconds | None = None
    uclamp_min: Utilisation | None = None
    uclamp_max: Utilisation | None = None
    timer_slack: Nanoseconds | None = None
    mempolicy: MemoryPolicy | None = None
    autogroup: bool | None = None
    cpus: CpuList | None = None
    groups: dict[SwitchName, GroupSettings] = Field(default_factory=dict)
    environment: dict[str, str] = Field(default_factory=dict)

    @field_validator("environment")
    @classmethod
    def _variables(cls, environment: dict[str, str]) -> dict[str, str]:
        for name in environment:
            if not name or "=" in name:
                raise ValueError(f"{name!r} cannot be an environment variable: a name is not empty and has no '='")
        return environment

    @model_validator(mode="after")
    def _autogroup(self) -> State:
        if self.autogroup is not None:
            wanted = setting(AUTOGROUP, self.autogroup)
            if self.tunables.setdefault(AUTOGROUP, wanted) != wanted:
                raise ValueError(f"autogroup and the tunable {AUTOGROUP!r} are the same setting: keep one of them")
        return self

    def check(self) -> None:
        """Raise ValueError for attributes that cannot be combined."""
        realtime, deadline = self.policy in ("fifo", "rr"), self.policy == "deadline"
        if realtime and self.priority is None:
            raise ValueError(f"policy {self.policy!r} needs a priority from 1 to 99")
        if self.priority is not None and not realtime:
            raise ValueError('priority goes with policy "fifo" or "rr" only')
        if self.slice is not None and self.policy not in (None, "other", "batch"):
            raise ValueError(f'a slice goes with policy "other" or "batch", not {self.policy!r}')
        if self.nice is not None and (realtime or deadline):
            raise ValueError(f"nice has no meaning under policy {self.policy!r}")
        if self.timer_slack is not None and (realtime or deadline):
            raise ValueError(f"timer_slack has no effect under policy {self.policy!r}: its timers are exact")
        if self.timer_slack is not None and not 0 < self.timer_slack <= TIMER_SLACK_NS_MAX:
            raise ValueError("a timer_slack is 1ns to 2s")
        if self.uclamp_min is not None and self.uclamp_max is not None and self.uclamp_min > self.uclamp_max:
            raise ValueError("uclamp_min is greater than uclamp_max")
        self._check_deadline(deadline)

    def _check_deadline(self, is_policy: bool) -> None:
        if not is_policy:
            for name in ("runtime", "deadline", "period"):
                if getattr(self, name) is not None:
                    raise ValueError(f'{name} goes with policy "deadline" only')
            return
        if self.runtime is None or self.period is None:
            raise ValueError("policy 'deadline' needs a runtime and a period")
        if self.runtime < RUNTIME_NS_MIN:
            raise ValueError(f"the least runtime is {RUNTIME_NS_MIN} ns")
        if not self.runtime <= (self.deadline or self.period) <= self.period:
            raise ValueError("policy 'deadline' needs runtime <= deadline <= period")
        if self.cpus is not None:
            raise ValueError(
                "cpus cannot be limited under policy 'deadline': such a task may run on every CPU (sched(7))"
            )
        if self.uclamp_min is not None or self.uclamp_max is not None:
            raise ValueError("uclamp_min and uclamp_max have no effect under policy 'deadline'")


GUEST_ONLY = ("topology", "memory_mib", "distances")
"""Keys of a state that need a virtual machine."""

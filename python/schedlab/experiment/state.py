"""The attributes that a variant sets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from schedlab.experiment.groups import GroupSettings, Utilisation
from schedlab.experiment.hooks import HookTable
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
from schedlab.notation.cpulist import parse_cpu_list
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
    ``autogroup`` is such a setting under a shorter name. ``hook`` is a change that only a command can make.
    """

    kernel: Annotated[str, Field(min_length=1)] | None = None
    cmdline: CommandLine | None = None
    topology: TopologyText | None = None
    memory_mib: MemoryMib | None = None
    distances: list[list[int]] | None = None
    sched_ext: CommandWords | None = None
    tunables: Tunables = Field(default_factory=dict)
    hook: HookTable | None = None
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

    def conflict_in(self, group: GroupSettings) -> str | None:
        """Return why no task with these attributes can run in a group with these settings; None if tasks can."""
        allowed = group.cpuset.cpus
        if allowed is None:
            return None
        if self.policy == "deadline":
            return 'cpuset.cpus and policy "deadline" exclude each other: a deadline task may use all CPUs'
        if self.cpus is not None and not set(parse_cpu_list(self.cpus)) & set(parse_cpu_list(allowed)):
            return f"its CPUs {allowed} contain none of the variant's cpus {self.cpus}"
        return None

    def check(self) -> None:
        """Raise ValueError for attributes that cannot be combined."""
        policy, slack = self.policy, self.timer_slack
        realtime, deadline = policy in ("fifo", "rr"), policy == "deadline"
        times = self.runtime, self.period if self.deadline is None else self.deadline, self.period
        clamps = [each for each in (self.uclamp_min, self.uclamp_max) if each is not None]
        faults = {
            f"policy {policy!r} needs a priority from 1 to 99": realtime and self.priority is None,
            'priority goes with policy "fifo" or "rr" only': self.priority is not None and not realtime,
            f'a slice goes with policy "other" or "batch", not {policy!r}': self.slice is not None
            and policy not in (None, "other", "batch"),
            f"nice has no meaning under policy {policy!r}": self.nice is not None and (realtime or deadline),
            f"timer_slack has no effect under policy {policy!r}: its timers are exact": slack is not None
            and (realtime or deadline),
            "a timer_slack is 1ns to 2s": slack is not None and not 0 < slack <= TIMER_SLACK_NS_MAX,
            "uclamp_min is greater than uclamp_max": clamps != sorted(clamps),
            f"uclamp_min and uclamp_max have no effect under policy {policy!r}": bool(clamps) and deadline,
            'runtime, deadline and period go with policy "deadline" only': any(times) and not deadline,
            f"policy {policy!r} needs a runtime and a period": deadline and None in times,
            f"policy {policy!r} needs {RUNTIME_NS_MIN} ns <= runtime <= deadline <= period": deadline
            and [RUNTIME_NS_MIN, *times] != sorted([RUNTIME_NS_MIN, *(each or 0 for each in times)]),
            f"cpus cannot be limited under policy {policy!r}: such a task may run on every CPU (sched(7))": deadline
            and self.cpus is not None,
        }
        if fault := next((text for text, is_there in faults.items() if is_there), None):
            raise ValueError(fault)


GUEST_ONLY = ("topology", "memory_mib", "distances")
"""Keys of a state that need a virtual machine."""

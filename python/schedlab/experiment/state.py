"""The attributes that a variant sets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from schedlab.experiment.groups import GroupSettings
from schedlab.experiment.values import (
    CommandLine,
    CommandWords,
    CpuList,
    MemoryMib,
    SliceNs,
    SwitchName,
    Table,
    TopologyText,
    Tunables,
)


class State(Table):
    """The attributes that a variant sets. Attributes that are not set keep the machine's values.

    ``kernel`` and its command line ``cmdline`` are for targets that can start another kernel. ``topology``,
    ``memory_mib`` of each node and the nodes' ``distances`` are for virtual machines. ``sched_ext`` is the command
    that loads a sched_ext scheduler, for targets with a real kernel. ``tunables`` are settings by canonical name.
    """

    kernel: Annotated[str, Field(min_length=1)] | None = None
    cmdline: CommandLine | None = None
    topology: TopologyText | None = None
    memory_mib: MemoryMib | None = None
    distances: list[list[int]] | None = None
    sched_ext: CommandWords | None = None
    tunables: Tunables = Field(default_factory=dict)
    policy: Literal["other", "batch", "idle", "fifo", "rr"] | None = None
    priority: Annotated[int, Field(ge=1, le=99)] | None = None
    nice: Annotated[int, Field(ge=-20, le=19)] | None = None
    slice: SliceNs | None = None
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

    def check(self) -> None:
        """Raise ValueError for attributes that cannot be combined."""
        realtime = self.policy in ("fifo", "rr")
        if realtime and self.priority is None:
            raise ValueError(f"policy {self.policy!r} needs a priority from 1 to 99")
        if self.priority is not None and not realtime:
            raise ValueError('priority goes with policy "fifo" or "rr" only')
        if self.slice is not None and self.policy not in (None, "other", "batch"):
            raise ValueError(f'a slice goes with policy "other" or "batch", not {self.policy!r}')
        if self.nice is not None and realtime:
            raise ValueError(f"nice has no meaning under policy {self.policy!r}")


GUEST_ONLY = ("topology", "memory_mib", "distances")
"""Keys of a state that need a virtual machine."""

"""``[[group]]``: control groups in which workloads run, with settings that variants and times change.

Keys have the names of the files of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst); ``uclamp.min`` stands for
``cpu.uclamp.min``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from schedlab.experiment.values import CpuList, Limit, SwitchName, Table
from schedlab.notation.cpulist import format_cpu_list, parse_cpu_list
from schedlab.notation.units import parse_share, parse_time_ns
from schedlab.results.metrics import MetricSpec

NO_QUOTA = "max"
"""Text of a quota without a limit, as in ``cpu.max``."""

DEFAULT_PERIOD_US = 100_000
"""Period of a quota that names none (default_cfs_period, kernel/sched/fair.c)."""

PERIOD_US_MIN, PERIOD_US_MAX, QUOTA_US_MIN = 1_000, 1_000_000, 1_000
"""Limits of a period, and the smallest quota (max_cfs_quota_period and min_cfs_quota_period, kernel/sched/core.c)."""


def quota(text: object) -> str:
    """Return ``"50ms/100ms"``, ``"50ms"`` or ``"max"`` as the kernel's text in microseconds: ``"50000 100000"``."""
    if not isinstance(text, str):
        raise ValueError('a quota is a time in each period, such as "50ms/100ms", or "max"')
    share, _, period = (part.strip() for part in text.partition("/"))
    if not period and len(numbers := share.split()) == 2:
        share, period = (part if part == NO_QUOTA else f"{part}us" for part in numbers)
    period_us = _microseconds(period) if period else DEFAULT_PERIOD_US
    if not PERIOD_US_MIN <= period_us <= PERIOD_US_MAX:
        raise ValueError(f"{text!r}: the kernel takes periods from 1ms to 1s")
    if share == NO_QUOTA:
        return f"{NO_QUOTA} {period_us}"
    if (quota_us := _microseconds(share)) < QUOTA_US_MIN:
        raise ValueError(f"{text!r}: the kernel takes quotas of 1ms and more")
    return f"{quota_us} {period_us}"


def _microseconds(text: str) -> int:
    ns = parse_time_ns(text)
    if ns % 1000:
        raise ValueError(f"{text!r} is not a whole number of microseconds")
    return ns // 1000


Quota = Annotated[str, BeforeValidator(quota)]
"""Quota and period as the kernel shows them: ``"50000 100000"``, or ``"max 100000"``."""


Utilisation = Annotated[float, BeforeValidator(parse_share), Field(ge=0, le=1)]
"""Share of a CPU's capacity, such as ``"20%"``."""


class CpuSettings(Table):
    """``cpu.*``: weight (100 by default), quota in each period, and whether the group runs only on idle CPUs."""

    weight: Annotated[int, Field(ge=1, le=10_000)] | None = None
    max: Quota | None = None
    idle: bool | None = None


class CpusetSettings(Table):
    """``cpuset.*``: the CPUs and memory nodes that the group may use."""

    cpus: CpuList | None = None
    mems: CpuList | None = None


class UclampSettings(Table):
    """``uclamp.*``: limits of the utilisation that chooses the CPU's frequency and a big or a little core."""

    min: Utilisation | None = None
    max: Utilisation | None = None


class GroupSettings(Table):
    """The settings of a group. Settings that are absent keep the kernel's defaults."""

    cpu: CpuSettings = CpuSettings()
    cpuset: CpusetSettings = CpusetSettings()
    uclamp: UclampSettings = UclampSettings()

    @property
    def settings(self) -> dict[str, str]:
        """The settings by the names of cgroup v2's files, as the kernel shows them."""
        cpu, cpuset, uclamp = self.cpu, self.cpuset, self.uclamp
        values = {
            "cpu.weight": cpu.weight,
            "cpu.max": cpu.max,
            "cpu.idle": None if cpu.idle is None else int(cpu.idle),
            "cpuset.cpus": _list(cpuset.cpus),
            "cpuset.mems": _list(cpuset.mems),
            "cpu.uclamp.min": _percent(uclamp.min),
            "cpu.uclamp.max": _percent(uclamp.max),
        }
        return {name: str(value) for name, value in values.items() if value is not None}

    @property
    def conflict(self) -> str | None:
        """Return why a kernel cannot put these settings in place together; None if they fit.

        The kernel fixes the weight of an idle group, and refuses another (sched_group_set_shares, kernel/sched/fair.c).
        """
        if self.cpu.idle and self.cpu.weight is not None:
            return "an idle group has no weight: set either cpu.idle or cpu.weight"
        if (self.uclamp.min or 0) > (1 if self.uclamp.max is None else self.uclamp.max):
            return "uclamp.min is greater than uclamp.max"
        return None

    def over(self, base: GroupSettings) -> GroupSettings:
        """Return the base with these settings in place of its settings of the same names."""
        parts = {
            name: getattr(base, name).model_copy(update=getattr(self, name).model_dump(exclude_unset=True))
            for name in GroupSettings.model_fields
        }
        return GroupSettings.model_construct(**parts)


def _list(numbers: str | None) -> str | None:
    return None if numbers is None else format_cpu_list(parse_cpu_list(numbers))


def _percent(share: float | None) -> str | None:
    """Return a utilisation in per cent; ``max`` for the whole capacity (cpu_uclamp_print, kernel/sched/core.c)."""
    return None if share is None else "max" if share == 1 else f"{share:.2%}".removesuffix("%")


class TimedSettings(GroupSettings):
    """``at``: settings that the group gets ``after`` this time of each trial; the next trial begins without them."""

    after: Limit


class Group(GroupSettings):
    """``[[group]]``: a control group below the root of the hierarchy, which exists while the run lasts."""

    name: SwitchName
    at: list[TimedSettings] = Field(default_factory=list)

    @model_validator(mode="after")
    def _changes_something(self) -> Group:
        if any(not change.settings for change in self.at):
            raise ValueError("at: an entry changes nothing: name settings beside after")
        return self

    @property
    def changes(self) -> list[tuple[str, TimedSettings]]:
        """The timed changes with their names in counters and notes."""
        return [(f"{self.name}.at.{number}", change) for number, change in enumerate(self.at, start=1)]

    def __str__(self) -> str:
        timed = [f"{_texts(change.settings)} after {change.after:g} s" for change in self.at]
        described = "; ".join(filter(None, [_texts(self.settings), *timed]))
        return f"{self.name} ({described})" if described else self.name


def _texts(settings: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {text}" for name, text in settings.items())


def merged(tables: Iterable[Mapping[str, GroupSettings]]) -> dict[str, GroupSettings]:
    """Return the settings of each group in any of the tables; later tables override earlier tables."""
    groups: dict[str, GroupSettings] = {}
    for table in tables:
        groups |= {name: settings.over(groups.get(name, GroupSettings())) for name, settings in table.items()}
    return groups


def states(groups: Iterable[Group], changes: Mapping[str, GroupSettings]) -> Iterator[tuple[str, GroupSettings]]:
    """Yield each group's name and settings under a variant's ``changes``, and after each of its timed changes."""
    for group in groups:
        for timed in ({}, *({group.name: change} for change in group.at)):
            yield group.name, merged([{group.name: group}, changes, timed])[group.name]


def in_place(groups: Iterable[Group], changes: Mapping[str, GroupSettings]) -> dict[str, dict[str, str]]:
    """Return the settings of every group under a variant's ``changes``; see :attr:`GroupSettings.settings`."""
    base = {group.name: group for group in groups}
    return {name: settings.settings for name, settings in merged([base, changes]).items()}


def metrics(group: str) -> tuple[MetricSpec, ...]:
    """Return what the kernel counts for a group over a trial; a verdict needs the name in ``metrics``.

    CPU time (``usage``), periods of the quota, periods in which the group was throttled (``nr_throttled``), the time
    throttled of all CPUs together, and the time in which some task, and all tasks, waited for a CPU
    (Documentation/admin-guide/cgroup-v2.rst, cpu.stat and cpu.pressure; accounting/psi.rst).
    """
    return (
        MetricSpec(f"{group}.usage", "s", "higher", judged=False),
        MetricSpec(f"{group}.periods", "periods", "higher", judged=False),
        MetricSpec(f"{group}.nr_throttled", "periods", "lower", judged=False),
        MetricSpec(f"{group}.throttled", "s", "lower", judged=False),
        MetricSpec(f"{group}.cpu.pressure", "s", "lower", judged=False),
        MetricSpec(f"{group}.cpu.pressure-full", "s", "lower", judged=False),
    )

"""Control groups of a run on a real kernel: directories, settings as tunables, options of the launcher, metrics.

The agent makes a directory for each group below the root of the hierarchy (``crates/load/src/agent/groups.rs``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from schedlab.errors import CannotRunHere
from schedlab.experiment.groups import NO_QUOTA, Group, TimedSettings, in_place, metrics, states
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import CONTROL, Plan, Row
from schedlab.notation.cpulist import format_cpu_list, parse_cpu_list
from schedlab.results.measurement import UNMADE, Measurement
from schedlab.results.metrics import Metric
from schedlab.targets.protocol import Fault, MissingRequirement, by_variant
from schedlab.tunables import Setting, System
from schedlab.tunables.journal.client import Client, Refusal
from schedlab.tunables.journal.replies import Files, Report
from schedlab.tunables.journal.replies import Trial as Reply
from schedlab.tunables.terms import GROUPS
from schedlab.tunables.tunable import Tunable
from schedlab.workloads.base import Command
from schedlab.workloads.launcher import load_option

ONLINE = "/sys/devices/system/cpu/online"

CGROUP, PREFIX = "/sys/fs/cgroup", "schedlab."
"""Mount point in guests, and the start of a directory's name (``groups.rs``)."""

_NEEDS = {
    "cpu.weight": ("CONFIG_FAIR_GROUP_SCHED", "4.15"),
    "cpu.max": ("CONFIG_CFS_BANDWIDTH", "4.15"),
    "cpu.idle": ("CONFIG_FAIR_GROUP_SCHED", "5.15"),
    "cpuset.cpus": ("CONFIG_CPUSETS", "5.0"),
    "cpuset.mems": ("CONFIG_CPUSETS", "5.0"),
    "cpu.uclamp.min": ("CONFIG_UCLAMP_TASK_GROUP", "5.4"),
    "cpu.uclamp.max": ("CONFIG_UCLAMP_TASK_GROUP", "5.4"),
}
"""Build option and first version of each file in version 2 (kernel/sched/core.c, kernel/cgroup/cpuset.c, 6.12)."""

_SHARES = 1024
"""Shares in version 1 of the default weight, 100 (sched_weight_from_cgroup, include/linux/cgroup.h, 6.12)."""


@dataclass(frozen=True)
class Groups:
    """The groups of an experiment, with the directory of each group by controller; ``root`` is the tunables' root."""

    tables: Sequence[Group] = ()
    paths: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    version: int = 2
    root: Path = Path("/")

    @classmethod
    def of_guest(cls, tables: Sequence[Group]) -> Groups:
        """Return the groups of a guest, where version 2 is mounted."""
        names = {table.name: f"{CGROUP}/{PREFIX}{table.name}" for table in tables}
        return cls(tables, {name: {"cpu": path, "cpuset": path} for name, path in names.items()})

    def extended(self, variant: Variant) -> Variant:
        """Return the variant with the settings of all groups among its tunables."""
        return variant.model_copy(update={"tunables": self.wanted(variant)})

    def wanted(self, variant: Variant) -> dict[str, Setting]:
        """Return a variant's tunables and the settings of all groups under the variant."""
        return {**variant.tunables, **self._settings(in_place(self.tables, variant.groups))}

    def every_state(self, variants: Iterable[Variant]) -> Iterator[dict[str, Setting]]:
        """Yield what each variant sets, and what the timed changes of groups set."""
        yield from map(self.wanted, variants)
        for table in self.tables:
            yield from (self._settings({table.name: {**table.settings, **change.settings}}) for change in table.at)

    def options(self, row: Row, loads: Sequence[Command]) -> list[str]:
        """Return the launcher's options for a row: its group, the commands of its loads, and the timed changes."""
        beside = [load_option(command, self._entering(load)) for command, load in zip(loads, row.beside, strict=True)]
        return [*self._entering(row), *beside, *self._timed()]

    def _entering(self, row: Row) -> list[str]:
        return [f"--group={path}" for path in dict.fromkeys(self.paths.get(row.group or "", {}).values())]

    def _timed(self) -> list[str]:
        return [
            f"--at={change.after * 1e9:.0f}ns={path}={text}"
            for table in self.tables
            for change in table.at
            for path, text in self._files(table.name, change.settings)
        ]

    def observed(self, row: Row) -> list[str]:
        """Return the files to read before and after a trial of the row."""
        return [path for name in _used(row) for path in self._sources(name)]

    def completed(self, measurement: Measurement, row: Row, reply: Reply) -> Measurement:
        """Return a trial's measurement with the metrics of the row's groups and the times of their changes."""
        times = {name: after for name, _, after in self._changes(reply) if after is not None}
        measurement = replace(measurement, counters={**measurement.counters, **times})
        if measurement.state != "ok":
            return measurement
        own = {spec.name for spec in row.adapter.metrics}
        values = {key: value for name in _used(row) for key, value in self._rises(name, reply).items()}
        if lacking := [name for name in row.judged if name not in {*values, *own}]:
            reason = f"the kernel does not count {lacking[0]} (version {self.version} of control groups)"
            return replace(measurement, state="failed", metrics=(), reason=reason)
        counted = [Metric(row.spec(name), value) for name, value in values.items()]
        return replace(measurement, metrics=[*measurement.metrics, *counted])

    def remarks(self, reply: Reply) -> list[str]:
        """Return which changes a trial was too short for."""
        return [unmade(name, change) for name, change, after in self._changes(reply) if after is None]

    def _changes(self, reply: Reply) -> Iterator[tuple[str, TimedSettings, float | None]]:
        """Yield the timed changes with their names, and the seconds after which they were made."""
        report = Report.parse(reply.report)
        for table in self.tables if report else ():
            for name, change in table.changes:
                first = next(iter(self._files(table.name, change.settings)))
                times = [
                    write.after_ns / 1e9
                    for write in (report.timed if report else ())
                    if (write.path, write.text) == first and write.after_ns >= change.after * 1e9
                ]
                yield name, change, times[0] if times else None

    def _settings(self, groups: Mapping[str, Mapping[str, str]]) -> dict[str, Setting]:
        settings = {}
        for name, texts in groups.items():
            for file, text in texts.items():
                for path, value in self._files(name, {file: text}):
                    where = str(Path(path).relative_to(self.root / "sys"))
                    tunable = _tunable(name, file, where, self.version)
                    settings[tunable.name] = Setting(tunable.name, value, tunable)
        return settings

    def _files(self, name: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the paths of settings with their texts, in the version of the machine's hierarchy."""
        for file, text in texts.items():
            folder = self.paths[name][file.partition(".")[0]]
            named = {file: text} if self.version == 2 else _version_1(file, text)
            yield from ((f"{folder}/{each}", value) for each, value in named.items())

    def _sources(self, name: str) -> list[str]:
        paths = self.paths[name]
        usage = [f"{paths['cpuacct']}/cpuacct.usage"] if "cpuacct" in paths else []
        return [f"{paths['cpu']}/cpu.stat", f"{paths['cpu']}/cpu.pressure", *usage]

    def _rises(self, name: str, reply: Reply) -> dict[str, float]:
        before, after = (self._figures(name, files) for files in (reply.before, reply.after))
        return {
            spec.name: (after[key][0] - before[key][0]) / after[key][1]
            for spec in metrics(name)
            if (key := spec.name.removeprefix(f"{name}.")) in before and key in after
        }

    def _figures(self, name: str, files: Files) -> dict[str, tuple[int, float]]:
        """Return the counts of a group by the names of its metrics, each with the count of a second or an event."""
        texts = {Path(path).name: files.files[path].decode() for path in self._sources(name) if path in files.files}
        stat = dict(line.split() for line in texts.get("cpu.stat", "").splitlines())
        pressure = dict(line.split(maxsplit=1) for line in texts.get("cpu.pressure", "").splitlines())
        scaled = [
            ("usage", stat.get("usage_usec"), 1e6),
            ("usage", texts.get("cpuacct.usage"), 1e9),
            ("periods", stat.get("nr_periods"), 1),
            ("nr_throttled", stat.get("nr_throttled"), 1),
            ("throttled", stat.get("throttled_usec"), 1e6),
            ("throttled", stat.get("throttled_time"), 1e9),
            ("cpu.pressure", pressure.get("some", "").rpartition("total=")[2], 1e6),
            ("cpu.pressure-full", pressure.get("full", "").rpartition("total=")[2], 1e6),
        ]
        return {key: (int(text), unit) for key, text, unit in scaled if text}


@cache
def _tunable(group: str, file: str, where: str, version: int) -> Tunable:
    """Return the description of a file of a group, which every trial needs; ``where`` is its path below /sys."""
    option, since = _NEEDS[file]
    return Tunable.model_validate(
        {
            "name": f"{group} {Path(where).name}",
            "area": GROUPS,
            "summary": f"{file} of the control group {group}",
            "type": "string",
            "place": [{"sysfs": where, "since": since if version == 2 else "4.4"}],
            "config": [option],
            "source": "admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst @ v6.12",
        }
    )


def unmade(name: str, change: TimedSettings) -> str:
    """Return the note on a change that a trial was too short for."""
    return f"{name}: {UNMADE}{change.after:g} s"


def _version_1(file: str, text: str) -> dict[str, str]:
    """Return a setting in the files of version 1 (cgroup-v1/cpusets.rst, scheduler/sched-bwc.rst)."""
    if file == "cpu.weight":
        return {"cpu.shares": str((int(text) * _SHARES + 50) // 100)}
    if file == "cpu.max":
        quota, period = text.split()
        return {"cpu.cfs_period_us": period, "cpu.cfs_quota_us": "-1" if quota == NO_QUOTA else quota}
    return {file: text}


def _used(row: Row) -> list[str]:
    return list(dict.fromkeys(each.group for each in (row, *row.beside) if each.group is not None))


def controllers(plan: Plan) -> list[str]:
    """Return the controllers that the plan's groups need."""
    tables = plan.experiment.group
    texts = [file for variant in plan.variants for each in in_place(tables, variant.groups).values() for file in each]
    texts += [file for table in tables for change in table.at for file in change.settings]
    return sorted({"cpu", *(file.partition(".")[0] for file in texts)})


def placed(plan: Plan, agent: Client, system: System) -> Groups:
    """Make the plan's groups; CannotRunHere when the kernel lacks a file of a setting."""
    tables = plan.experiment.group
    if not tables:
        return Groups()
    reply = agent.groups([table.name for table in tables], controllers(plan), make=True)
    groups = Groups(tables, reply.groups, reply.version, system.root)
    for state in groups.every_state(plan.variants):
        settings = {name: setting for name, setting in state.items() if setting.catalogued.area == GROUPS}
        for name, answer in system.check(settings).items():
            raise CannotRunHere(f"{name}: {answer.why}", where=agent.where, todo="remove the setting of the group")
    return groups


def missing_requirements(plan: Plan, agent: Client) -> Iterator[MissingRequirement]:
    """Yield why groups cannot be made. Changes nothing."""
    if plan.experiment.group:
        try:
            made = agent.groups([table.name for table in plan.experiment.group], controllers(plan), make=False)
        except Refusal as refusal:
            yield MissingRequirement("groups", refusal.what, "mount control groups, or use --target vm:KERNEL")
            return
        judged = [name for row in plan.rows for name in row.judged if ".cpu.pressure" in name]
        if made.version == 1 and judged:
            why = f"version 1 of control groups, which this machine has, does not count {judged[0]}"
            yield MissingRequirement("groups", why, "remove the metric from metrics, or use --target vm:KERNEL")
        if online := agent.read([ONLINE])[0].get(ONLINE, b"").decode().strip():
            variants, cpus = (each for each in plan.variants if each.name != CONTROL), parse_cpu_list(online)
            yield from by_variant(
                (each.name, fault) for each in variants for fault in lacking_cpus(plan.experiment.group, each, cpus)
            )


def lacking_cpus(tables: Sequence[Group], variant: Variant, cpus: Collection[int]) -> Iterator[Fault]:
    """Yield the CPUs of groups that a machine lacks. Version 2 takes such CPUs, and does not use them."""
    lacking = {
        name: missing
        for name, settings in states(tables, variant.groups)
        if settings.cpuset.cpus and (missing := set(parse_cpu_list(settings.cpuset.cpus)) - set(cpus))
    }
    for name, missing in lacking.items():
        yield f"group {name!r}: there is no CPU {format_cpu_list(missing)}", "list existing CPUs in cpuset.cpus"

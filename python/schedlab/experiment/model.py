"""The experiment file as typed data. :mod:`schedlab.experiment.load` reads it and reports its mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    field_validator,
    model_validator,
)

from schedlab.experiment.sweep_table import SweepTable, TuneTable
from schedlab.experiment.topology import DEFAULT, BadTopology, Topology
from schedlab.experiment.values import (
    CommandLine,
    CommandWords,
    CpuList,
    Limit,
    MemoryMib,
    Name,
    Seconds,
    Share,
    SliceNs,
    SwitchName,
    TopologyText,
    Tunables,
)
from schedlab.workloads.base import AnyAdapter
from schedlab.workloads.command.figures import Figure

LOOKS = 4
"""Default number of interim analyses. More analyses hardly shorten a run; fewer analyses lengthen a run."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class About(_Table):
    """``[experiment]``: a name, and the question that the run answers."""

    name: Name
    question: str = ""


FOR_BOOTS = ("boot_method", "boot_command", "boot_limit", "power", "console")
"""Keys of a target that is another machine."""

BootMethod = Literal["kexec", "grub", "systemd-boot", "command"]
"""Ways to start a kernel under test: see :mod:`schedlab.targets.boots.loaders`."""


def _require_boot_command(method: BootMethod | None, command: str | None) -> None:
    if (method == "command") != (command is not None):
        raise ValueError('boot_method = "command" and boot_command go together')


class TargetTable(_Table):
    """``[target]``: where the trials run, unless ``schedlab run --target`` names another target.

    Another machine (``ssh``) has a ``host``, ``[USER@]HOST[:PORT]``, which the user's OpenSSH client reaches. Variants
    with a kernel or a command line boot the other machine, by kexec or through a boot loader (``boot_method``), which a
    command of that machine may control (``boot_command``); ``boot_limit`` is the time in which a kernel has to come up.
    ``power`` is a command of this machine that switches a hanging machine off and on, ``console`` a command that prints
    the console of the other machine all the time.

    A simulated target (``sim``) has a machine model, and a kernel model for variants that name no kernel. A model is
    the name of a shipped model or the path of a TOML file.

    A virtual machine (``vm``) has a topology (``"4x2/4"``), memory for each node, distances between the nodes, and a
    kernel image for variants that name no kernel. A variant's command line is appended to ``cmdline``. ``tools`` are
    programs of this machine that the guest receives; with ``host_files`` the guest can read this machine's file tree.
    ``functions`` counts the instructions of a deterministic guest by kernel function, and ``cache`` names the machine
    model whose caches and cache lines are counted as well.
    """

    kind: Literal["host", "ssh", "sim", "vm"] = "host"
    host: Annotated[str, Field(min_length=1)] | None = None
    boot_method: BootMethod | None = None
    boot_command: Annotated[str, Field(min_length=1)] | None = None
    boot_limit: Limit | None = None
    power: CommandWords | None = None
    console: CommandWords | None = None
    machine: Annotated[str, Field(min_length=1)] | None = None
    kernel: Annotated[str, Field(min_length=1)] | None = None
    topology: TopologyText | None = None
    memory_mib: MemoryMib | None = None
    distances: list[list[int]] | None = None
    accel: Literal["kvm", "tcg"] | None = None
    deterministic: bool = False
    functions: bool = False
    cache: Annotated[str, Field(min_length=1)] | None = None
    cmdline: CommandLine | None = None
    tools: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    host_files: bool = False

    @model_validator(mode="after")
    def _fits(self) -> TargetTable:
        if self.kind == "sim" and self.machine is None:
            raise ValueError("a simulated target needs a machine: 'schedlab sim machines' prints the shipped machines")
        if (self.kind == "ssh") != (self.host is not None):
            raise ValueError('kind = "ssh" needs a host, and no other kind has a host: host = "[USER@]HOST[:PORT]"')
        if self.kind != "ssh" and (keys := sorted(self.model_fields_set & set(FOR_BOOTS))):
            raise ValueError(f'only kind = "ssh" takes: {", ".join(keys)}')
        _require_boot_command(self.boot_method, self.boot_command)
        if self.kind in {"host", "ssh"} and (self.machine or self.kernel):
            raise ValueError(
                'machine and kernel go with kind = "sim" or "vm": host trials use this machine and its kernel'
            )
        vm_only = {"topology", "memory_mib", "distances", "accel", "deterministic", "functions", "cache"}
        vm_only |= {"cmdline", "tools", "host_files"}
        if self.kind != "vm" and (keys := sorted(self.model_fields_set & vm_only)):
            raise ValueError(f'only kind = "vm" takes: {", ".join(keys)}')
        if self.kind == "vm":
            self._check_guest()
        return self

    def _check_guest(self) -> None:
        if self.kernel is None:
            raise ValueError("a virtual machine needs a kernel: debian-6.12, a bzImage's path or tree:FOLDER")
        if self.machine is not None:
            raise ValueError('machine goes with kind = "sim": a virtual machine has a topology')
        if self.deterministic and self.accel == "kvm":
            raise ValueError("a deterministic guest counts instructions, which KVM cannot: remove accel")
        if self.functions and not self.deterministic:
            raise ValueError("functions counts the instructions of a deterministic guest: add deterministic = true")
        if self.cache and not self.functions:
            raise ValueError("cache counts cache lines by kernel function: add functions = true")
        if self.host_files and self.deterministic:
            raise ValueError(
                "host_files answers at the speed of this machine: a deterministic guest cannot use host_files"
            )
        if self.host_files and self.tools:
            raise ValueError("host_files gives the guest every program of this machine: remove tools")
        try:
            topology = Topology.parse(self.topology) if self.topology else DEFAULT
            topology.distances(self.distances)
        except BadTopology as error:
            raise ValueError(f"{error.what}; {error.todo}") from error


class MachineTable(_Table):
    """``[[machine]]``: a machine of a fleet, on which the whole experiment runs, with the keys of an ssh target."""

    host: Annotated[str, Field(min_length=1)]
    boot_method: BootMethod | None = None
    boot_command: Annotated[str, Field(min_length=1)] | None = None
    boot_limit: Limit | None = None
    power: CommandWords | None = None
    console: CommandWords | None = None

    @model_validator(mode="after")
    def _fits(self) -> MachineTable:
        _require_boot_command(self.boot_method, self.boot_command)
        return self


class Design(_Table):
    """``[design]``: the number and the order of trials.

    A block puts every variant in place once, in a random order drawn from ``seed``. With ``interleave = "rows"``, the
    variants alternate within each row: paired trials are closer in time, but each variant is put in place once for
    every row.
    """

    blocks: Annotated[int, Field(ge=1, le=10_000)] = 8
    iterations: Annotated[int, Field(ge=1, le=100_000)] = 1
    warmup: Annotated[int, Field(ge=0, le=1_000)] = 1
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    control: bool = True
    interleave: Literal["variants", "rows"] = "variants"
    timeout: Limit = 600.0
    pause: Seconds = 0.0
    stopping: Literal["fixed", "sequential"] = "fixed"
    looks: Annotated[int, Field(ge=2, le=20)] | None = None

    @model_validator(mode="after")
    def _looks_fit(self) -> Design:
        if self.looks is not None and self.stopping == "fixed":
            raise ValueError('looks go with stopping = "sequential" only')
        if self.looks is not None and self.looks > self.blocks:
            raise ValueError(f"looks = {self.looks} needs at least {self.looks} blocks; blocks = {self.blocks}")
        return self

    @property
    def look_blocks(self) -> tuple[int, ...]:
        """The numbers of blocks at the interim analyses; the last number is the size of the run. () for a fixed run."""
        if self.stopping == "fixed":
            return ()
        looks = min(LOOKS if self.looks is None else self.looks, self.blocks)
        return tuple(ceil(self.blocks * k / looks) for k in range(1, looks + 1))


class QuietTable(_Table):
    """``quiet`` of ``[settle]``: limits for disturbances while no trial runs, observed for a second.

    ``steal`` is the share of CPU time that a hypervisor takes, ``other`` the share that anything else uses, both of all
    CPUs together. ``worst_gap`` is the longest time in which a task that only reads the clock does not run, with one
    such task for each CPU.
    """

    steal: Share | None = None
    other: Share | None = None
    worst_gap: Limit | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> QuietTable:
        if not self.model_fields_set:
            raise ValueError("limits nothing: set steal, other or worst_gap")
        return self


class SettleTable(_Table):
    """``[settle]``: conditions that a machine waits for before the first trial of each block, or before each trial.

    The conditions are a one-minute load below ``load``, no running package manager (``packages``), the hottest
    sensor below ``temperature`` in °C, and the limits of ``quiet``. At least one condition is needed. After ``limit``
    the trial runs with a warning, or fails; with ``quiet`` it fails unless the table says otherwise.
    """

    load: Annotated[float, Field(gt=0)] | None = None
    packages: bool = False
    temperature: Annotated[float, Field(gt=0)] | None = None
    quiet: QuietTable | None = None
    limit: Limit = 300.0
    before: Literal["block", "trial"] = "block"
    after: Literal["continue", "fail"] = "continue"

    @model_validator(mode="before")
    @classmethod
    def _requires_quiet(cls, table: Any) -> Any:
        return {"after": "fail"} | table if isinstance(table, dict) and "quiet" in table else table

    @model_validator(mode="after")
    def _waits_for_something(self) -> SettleTable:
        if self.load is None and self.temperature is None and self.quiet is None and not self.packages:
            raise ValueError("names nothing to wait for: set load, packages, temperature or quiet")
        return self


class Judging(_Table):
    """``[analysis]``: the error rate, the margin of equivalence, the correction for many rows.

    ``interval`` is the method for the intervals of ratios; p values and verdicts do not depend on it.
    """

    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    delta: Share = 0.01
    correction: Literal["max-t", "holm", "benjamini-hochberg", "none"] = "max-t"
    family: Literal["variant", "run"] = "variant"
    interval: Literal["sign-flip", "bootstrap"] = "sign-flip"


class State(_Table):
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


class Variant(State):
    """``[[variant]]``: a named state of the system. The first variant of the file is the baseline."""

    name: Name
    description: str = ""

    @model_validator(mode="after")
    def _fits(self) -> Variant:
        self.check()
        return self


METRIC_NAME, METRIC_TABLE = "a metric's name", "a metric's table"
"""Names of the two forms of an element of ``metrics``; pydantic puts them into the paths of its errors."""

NameOrFigure = Annotated[
    Annotated[str, Tag(METRIC_NAME)] | Annotated[Figure, Tag(METRIC_TABLE)],
    Discriminator(lambda value: METRIC_TABLE if isinstance(value, Mapping | Figure) else METRIC_NAME),
]


class AttributionTable(_Table):
    """``[attribution]``: a stack of variants. Each adds one change to the previous variant; the first is the base."""

    stack: Annotated[list[Name], Field(min_length=2)]


class FactorialTable(_Table):
    """``[factorial]``: switches in every combination. A switch is a state that overrides the state of the baseline.

    ``generators`` select a fraction of the combinations, such as ``c = a*b``; see
    :mod:`schedlab.experiment.factorial`.
    """

    switches: Annotated[dict[SwitchName, State], Field(min_length=2, max_length=12)]
    generators: list[str] = Field(default_factory=list)


class WorkloadTable(BaseModel):
    """``[[workload]]``: a benchmark to measure. All other keys are parameters of the workload.

    A parameter may be a list: each combination is a row. ``metrics`` names the metrics that get a verdict; the
    workload has a default. A table in ``metrics`` declares a metric that ``use = "command"`` prints. ``quick`` contains
    the values that ``--quick`` uses instead.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    use: str
    label: Name | None = None
    metrics: Annotated[list[NameOrFigure], Field(min_length=1)] | None = None
    timeout: Limit | None = None
    quick: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The metrics that the table declares."""
        return tuple(metric for metric in self.metrics or () if isinstance(metric, Figure))

    def judged(self, workload: AnyAdapter, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the metrics that get a verdict in a row; by default the workload's choice."""
        names = [metric if isinstance(metric, str) else metric.name
                 for metric in self.metrics or () if isinstance(metric, str) or metric.judged]  # fmt: skip
        return tuple(names) or workload.judged(parameters)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the file, with lists not yet expanded."""
        return dict(self.model_extra or {})


class Experiment(_Table):
    """An experiment file."""

    experiment: About
    target: TargetTable = TargetTable()
    machine: list[MachineTable] = Field(default_factory=list)
    design: Design = Design()
    settle: SettleTable | None = None
    analysis: Judging = Judging()
    attribution: AttributionTable | None = None
    factorial: FactorialTable | None = None
    sweep: SweepTable | None = None
    tune: TuneTable | None = None
    variant: Annotated[list[Variant], Field(min_length=1)]
    workload: Annotated[list[WorkloadTable], Field(min_length=1)]

    @model_validator(mode="after")
    def _machines_fit(self) -> Experiment:
        if self.machine and "target" in self.model_fields_set:
            raise ValueError("[[machine]] names the targets: remove [target]")
        if len({machine.host for machine in self.machine}) < len(self.machine):
            raise ValueError("two [[machine]] tables have the same host")
        return self

    @property
    def baseline(self) -> Variant:
        """The first variant."""
        return self.variant[0]

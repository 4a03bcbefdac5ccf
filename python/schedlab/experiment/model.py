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
    model_validator,
)

from schedlab.experiment.groups import Group
from schedlab.experiment.hooks import RunTable
from schedlab.experiment.state import State
from schedlab.experiment.sweep_table import SweepTable, TuneTable
from schedlab.experiment.target_table import MachineTable, TargetTable
from schedlab.experiment.values import (
    Limit,
    Name,
    Seconds,
    Share,
    SwitchName,
    Table,
)
from schedlab.workloads.base import AnyAdapter
from schedlab.workloads.command.figures import Figure

LOOKS = 4
"""Default number of interim analyses. More analyses hardly shorten a run; fewer analyses lengthen a run."""


class About(Table):
    """``[experiment]``: a name, and the question that the run answers."""

    name: Name
    question: str = ""


class Design(Table):
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


class QuietTable(Table):
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


class SettleTable(Table):
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


class Judging(Table):
    """``[analysis]``: the error rate, the margin of equivalence, the correction for many rows.

    ``interval`` is the method for the intervals of ratios; p values and verdicts do not depend on it.
    """

    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    delta: Share = 0.01
    correction: Literal["max-t", "holm", "benjamini-hochberg", "none"] = "max-t"
    family: Literal["variant", "run"] = "variant"
    interval: Literal["sign-flip", "bootstrap"] = "sign-flip"


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


class AttributionTable(Table):
    """``[attribution]``: a stack of variants. Each adds one change to the previous variant; the first is the base."""

    stack: Annotated[list[Name], Field(min_length=2)]


class FactorialTable(Table):
    """``[factorial]``: switches in every combination. A switch is a state that overrides the state of the baseline.

    ``generators`` select a fraction of the combinations, such as ``c = a*b``; see
    :mod:`schedlab.experiment.factorial`.
    """

    switches: Annotated[dict[SwitchName, State], Field(min_length=2, max_length=12)]
    generators: list[str] = Field(default_factory=list)


BESIDE = "tables of beside"
"""Input name of the field for tables in ``beside``: a text in ``beside`` is a parameter of native workloads."""


class BesideTable(BaseModel):
    """``beside``: a workload that runs as a load while the measured workload runs; other keys are its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    use: str
    group: SwitchName | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the file."""
        return dict(self.model_extra or {})


class WorkloadTable(BaseModel):
    """``[[workload]]``: a benchmark to measure. All other keys are parameters of the workload.

    A parameter may be a list: each combination is a row. ``metrics`` names the metrics that get a verdict; the
    workload has a default. A table in ``metrics`` declares a metric that ``use = "command"`` prints. ``quick`` contains
    the values that ``--quick`` uses instead. The workload runs in the control group ``group``. Tables in ``beside`` are
    workloads that run as loads while this workload is measured.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    use: str
    group: SwitchName | None = None
    label: Name | None = None
    metrics: Annotated[list[NameOrFigure], Field(min_length=1)] | None = None
    timeout: Limit | None = None
    quick: dict[str, JsonValue] = Field(default_factory=dict)
    loads: list[BesideTable] = Field(default_factory=list, alias=BESIDE)

    @model_validator(mode="before")
    @classmethod
    def _separate_tables(cls, table: Any) -> Any:
        beside = table.get("beside") if isinstance(table, dict) else None
        if not isinstance(beside, list) or not any(isinstance(each, dict) for each in beside):
            return table
        return {key: value for key, value in table.items() if key != "beside"} | {BESIDE: beside}

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups in which the workload and its loads run."""
        names = (self.group, *(load.group for load in self.loads))
        return tuple(dict.fromkeys(name for name in names if name is not None))

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


class Experiment(Table):
    """An experiment file."""

    experiment: About
    target: TargetTable = TargetTable()
    machine: list[MachineTable] = Field(default_factory=list)
    design: Design = Design()
    settle: SettleTable | None = None
    run: RunTable = RunTable()
    analysis: Judging = Judging()
    attribution: AttributionTable | None = None
    factorial: FactorialTable | None = None
    sweep: SweepTable | None = None
    tune: TuneTable | None = None
    group: list[Group] = Field(default_factory=list)
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

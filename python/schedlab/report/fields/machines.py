"""The fields of the JSON of a summary over machines."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from schedlab.findings.machines import Fleet, Machine, Row
from schedlab.report.document import EVENT_SHARE, Known, Parameters, Part, Verdict
from schedlab.results.metrics import Direction


class MachineFields(Part):
    """A machine of the fleet."""

    name: str = Field(description="the machine's target")
    run: int | None = Field(description="number of its run; null without a run")
    state: str | None = Field(description="state of its run")
    kernel: str | None = Field(description="release of its kernel")
    fault: str = Field(description="why the machine has no complete run; empty otherwise")


class OnMachine(Part):
    """A row's verdict on one machine."""

    name: str = Field(description="the machine")
    ratio: Known = Field(description="value / baseline")
    low: Known = Field(description="lower end of the ratio's interval")
    high: Known = Field(description="upper end of the interval")
    blocks: int = Field(validation_alias="n", description="compared blocks")
    verdict: Verdict = Field(validation_alias="word", description="the machine's own verdict")
    event_share: Known = EVENT_SHARE


class CombinedFields(Part):
    """Figures over machines; all null with fewer than two machines that have two blocks above 0."""

    ratio: Known = Field(default=None, description="mean ratio over machines")
    low: Known = Field(default=None, description="lower end of its interval")
    high: Known = Field(default=None, description="upper end of the interval")
    p: Known = Field(default=None, description="p of a mean ratio of 1")
    p_equivalent: Known = Field(default=None, description="p of a mean ratio outside ±delta")
    tau: Known = Field(default=None, description="standard deviation of the machines' true ratios, relative")
    i_squared: Known = Field(default=None, description="share of the spread that differences of machines explain")
    q: Known = Field(default=None, description="Cochran's Q")
    p_equal: Known = Field(default=None, description="p of equal ratios on all machines")


class RowFields(CombinedFields):
    """A row under one variant."""

    workload: str = Field(description="the workload's label")
    parameters: Parameters
    metric: str = Field(description="the metric")
    unit: str = Field(description="its unit")
    direction: Direction = Field(description="which values are better")
    variant: str = Field(description="the variant")
    control: bool = Field(description="whether the variant is the A/A control")
    verdict: Verdict | None = Field(description="verdict on the mean ratio; null without a mean ratio")
    event_share: Known = EVENT_SHARE
    apart: list[str] = Field(description="machines whose ratio differs from the ratios of the others")
    machines: list[OnMachine] = Field(description="the verdict of each machine")


class Fields(Part):
    """The object printed by `run` on several machines and by `report --machines`."""

    machines: list[MachineFields] = Field(description="the machines")
    rows: list[RowFields] = Field(description="an object for each row and variant")


def fields(fleet: Fleet) -> Fields:
    """Return the fields of a fleet."""
    return Fields(machines=[_machine(machine) for machine in fleet.machines], rows=[_row(row) for row in fleet.rows])


def _machine(machine: Machine) -> MachineFields:
    run = machine.run
    return MachineFields(
        name=machine.name,
        run=run.id if run else None,
        state=run.state if run else None,
        kernel=kernel_of(machine),
        fault=machine.fault,
    )


def kernel_of(machine: Machine) -> str | None:
    """Return the release of a machine's kernel; None if unknown."""
    kernel: dict[str, Any] = machine.run.fingerprint.get("kernel", {}) if machine.run else {}
    return kernel.get("release")


def _row(row: Row) -> RowFields:
    question = row.question
    combined = CombinedFields.model_validate(row.combined, extra="ignore") if row.combined else CombinedFields()
    return RowFields(
        **combined.model_dump(),
        workload=question.workload,
        parameters=json.loads(question.parameters),
        metric=question.metric,
        unit=question.unit,
        direction=question.direction,
        variant=row.variant,
        control=row.control,
        verdict=row.word,
        event_share=row.event_share,
        apart=list(row.apart),
        machines=[OnMachine.model_validate(_named(name, verdict)) for name, verdict in row.verdicts.items()],
    )


def _named(name: str, verdict: Any) -> dict[str, Any]:
    same = ("ratio", "low", "high", "n", "word", "event_share")
    return {"name": name} | {field: getattr(verdict, field) for field in same}

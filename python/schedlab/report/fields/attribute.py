"""The fields of the JSON of an attribution from printed tables."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from schedlab.analysis.machines import Combined
from schedlab.analysis.printed_stack import AttributedRow
from schedlab.findings.printed_stack import PrintedStack, label
from schedlab.report.document import EVENT_SHARE, Known, Part, Verdict
from schedlab.results.metrics import Direction


class StepFields(Part):
    """A step of a row's stack."""

    name: str = Field(description="name of the change, or of several changes joined by +")
    ratio: Known = Field(description="after / before")
    low: Known = Field(description="lower end of the ratio's interval")
    high: Known = Field(description="upper end of the interval")
    p: Known = Field(description="p of no change, not corrected")
    p_adjusted: Known = Field(description="p corrected over the steps of all rows")
    verdict: Verdict = Field(validation_alias="word", description="the verdict")
    event_share: Known = EVENT_SHARE


class TrimmedFields(Part):
    """A row."""

    workload: str = Field(description="workload or title of the table")
    parameters: str = Field(description="parameters of the row, as JSON")
    metric: str = Field(description="operation and label of the row")
    direction: Direction = Field(description="which values are better")
    degrees_of_freedom: int = Field(description="of the spread pooled over the prefixes")
    detectable: Known = Field(description="relative change that a single test finds in four of five cases")
    outlying: list[str] = Field(description="runs outside the others' spread")
    single_runs: list[str] = Field(description="prefixes with one run")
    missing: list[str] = Field(description="prefixes without a run")
    steps: list[StepFields] = Field(description="the steps in order")


class RowFields(TrimmedFields):
    """A row with all its runs."""

    without_outlying: TrimmedFields | None = Field(description="the row without its outlying runs; null without any")


class MeanFields(Part):
    """Mean of a change over all rows, as a gain."""

    ratio: Known = Field(description="mean gain + 1: above 1 is better")
    low: Known = Field(description="lower end of its interval")
    high: Known = Field(description="upper end of the interval")
    p: Known = Field(description="p of no gain")
    tau: Known = Field(description="standard deviation of the rows' true gains")
    i_squared: Known = Field(description="share of the spread that differences of rows explain")
    q: Known = Field(description="Cochran's Q")
    p_equal: Known = Field(description="p of equal gains in all rows")


class Fields(Part):
    """The object printed by `schedlab attribute --format json`."""

    source: str = Field(description="name of the text")
    alpha: float = Field(description="error rate over all steps")
    delta: float = Field(description="margin of equivalence")
    stack: dict[str, list[str]] = Field(description="the runs of each prefix")
    rows: list[RowFields] = Field(description="the rows")
    summary: dict[str, MeanFields | None] = Field(description="mean over the rows by change")
    summary_without_outlying: dict[str, MeanFields | None] = Field(description="the same without outlying runs")


def fields(stack: PrintedStack) -> Fields:
    """Return the fields of an attribution."""
    return Fields(
        source=stack.source,
        alpha=stack.alpha,
        delta=stack.delta,
        stack={name: list(runs) for name, runs in stack.stack.items()},
        rows=[_with_trimmed(stack, row) for row in stack.rows],
        summary=_summary(stack.summary),
        summary_without_outlying=_summary(stack.trimmed_summary),
    )


def _with_trimmed(stack: PrintedStack, row: AttributedRow) -> RowFields:
    trimmed = stack.trimmed.get(label(row))
    return RowFields(**dict(_row(row)), without_outlying=None if trimmed is None else _row(trimmed))


def _row(row: AttributedRow) -> TrimmedFields:
    question = row.row.question
    return TrimmedFields(
        workload=question.workload,
        parameters=question.parameters,
        metric=question.metric,
        direction=question.direction,
        degrees_of_freedom=row.freedom,
        detectable=row.detectable,
        outlying=[run.name for run in row.outlying],
        single_runs=list(row.single),
        missing=list(row.missing),
        steps=[StepFields.model_validate({name: getattr(step, name) for name in _SAME_IN_STEP}) for step in row.steps],
    )


_SAME_IN_STEP = ("name", "ratio", "low", "high", "p", "p_adjusted", "word", "event_share")


def _summary(summary: Mapping[str, Combined | None]) -> dict[str, MeanFields | None]:
    return {
        name: MeanFields(**{field: getattr(mean, field) for field in MeanFields.model_fields}) if mean else None
        for name, mean in summary.items()
    }

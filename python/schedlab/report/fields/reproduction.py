"""Fields of the JSON object of ``schedlab sim reproduce``; filled from
:class:`schedlab.reproduction.result.Reproductions`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasPath, BeforeValidator, Field

from schedlab.report.document import Known, Part
from schedlab.results.metrics import Direction

Gain = Annotated[Known, BeforeValidator(lambda gain: None if gain is None else gain + 0.0)]
"""A gain in per cent. Adding 0.0 turns -0.0, the gain of equal figures where lower is better, into 0.0."""


class Run(Part):
    """A run that simulates the report."""

    run: int = Field(validation_alias="id", description="number of the run in the store")
    name: str = Field(description="the experiment's name")
    target: str = Field(description="machine and kernel model")
    quick: bool = Field(description="whether the run has only a few rows and short programs")
    models: str = Field(validation_alias="fingerprint_hash", description="hash of the models and the simulator")


class Guest(Part):
    """The run on a real kernel in a deterministic guest."""

    run: int = Field(validation_alias=AliasPath("run", "id"), description="number of the run in the store")
    name: str = Field(validation_alias=AliasPath("run", "name"), description="the experiment's name")
    target: str = Field(validation_alias=AliasPath("run", "target"), description="the guest")
    quick: bool = Field(validation_alias=AliasPath("run", "quick"), description="whether the run has only a few rows")
    kernel: str = Field(
        validation_alias=AliasPath("run", "fingerprint", "kernel", "release"), description="the kernel's release"
    )
    qemu: str = Field(validation_alias=AliasPath("run", "fingerprint", "qemu"), description="version of QEMU")
    blocks: int = Field(validation_alias=AliasPath("run", "design", "blocks"), description="random seeds")
    note: str = Field(description="differences between the report and the guest")


class Miss(Part):
    """A simulated figure that misses a condition of a headline."""

    table: str = Field(validation_alias=AliasPath("table", "title"), description="title of the table")
    at: int | str = Field(validation_alias=AliasPath("row", "at"), description="the row's parameter")
    column: str | None = Field(validation_alias="column_name", description="the column; null for a level")
    figure: Gain = Field(description="the simulated figure")
    unit: str = Field(description="`%` for a gain, `×` for a factor, otherwise the unit of a level")
    bounds: list[float] = Field(description="lower and upper bound")
    rises: bool = Field(description="false for a level that is not above the row before")


class Headline(Part):
    """A finding of the report."""

    text: str = Field(validation_alias=AliasPath("headline", "text"), description="the finding in words")
    reached: bool | None = Field(description="whether the simulation reaches the headline; null without figures")
    of_no_change: bool = Field(description="whether predicting no change reaches the headline")
    misses: list[Miss] = Field(description="simulated figures that miss a condition")


class Count(Part):
    """A figure of the guest; gains are null for counts of events."""

    figure: str = Field(description="`instructions`, also for a unit, or the name of a counter")
    before: float = Field(description="the mean under the baseline")
    after: float = Field(description="the mean under the column")
    gain: Gain = Field(None, validation_alias=AliasPath("effect", "gain"), description="gain in instructions, per cent")
    gain_error: Known = Field(None, validation_alias=AliasPath("effect", "error"), description="its standard error")


class Row(Part):
    """A published effect beside its simulation; gains are in per cent, positive where the column is better."""

    table: str = Field(validation_alias=AliasPath("table", "title"), description="title of the table")
    at: int | str = Field(validation_alias=AliasPath("row", "at"), description="the row's parameter")
    column: str = Field(validation_alias="column_name", description="the column")
    baseline: str = Field(validation_alias="baseline_name", description="the column that it is compared with")
    unit: str = Field(validation_alias=AliasPath("table", "unit"), description="unit of the printed figures")
    direction: Direction = Field(validation_alias=AliasPath("table", "better"), description="which figures are better")
    published_figure: Known = Field(description="mean of the printed figures; null where levels cannot be compared")
    published_baseline: Known = Field(description="the same of the baseline")
    published: Gain = Field(validation_alias=AliasPath("published", "gain"), description="published gain")
    published_error: Known = Field(
        validation_alias=AliasPath("published", "error"), description="its standard error; null if not printed"
    )
    significant: bool = Field(
        validation_alias=AliasPath("published", "significant"), description="whether it is beyond the published noise"
    )
    simulated: Gain = Field(None, validation_alias=AliasPath("simulated", "gain"), description="simulated gain")
    simulated_error: Known = Field(
        None, validation_alias=AliasPath("simulated", "error"), description="its standard error over random seeds"
    )
    blocks: int = Field(
        0, validation_alias=AliasPath("simulated", "blocks"), description="random seeds; 0 without a simulation"
    )
    counted: list[Count] = Field(description="figures of the guest")
    scored: bool = Field(validation_alias=AliasPath("table", "scored"), description="whether the effect is scored")


class Level(Part):
    """A figure of a table's first column."""

    table: str = Field(validation_alias=AliasPath("table", "title"), description="title of the table")
    at: int | str = Field(validation_alias=AliasPath("row", "at"), description="the row's parameter")
    unit: str = Field(validation_alias=AliasPath("table", "unit"), description="unit of both figures")
    published: float = Field(description="the printed figure")
    simulated: float = Field(description="the simulated figure")


class LevelScores(Part):
    """Simulated / published levels; null without levels."""

    ratio: Known = Field(validation_alias="level", description="median of simulated / published")
    error: Known = Field(validation_alias="level_error", description="median of the factor between both")
    p90: Known = Field(validation_alias="level_p90", description="its 90th percentile")


class Report(Part):
    """A published report with its scores; a score without rows is null."""

    report: str = Field(validation_alias="name", description="name of the report")
    number: str = Field(validation_alias=AliasPath("report", "number"), description="`000` to `004`")
    title: str = Field(validation_alias=AliasPath("report", "title"), description="title of the report")
    runs: list[Run] = Field(description="the simulations")
    guest: Guest | None = Field(
        validation_alias="counted_by", description="the run on a real kernel; null without `--guest`"
    )
    effects: int = Field(
        validation_alias=AliasPath("scores", "effects"), description="simulated effects that are scored"
    )
    missing: int = Field(validation_alias=AliasPath("scores", "missing"), description="effects without a simulation")
    resolved: int = Field(
        validation_alias=AliasPath("scores", "resolved"),
        description="effects of four or more random seeds with a standard error below a third of the published effect",
    )
    significant: int = Field(
        validation_alias=AliasPath("scores", "significant"), description="effects beyond the published noise"
    )
    right: int = Field(validation_alias=AliasPath("scores", "right"), description="of these, with the simulated sign")
    sign: Known = Field(validation_alias=AliasPath("scores", "sign"), description="their share")
    spearman: Known = Field(
        validation_alias=AliasPath("scores", "spearman"), description="rank correlation, averaged over tables"
    )
    error: Known = Field(validation_alias=AliasPath("scores", "error"), description="median error in points")
    error_of_no_change: Known = Field(
        validation_alias=AliasPath("scores", "error_of_none"), description="the same of predicting no change"
    )
    skill: Known = Field(
        validation_alias=AliasPath("scores", "skill"), description="1 − mean error / mean error of predicting no change"
    )
    skill_interval: list[Known] | None = Field(
        validation_alias=AliasPath("scores", "skill_interval"),
        description="limits of its interval at 90 %; null with fewer than five rows",
    )
    ceiling: Known = Field(
        validation_alias=AliasPath("scores", "ceiling"),
        description="expected skill of a second measurement with the printed noise",
    )
    level: LevelScores = Field(validation_alias="scores", description="scores of the levels")
    headlines: list[Headline] = Field(
        validation_alias=AliasPath("scores", "headlines"), description="findings of the report"
    )
    rows: list[Row] = Field(validation_alias="comparisons", description="the effects")
    levels: list[Level] = Field(description="the levels that can be compared")


class Totals(Part):
    """Sums over the reports."""

    reports: int = Field(description="number of reports")
    positive_skill: int = Field(description="reports with positive skill")
    interval_above_0: int = Field(description="of these, with an interval above 0")
    significant: int = Field(description="effects beyond the published noise")
    right: int = Field(description="of these, with the simulated sign")
    headlines: int = Field(description="headlines whose figures were simulated")
    reached: int = Field(description="headlines that the simulation reaches")
    of_no_change: int = Field(description="headlines that predicting no change reaches")
    by_both: int = Field(description="headlines that both reach")


class Fields(Part):
    """Published reports beside their simulation."""

    frozen: str = Field(description="SHA-256 of published figures, experiments, models and simulator")
    totals: Totals = Field(description="sums over the reports")
    reports: list[Report] = Field(description="the reports")

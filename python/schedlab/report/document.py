"""The document of a report: every format renders this pydantic model and computes nothing.

The descriptions are the documentation: ``docs/make_schema.py`` makes the JSON schema and the tables of
``docs/report-json.md`` from them. Fields made by :func:`_internal` are for the other formats and are not published.
"""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from schedlab.analysis.gains import Recomputed
from schedlab.analysis.mmtests.tables import View
from schedlab.analysis.review import View as Review
from schedlab.results.metrics import Direction
from schedlab.results.words import Word

SCHEMA = 5
"""Version of the JSON schema. The version rises when a field is removed or changes its meaning, not for a new field."""

Known = Annotated[float | None, BeforeValidator(lambda number: number if isfinite(number or 0) else None)]
"""A number; null if unknown, never 0 instead."""

Verdict = Annotated[Word, WithJsonSchema({"enum": [str(word) for word in Word], "type": "string"})]

Parameters = Annotated[dict[str, Any], Field(description="the workload's parameters")]

_internal = partial(Field, exclude=True)
"""A field that formats need and that the JSON does not publish."""


EVENT_SHARE = Field(
    description="`equivalent`: share of the blocks (unpaired: values) up to which a rare event cannot be excluded, "
    "3 / `n` (rule of three); null for other verdicts and exact differences"
)


class Part(BaseModel):
    """Base of all parts of the document: undocumented fields are refused."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, frozen=True, from_attributes=True)


class Run(Part):
    """A run that the report is made from."""

    id: int = Field(description="number of the run in the store, or in the path that was read directly")
    name: str = Field(description="the experiment's name; for an import the name of its column")
    question: str = Field(description="the question of the experiment")
    target: str = Field(description="place of the run (`host`), or format of the import")
    kind: str = Field(description="origin of the figures: `real`, `simulated`, `scripted`, `imported`, …")
    state: str = Field(description="`running`, `complete`, `interrupted`, `refused`")
    quick: bool = Field(description="whether the run was started with `--quick`")
    seed: int = Field(description="random seed of the order of trials")
    blocks: int = Field(description="planned or imported blocks")
    iterations: int = Field(description="iterations in each block; for an import the maximum over the blocks")
    planned: int = Field(description="trials in the plan")
    recorded: int = Field(description="trials in the store")
    started: float = Field(description="seconds since 1970, UTC; for an import the time of the import")
    finished: Known = Field(description="seconds since 1970, UTC")
    fingerprint: str = Field(description="hash of the machine and its configuration, `-` if unknown")
    machine: str | None = Field(description="the CPU's model")
    cpus: int | None = Field(description="logical CPUs")
    kernel: str | None = Field(description="the kernel's release")
    source: str = Field(description="path of the experiment file or of the imported file")
    version: str = Field(description="version of schedlab")
    measured: bool = _internal(description="false for an import, which has no plan")
    sampled: bool = _internal(description="false for an import of printed tables alone")
    memory_kib: int | None = _internal(description="the machine's memory")
    facts: dict[str, str] = _internal(description="the fingerprint, flattened")
    notes: list[str] = _internal(description="remarks that the run recorded")
    file: str = _internal(description="the experiment file's text")


class Column(Part):
    """A column of the report and its origin."""

    name: str = Field(description="name of the column, as in `rows`")
    run: int = Field(description="number of the column's run, see `runs`")
    variant: str = Field(description="name of the variant in that run")
    control: bool = Field(description="the A/A control: the baseline measured a second time")
    sets: str = Field(description="what the variant sets, in words: `slice 12 ms, cpus 0`; empty if it sets nothing")
    place: int = _internal(description="index of its run in `runs`")
    stored: bool = _internal(description="false if the column was read from a path")


class Judging(Part):
    """Options of the analysis."""

    alpha: float = Field(description="allowed rate of false alarms, over the family")
    delta: float = Field(description="relative changes up to which two variants are equivalent")
    correction: str = Field(description="for many rows: `max-t`, `holm`, `benjamini-hochberg`, `none`")
    family: str = Field(description="corrected over the rows of each `variant`, or over all of the `run`")


class Row(Part):
    """One row and one column other than the baseline."""

    workload: str = Field(description="the workload's label")
    metric: str = Field(description="the metric")
    unit: str = Field(description="unit of `baseline` and `value`")
    direction: Direction = Field(description="which values are better")
    parameters: dict[str, Any] = Field(description="the workload's parameters as in the file, one value each")
    variant: str = Field(description="the column that is compared with the baseline")
    control: bool = Field(description="true for the A/A control: its interval is the range of noise")
    method: str = Field(description="`paired` by block, or `unpaired`: two groups that were not measured in turn")
    n: int = Field(
        description="paired: blocks in which both variants were measured; unpaired: values in the smaller group"
    )
    failed: int = Field(description="failed trials of the baseline and the variant in this row")
    baseline: Known = Field(
        description="geometric mean of the baseline over the compared blocks, or values if `method` is `unpaired`; "
        "arithmetic if `ratio` is null"
    )
    spread: Known = Field(description="standard deviation of the baseline's block values")
    value: Known = Field(description="the same mean of the variant")
    ratio: Known = Field(description="the judged change: `value` / `baseline`, or a pseudo-median, see `statistic`")
    arithmetic_ratio: Known = Field(description="the same ratio by arithmetic means, see the warning `means`")
    low: Known = Field(description="lower end of the ratio's interval at 1 − `level`, not adjusted for many rows")
    high: Known = Field(description="upper end of the interval")
    level: Known = Field(description="error level of the interval: alpha, or the level of the last interim analysis")
    p: Known = Field(description="raw, two-sided: permutation within blocks if paired, Welch on logarithms if not")
    p_mann_whitney: Known = Field(description="Mann–Whitney's p beside Welch's, unpaired rows only")
    p_adjusted: Known = Field(description="p after the correction; the verdict follows from it")
    p_equivalent: Known = Field(description="two one-sided tests against ±delta, corrected likewise")
    verdict: Verdict = Field(
        description="`equivalent`: the ratio lies inside ±delta; `unconfirmed`: a significant difference that load, "
        "steal or the A/A control may explain, see `reason`; `inconclusive`: neither a difference nor equivalence"
    )
    event_share: Known = EVENT_SHARE
    within_control: bool = Field(description="the A/A control shows a change of this size in the same row")
    detectable: Known = Field(
        description="minimum detectable effect at 80 % power: a relative change in the direction of `ratio`"
    )
    blocks_needed: int | None = Field(description="blocks that would find a change of delta; null above 100,000")
    decided: int | None = Field(description="sequential runs: the block after which the row had its verdict")
    reason: str = Field(description="why numbers are null, or why a difference is unconfirmed")
    tied_to: str | None = Field(
        description="the metric of an earlier row of the same workload and parameters that is the same fact, such as "
        "the throughput of a latency at a fixed number of clients; null for other rows"
    )
    kind: str = Field(
        description="origin of the figures, as of a run; `real/simulated` if the columns differ; `counted` for "
        "instructions of a deterministic guest"
    )
    exact: bool = Field(description="the difference of counted instructions is the same under all random seeds")
    statistic: str = Field(
        description="`logs`: log-ratios of means; `aligned-ranks`: the A/A control takes part, `ratio` is the "
        "pseudo-median of the ratios to baseline and control; `ranks`: worst cases, whose `baseline` and `value` are "
        "medians over the blocks; `differences`: a value is 0, `baseline` and `value` are arithmetic means, and "
        "`ratio` and `high` are null if the baseline is 0"
    )
    of_means: Known = _internal(description="`value` / `baseline`, where `ratio` is on the other side of no change")


class Level(Part):
    """A row's figures under one variant, in a report that compares nothing."""

    workload: str = Field(description="the workload's label")
    metric: str = Field(description="the metric")
    unit: str = Field(description="unit of `mean`")
    direction: Direction = Field(description="which values are better")
    parameters: Parameters
    variant: str = Field(description="the column")
    n: int = Field(description="blocks with a value")
    mean: Known = Field(description="geometric mean of the block means; arithmetic if a value is not above 0")
    spread: Known = Field(description="standard deviation of the block means")


class Unmatched(Part):
    """A row that some columns lack."""

    workload: str = Field(description="the workload's label")
    metric: str = Field(description="the metric")
    unit: str = Field(description="unit in the first column that has the row")
    parameters: Parameters
    missing: list[str] = Field(description="the columns without the row, or with another unit or direction")
    reason: str = Field(description="the reason for each of these columns")


class Warning(Part):
    """One warning."""

    kind: str = Field(description="name of the warning, which does not change")
    seen: str = Field(description="the observation")
    todo: str = Field(description="the remedy")


class Failure(Part):
    """A failed trial."""

    position: int = Field(description="position of the trial in the plan")
    variant: str = Field(description="column of the trial")
    workload: str = Field(description="the workload's label")
    parameters: Parameters
    state: str = Field(description="`failed` or `timeout`")
    reason: str = Field(description="description of the fault")


class Counter(Part):
    """Difference of one of the kernel's counters, for one variant in one row."""

    workload: str = Field(description="the workload's label")
    parameters: Parameters
    variant: str = Field(description="the column that is compared with the baseline")
    counter: str = Field(description="name of the counter, see [observe.md](observe.md)")
    n: int = Field(
        description=(
            "blocks in which both variants have the counter; if one variant lacks the counter, blocks of the other "
            "variant"
        )
    )
    baseline: Known = Field(
        description="arithmetic mean of the baseline's trials; null if the baseline lacks the counter"
    )
    value: Known = Field(description="arithmetic mean over the variant's trials; null if the variant lacks the counter")
    ratio: Known = Field(
        description="geometric mean over the blocks of variant / baseline; null if a block counted 0 or a mean is null"
    )
    low: Known = Field(description="lower end of the ratio's interval at 1 − alpha, not corrected")
    high: Known = Field(description="upper end of the interval")
    difference: Known = Field(description="variant − baseline, in the counter's unit")
    difference_low: Known = Field(description="lower end of the difference's interval")
    difference_high: Known = Field(description="upper end of the difference's interval")
    clear: bool = Field(description="the interval excludes no change")
    headline: bool = _internal(description="shown without being named, and not 0 everywhere")

    @property
    def one_sided(self) -> bool:
        """Whether the baseline or the variant does not have this counter."""
        return self.baseline is None or self.value is None


class Effect(Part):
    """Effect of a part of a change or of a switch on a row; the intervals of a row's effects are valid together."""

    name: str = Field(description="name of the step or the switch; indistinguishable effects are named together")
    n: int = Field(description="blocks")
    ratio: Known = Field(description="value with the change / value without it; 1 is no effect")
    low: Known = Field(
        description="lower end of the ratio's interval, simultaneous over the row's effects and interim analyses"
    )
    high: Known = Field(description="upper end of the interval")
    p: Known = Field(description="p adjusted over the row's effects")
    p_adjusted: Known = Field(description="p adjusted over the effects of all rows; the verdict follows from it")
    p_equivalent: Known = Field(description="p of two one-sided tests against ±delta, adjusted likewise")
    verdict: Verdict = Field(description="verdict, as for a row")
    event_share: Known = EVENT_SHARE
    detectable: Known = Field(
        description="minimum detectable effect at 80 % power: a relative change in the direction of `ratio`"
    )
    reason: str = Field(description="why numbers are null")


class Step(Effect):
    """One step of a stack."""

    parts: list[str] = Field(
        description="the variants that the step adds: several around a variant that could not be measured"
    )
    since: str = Field(description="the variant before the step")
    until: str = Field(description="the variant after the step")


class Switch(Effect):
    """Effect of a switch of a factorial, or interaction of two switches."""

    switches: list[str] = Field(description="one switch for a main effect, two for an interaction")
    aliases: list[str] = Field(description="effects that this design cannot distinguish from this effect")


class EffectsRow(Part):
    """The row of a stack's steps or a factorial's effects."""

    workload: str = Field(description="the workload's label")
    metric: str = Field(description="the metric")
    parameters: Parameters
    unit: str = _internal(description="of the metric")
    direction: Direction = _internal(description="which values are better")


class Stack(EffectsRow):
    """A row's stack of changes, step by step."""

    stack: list[str] = Field(description="variants, each with one change more than the previous variant")
    steps: list[Step] = Field(description="the product of their ratios is the ratio of the stack")
    n: int = Field(description="blocks in which all variants were measured")
    ratio: Known = Field(description="ratio of the stack")
    low: Known = Field(description="lower end of the stack's interval, alone, over the interim analyses")
    high: Known = Field(description="upper end of the interval")
    gaps: list[str] = Field(description="variants that could not be measured, and why")


class Factorial(EffectsRow):
    """A row's switches."""

    effects: list[Switch] = Field(description="main effects and interactions")


class Course(Part):
    """Progress of a sequential run."""

    looks: list[int] = Field(description="numbers of blocks at the interim analyses; the last is the full size")
    taken: int = Field(description="interim analyses so far")
    level: Known = Field(description="nominal two-sided level of the last interim analysis")
    blocks: int = Field(description="blocks that the verdicts are based on")
    stopped: bool = Field(description="whether the run ended before its full size because every row was decided")


class PrintedCell(Part):
    """One figure that a source printed."""

    column: str = Field(description="name of the column")
    value: Known = Field(description="the figure, null if no figure is printed")
    text: str = Field(description="as printed")
    spread_percent: Known = Field(description="printed spread, relative to the value")
    spread_kind: str = Field(description="`standard deviation`, `standard error`, `unknown`, or empty")
    n: int | None = Field(description="number of repetitions, if known")
    gain: Known = Field(
        description=("printed change against the baseline in per cent, with the sign convention of `gains`")
    )
    recomputed: Known = Field(description="the same change, computed from the printed values")
    difference: Known = Field(
        description="difference to the baseline where a change is not a ratio: from 0 or less, or to less than 0"
    )
    agrees: bool | None = Field(description="whether rounding explains the difference between `gain` and `recomputed`")
    star: bool | None = Field(description="whether the source marks the change; null in tables without marks")
    p: Known = Field(description="Welch's test on the printed figures, if n and spread are printed; not corrected")


class PrintedRow(Part):
    """One line of a printed table."""

    operation: str = Field(description="`Hmean`, `Min`, `Elapsed`, …")
    label: str = Field(description="the rest of the row's head as printed")
    parameters: dict[str, Any] = Field(description="parameters that distinguish the rows, by name")
    unit: str = Field(description="unit of the values")
    direction: Direction | None = Field(description="which values are better; null if unknown")
    line: int = Field(description="line of the row in the source, from 1")
    cells: list[PrintedCell] = Field(description="an element for each column")


class PrintedTable(Part):
    """A table of an imported text, which has figures but no samples."""

    layout: str = Field(
        description=(
            "`mmtests`, `perf-stat`, `0-day`, `runs in rows`, `pct-imp`, `compare`, `changes`, `columns`, `beside`"
        )
    )
    title: str = Field(description="the text printed above the table")
    workload: str = Field(description="the workload, if the text names the workload")
    line: int = Field(description="first line of the table in the source, from 1")
    columns: list[str] = Field(description="the columns, in the order of the source")
    baseline: str = Field(description="the column that gains are against")
    gains: Literal["improvement", "change"] = Field(description="meaning of a positive gain: better, or larger")
    rows: list[PrintedRow] = Field(description="the rows, in the order of the source")
    baseline_index: int = _internal(description="index of `baseline` in `columns`, whose names may repeat")
    disagreements: list[Recomputed] = _internal(description="printed gains that do not follow from the values")


class BlockValue(Part):
    """Mean of a column's values in one block."""

    block: int
    column: int = Field(description="index of the column")
    position: float = Field(description="mean position in the order of trials")
    value: float


class PlottedRow(Part):
    """A row with the values behind its verdicts, for plots."""

    key: str = Field(description="anchor of the row in the page")
    workload: str
    metric: str
    unit: str
    direction: Direction
    parameters: dict[str, Any]
    label: str = Field(description="name of the row in the report of an imported source")
    verdicts: list[Row] = Field(description="verdicts in the order of the columns; empty without a second column")
    values: list[BlockValue] = Field(description="block means in the order of blocks and columns")
    samples: list[list[float | None] | None] | None = Field(description="sorted, thinned samples of each column")


class Report(Part):
    """The object printed by `schedlab report --format json` and `schedlab compare --format json`."""

    number: int = Field(alias="schema", default=SCHEMA, description=f"{SCHEMA}; the changes are listed above")
    run: Run = Field(description="the baseline's run")
    runs: list[Run] = Field(description="all compared runs, the run of the baseline first")
    columns: list[Column] = Field(description="the compared columns, the baseline first")
    paired: bool = Field(description="false if the columns were not measured in turn")
    judging: Judging = Field(description="options of the analysis")
    baseline: str = Field(description="name of the first column")
    rows: list[Row] = Field(
        description=("one object for each row and each column that contains the row, without the baseline")
    )
    doubt: str = Field(description="why every difference is unconfirmed; empty without such a doubt")
    levels: list[Level] = Field(description="figures of each row and column, if nothing is compared")
    printed: list[PrintedTable] = Field(description="tables of imported texts")
    stacks: list[Stack] = Field(description="an object for each row, if the experiment names a stack")
    factorials: list[Factorial] = Field(description="an object for each row, if the experiment has switches")
    course: Course | None = Field(description="progress of a sequential run; null for other runs")
    unmatched: list[Unmatched] = Field(description="rows that some columns lack")
    warnings: list[Warning] = Field(description="warnings by name, each with the remedy")
    failures: list[Failure] = Field(description="all failed trials")
    notes: list[str] = Field(
        description="data that were left out; with `--counters`, also counters that could not be read"
    )
    counters: list[Counter] | None = Field(default=None, description="null without `--counters` or `--counter`")
    counter_notes: list[str] = _internal(default=[], description="the notes that are about counters only")
    raw_p: bool = _internal(default=False, description="whether tables show p before the correction too")
    counters_named: bool = _internal(default=False, description="whether the counters were selected by their names")
    commands: list[str] = _internal(description="the commands that repeat the run and the report")
    again: str = _internal(description="the command that measures the run again, without a random seed")
    mmtests: View | None = _internal(default=None, description="MMTests' tables")
    review: Review | None = _internal(default=None, description="tables in the form of reviews")
    plotted: list[PlottedRow] = _internal(default=[], description="the rows of the HTML report")
    sampled: bool = _internal(default=False, description="whether `plotted` has samples, not only block means")

    def run_of(self, column: Column) -> Run:
        """Return the run of a column. Numbers are ambiguous where runs lie in several stores."""
        return self.runs[column.place]


class Samples(Part):
    """Metadata of a Parquet file of samples, with the fields of a report."""

    number: int = Field(alias="schema", default=SCHEMA)
    runs: list[Run]
    columns: list[Column]


def published(part: type[Part]) -> list[str]:
    """Return the names of a part's fields in the JSON."""
    return [name for name, field in part.model_fields.items() if not field.exclude]

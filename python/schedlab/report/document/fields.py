"""The fields of a report for scripts: what each is called, its type, and what it means.

The descriptions are the documentation: ``docs/make_schema.py`` makes the schema and the tables of the manual from them.
"""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

SCHEMA = 2
"""Raised when a field changes its meaning or goes; new fields may come without that."""

Known = Annotated[float | None, BeforeValidator(lambda number: number if isfinite(number or 0) else None)]
"""A number, null where it is not known: never 0 in its place."""


class Part(BaseModel):
    """What all parts of the document have in common: no fields but the documented ones."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, frozen=True)


class Run(Part):
    """A run that the report is made from."""

    id: int = Field(description="its number in the store; of its own in a path that was read directly")
    name: str = Field(description="the experiment's name; that of the column where it was imported")
    question: str = Field(description="what the experiment asks")
    target: str = Field(description="where it ran (`host`), or the format that was imported")
    kind: str = Field(description="how the figures came to be: `real`, `simulated`, `scripted`, `imported`, …")
    state: str = Field(description="`running`, `complete`, `interrupted`")
    quick: bool = Field(description="run with `--quick`")
    seed: int = Field(description="of the order of trials")
    blocks: int = Field(description="planned, or imported")
    iterations: int = Field(description="in each block; the most that a block has where it was imported")
    planned: int = Field(description="trials in the plan")
    recorded: int = Field(description="trials in the store")
    started: float = Field(description="seconds since 1970, UTC; when it was imported, for an import")
    finished: Known = Field(description="seconds since 1970, UTC")
    fingerprint: str = Field(description="hash of the machine and its configuration, `-` where it is not known")
    machine: str | None = Field(description="the CPU's model")
    cpus: int | None = Field(description="logical CPUs")
    kernel: str | None = Field(description="the kernel's release")
    source: str = Field(description="path of the experiment file, or of what was imported")
    version: str = Field(description="of schedlab")


class Column(Part):
    """What a report calls one of its columns, and where it comes from."""

    name: str = Field(description="as in `rows`")
    run: int = Field(description="number of its run, see `runs`")
    variant: str = Field(description="its name in that run")
    control: bool = Field(description="the A/A control: the baseline measured a second time")


class Judging(Part):
    """How strictly verdicts were made."""

    alpha: float = Field(description="false alarms allowed, over the family")
    delta: float = Field(description="relative changes up to which two variants are equivalent")
    correction: str = Field(description="for many rows: `holm`, `benjamini-hochberg`, `none`")
    family: str = Field(description="corrected over the rows of each `variant`, or over all of the `run`")


class Row(Part):
    """One row and one column but the baseline."""

    workload: str = Field(description="the workload's label")
    metric: str = Field(description="what was measured")
    unit: str = Field(description="of `baseline` and `value`")
    direction: Literal["lower", "higher"] = Field(description="which is better")
    parameters: dict[str, Any] = Field(description="the workload's parameters as the file gave them, one value each")
    variant: str = Field(description="the column that is compared with the baseline")
    control: bool = Field(description="true for the A/A control: its interval is the noise band")
    method: str = Field(description="`paired` by block, or `unpaired`: two groups that were not measured in turn")
    n: int = Field(description="paired: blocks in which both were measured; unpaired: values in the smaller group")
    failed: int = Field(description="trials of the baseline and the variant in this row that failed")
    baseline: Known = Field(description="mean of the baseline over blocks")
    spread: Known = Field(description="standard deviation of the baseline's block values")
    value: Known = Field(description="mean of the variant over blocks")
    ratio: Known = Field(description="variant / baseline, geometric mean; paired by block where `method` says so")
    low: Known = Field(description="lower end of the ratio's interval at 1 − `level`, not adjusted for many rows")
    high: Known = Field(description="upper end of it")
    level: Known = Field(description="error level of the interval: alpha, or that of a sequential run's last look")
    p: Known = Field(description="raw, two-sided: sign-flip permutation where paired, Welch on logarithms where not")
    p_mann_whitney: Known = Field(description="Mann–Whitney's p beside Welch's, unpaired rows only")
    p_adjusted: Known = Field(description="p after the correction; the verdict follows from it")
    p_equivalent: Known = Field(description="two one-sided tests against ±delta, corrected likewise")
    verdict: Literal["better", "worse", "equivalent", "inconclusive"] = Field(
        description="`equivalent` is shown to lie inside ±delta, `inconclusive` is neither this nor that"
    )
    in_noise_band: bool = Field(description="the ratio lies inside the A/A control's interval in the same row")
    detectable: Known = Field(description="the relative change that a comparison like this finds four times in five")
    blocks_needed: int | None = Field(description="blocks that would find a change of delta; null above 100,000")
    decided: int | None = Field(description="sequential runs: the block after which the row had its verdict")
    reason: str = Field(description="why nothing is known, where nothing is")
    kind: str = Field(description="how the figures came to be, as of a run; `real/simulated` where the two differ")


class Unmatched(Part):
    """A row that not all columns have."""

    workload: str = Field(description="the workload's label")
    metric: str = Field(description="what was measured")
    unit: str = Field(description="its unit in the first column that has it")
    parameters: dict[str, Any] = Field(description="the workload's parameters")
    missing: list[str] = Field(description="the columns without it, or with another unit or direction")
    reason: str = Field(description="why, for each of them")


class Warning(Part):
    """One warning."""

    kind: str = Field(description="its name, which does not change")
    seen: str = Field(description="what was seen")
    todo: str = Field(description="what to do next")


class Failure(Part):
    """A trial that did not end well."""

    position: int = Field(description="in the plan")
    variant: str = Field(description="its column")
    workload: str = Field(description="the workload's label")
    parameters: dict[str, Any] = Field(description="the workload's parameters")
    state: str = Field(description="`failed` or `timeout`")
    reason: str = Field(description="what went wrong")


class Counter(Part):
    """How one of the kernel's counters differs, for one variant in one row."""

    workload: str = Field(description="the workload's label")
    parameters: dict[str, Any] = Field(description="the workload's parameters")
    variant: str = Field(description="compared with the baseline")
    counter: str = Field(description="its name, see [observe.md](observe.md)")
    n: int = Field(description="blocks in which both were counted, or that side of which there is one alone")
    baseline: Known = Field(description="mean of a trial of the baseline; null where it does not have the counter")
    value: Known = Field(description="mean of a trial of the variant; null where it does not have the counter")
    ratio: Known = Field(description="variant / baseline; null where a block counted nothing, or a side has none")
    low: Known = Field(description="lower end of the ratio's interval at 1 − alpha, not corrected")
    high: Known = Field(description="upper end of it")
    difference: Known = Field(description="variant − baseline, in the counter's unit")
    difference_low: Known = Field(description="lower end of the difference's interval")
    difference_high: Known = Field(description="upper end of it")
    clear: bool = Field(description="the interval leaves out that nothing changed")


class Effect(Part):
    """A part of a change, or a switch: how much it does to a row; its interval holds together with the row's others."""

    name: str = Field(description="of the step or the switch; two that cannot be told apart are named together")
    n: int = Field(description="blocks")
    ratio: Known = Field(description="with it / without it; 1 is no effect")
    low: Known = Field(description="lower end of its interval at 1 − alpha, simultaneous over the row's effects")
    high: Known = Field(description="upper end of it")
    p: Known = Field(description="adjusted over the row's effects")
    p_adjusted: Known = Field(description="adjusted over rows too; the verdict follows from it")
    p_equivalent: Known = Field(description="of two one-sided tests against ±delta, adjusted likewise")
    verdict: Literal["better", "worse", "equivalent", "inconclusive"] = Field(description="as of a row")
    detectable: Known = Field(description="the relative change that would have been found four times in five")
    reason: str = Field(description="why nothing is known, where nothing is")


class Step(Effect):
    """One step of a stack."""

    parts: list[str] = Field(description="the variants that it adds: several around one that could not be measured")
    since: str = Field(description="the variant before it")
    until: str = Field(description="the variant that has it")


class Switch(Effect):
    """A switch of a factorial, or how two change each other's effect."""

    switches: list[str] = Field(description="one for a main effect, two for an interaction")
    aliases: list[str] = Field(description="effects that this design cannot tell apart from it")


class Stack(Part):
    """A row's stack of changes, step by step."""

    workload: str = Field(description="the workload's label")
    metric: str = Field(description="what was measured")
    parameters: dict[str, Any] = Field(description="the workload's parameters")
    stack: list[str] = Field(description="variants, each holding one change more than the one before")
    steps: list[Step] = Field(description="their ratios multiply to the whole")
    n: int = Field(description="blocks in which all of them were measured")
    ratio: Known = Field(description="the whole")
    low: Known = Field(description="lower end of the whole's own interval at 1 − alpha")
    high: Known = Field(description="upper end of it")
    gaps: list[str] = Field(description="variants that could not be measured, and why")


class Factorial(Part):
    """A row's switches."""

    workload: str = Field(description="the workload's label")
    metric: str = Field(description="what was measured")
    parameters: dict[str, Any] = Field(description="the workload's parameters")
    effects: list[Switch] = Field(description="main effects and interactions")


class Course(Part):
    """How far a sequential run has come."""

    looks: list[int] = Field(description="blocks after which it is looked at, the last of them its full size")
    taken: int = Field(description="looks that were taken")
    level: Known = Field(description="nominal two-sided level of the last look")
    blocks: int = Field(description="blocks that the verdicts rest on")
    stopped: bool = Field(description="whether it ended before its full size: every row was decided")


class PrintedCell(Part):
    """One figure that a source printed."""

    column: str = Field(description="its column")
    value: Known = Field(description="the figure, null where none is printed")
    text: str = Field(description="as printed")
    spread_percent: Known = Field(description="printed spread, relative to the value")
    spread_kind: str = Field(description="what that is: `standard deviation`, `standard error`, `unknown`, or empty")
    n: int | None = Field(description="repeats behind it, where told")
    gain: Known = Field(description="printed change against the baseline in per cent, signed as `gains` says")
    recomputed: Known = Field(description="the same from the values as printed")
    agrees: bool | None = Field(description="whether rounding explains the difference of the two")
    star: bool | None = Field(description="whether the source marked it; null in tables without marks")
    p: Known = Field(description="Welch's test on the printed figures, where n and spread are printed; not corrected")


class PrintedRow(Part):
    """One line of a printed table."""

    operation: str = Field(description="`Hmean`, `Min`, `Elapsed`, …")
    label: str = Field(description="the rest of the row's head as printed")
    parameters: dict[str, Any] = Field(description="what tells the rows apart, by name")
    unit: str = Field(description="of its values")
    direction: Literal["lower", "higher"] | None = Field(description="which is better; null where nobody tells")
    line: int = Field(description="in the source, from 1")
    cells: list[PrintedCell] = Field(description="one for each column")


class PrintedTable(Part):
    """A table of an imported text: its figures are all there is."""

    layout: str = Field(description="`mmtests`, `perf-stat`, `0-day`, `runs in rows`, `columns`, `beside`")
    title: str = Field(description="the words printed above it")
    workload: str = Field(description="as far as the text tells")
    line: int = Field(description="where it begins, from 1")
    columns: list[str] = Field(description="in the source's order")
    baseline: str = Field(description="the column that gains are against")
    gains: Literal["improvement", "change"] = Field(description="positive is better, or positive is larger")
    rows: list[PrintedRow] = Field(description="in the source's order")

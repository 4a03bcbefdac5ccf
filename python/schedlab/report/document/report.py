"""The whole report for scripts."""

from __future__ import annotations

from pydantic import Field

from schedlab.report.document.fields import (
    SCHEMA,
    Column,
    Counter,
    Course,
    Factorial,
    Failure,
    Judging,
    Part,
    PrintedTable,
    Row,
    Run,
    Stack,
    Unmatched,
    Warning,
)


class Report(Part):
    """What `schedlab report --format json` and `schedlab compare --format json` print."""

    number: int = Field(alias="schema", default=SCHEMA, description=f"{SCHEMA}; see below for what changed")
    run: Run = Field(description="the baseline's run")
    runs: list[Run] = Field(description="all runs that are compared, the baseline's first")
    columns: list[Column] = Field(description="what is compared, the baseline first")
    paired: bool = Field(description="false where the columns were not measured in turn")
    judging: Judging = Field(description="how verdicts were made")
    baseline: str = Field(description="name of the first column")
    rows: list[Row] = Field(description="one object for each row and each column but the baseline that has it")
    printed: list[PrintedTable] = Field(description="tables of imported texts")
    stacks: list[Stack] = Field(description="where the experiment names a stack: one object for each row")
    factorials: list[Factorial] = Field(description="where the experiment has switches: one object for each row")
    course: Course | None = Field(description="of a sequential run, else null")
    unmatched: list[Unmatched] = Field(description="rows that not all columns have")
    warnings: list[Warning] = Field(description="named warnings, each with what to do next")
    failures: list[Failure] = Field(description="all trials that did not end well")
    notes: list[str] = Field(description="what was left aside; with `--counters`, what could not be counted")
    counters: list[Counter] | None = Field(default=None, description="only with `--counters` or `--counter`")


class Samples(Part):
    """What the metadata of a Parquet file says of its samples, with the fields of a report."""

    number: int = Field(alias="schema", default=SCHEMA)
    runs: list[Run]
    columns: list[Column]

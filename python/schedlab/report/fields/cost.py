"""The fields of the JSON of ``schedlab cost``."""

from __future__ import annotations

from pydantic import Field

from schedlab.findings.cache import Cache
from schedlab.findings.cost import Cell, Cost
from schedlab.findings.functions import Functions
from schedlab.report.document import Known, Part, Verdict


class FunctionFields(Part):
    """A function of the kernel in a path and column."""

    name: str = Field(description="the function")
    instructions: Known = Field(description="mean instructions of an operation")
    difference: Known = Field(description="difference to the compared column; null without one")
    calls: Known = Field(description="mean calls in an operation; null if calls were not counted")


class WaitFields(Part):
    """A function that waits for cache lines."""

    name: str = Field(description="the function")
    ns: Known = Field(description="predicted nanoseconds of waiting in an operation")
    difference: Known = Field(description="difference to the compared column; null without one")


class CacheFields(Part):
    """Cache lines of a path and column on a machine model."""

    machine: str = Field(description="name of the machine model")
    lines: dict[str, float] = Field(validation_alias="sources", description="lines of an operation by their source")
    instructions_ns: Known = Field(description="predicted nanoseconds of the instructions")
    lines_ns: Known = Field(description="predicted nanoseconds of the lines")
    ns: Known = Field(description="predicted nanoseconds of an operation: the sum")
    share: Known = Field(description="predicted change of `ns` as a share of the compared column; null without one")
    functions: list[WaitFields] = Field(description="waits by function")


class SeedFields(Part):
    """The figure under one random seed."""

    block: int = Field(description="number of the seed (block)")
    instructions: Known = Field(description="instructions of an operation")


class CellFields(Part):
    """A path in a column."""

    name: str = Field(validation_alias="column", description="name of the column")
    instructions: Known = Field(
        validation_alias="mean", description="arithmetic mean over the random seeds; null without a figure"
    )
    by_seed: list[SeedFields] = Field(description="the figure under each random seed")
    differences: list[float] = Field(description="difference to the compared column under each common seed")
    share: Known = Field(description="mean difference as a share of the compared column; null without one")
    exact: bool = Field(description="at least two random seeds have the same difference")
    verdict: Verdict | None = Field(
        validation_alias="word",
        description="verdict against the compared column, the same as in a report; null without one",
    )
    seeds_needed: int | None = Field(
        description="`inconclusive`: random seeds that decide a difference of this size with 80 % power; null above "
        "100,000 and for other verdicts"
    )
    user: Known = Field(default=None, description="instructions of user code, with `--functions`")
    kernel: Known = Field(default=None, description="instructions of the kernel, with `--functions`")
    functions: list[FunctionFields] | None = Field(default=None, description="functions by name, with `--functions`")
    cache: CacheFields | None = Field(default=None, description="cache lines, with `--cache`")


class PathFields(Part):
    """A path of the kernel."""

    path: str = Field(description="name of the path, with the bytes of its messages: `tcp:4096`")
    columns: list[CellFields] = Field(description="an object for each column")
    control: CellFields | None = Field(description="the A/A control beside the first column")


class ColumnFields(Part):
    """A kernel, or a variant of a kernel."""

    name: str = Field(description="name of the column")
    compared_with: str | None = Field(description="the column that it is compared with; null for the first")
    title: str | None = Field(description="subject of the last patch, of kernels that schedlab built")


class Fields(Part):
    """The object printed by `schedlab cost --format json`."""

    run: int = Field(description="number of the run")
    target: str = Field(description="the first guest")
    kind: str = Field(description="origin of the figures")
    seed: int = Field(description="random seed of the run")
    loops: int = Field(description="operations whose median is the figure of a trial")
    unit: str = Field(default="instructions", description="`instructions`")
    columns: list[ColumnFields] = Field(description="the columns")
    paths: list[PathFields] = Field(description="the paths")


def fields(cost: Cost, functions: Functions | None = None, cache: Cache | None = None) -> Fields:
    """Return the fields of a run."""
    control = {cell.path: CellFields.model_validate(cell) for cell in cost.control}
    return Fields(
        run=cost.run.id,
        target=cost.run.target,
        kind=cost.run.kind,
        seed=cost.run.seed,
        loops=cost.loops,
        columns=[
            ColumnFields(name=name, compared_with=cost.against.get(name), title=cost.titles.get(name))
            for name in cost.columns
        ],
        paths=[
            PathFields(
                path=path,
                columns=[_cell(cost.cells[path, name], functions, cache) for name in cost.columns],
                control=control.get(path),
            )
            for path in cost.paths
        ],
    )


def _cell(cell: Cell, functions: Functions | None, cache: Cache | None) -> CellFields:
    made = CellFields.model_validate(cell)
    if functions is not None:
        user, kernel = (line.values.get(cell.column) for line in functions.sums(cell.path))
        made = made.model_copy(update={"user": user, "kernel": kernel, "functions": _functions(functions, cell)})
    if cache is not None and (lines := cache.cells.get((cell.path, cell.column))):
        waits = [WaitFields(name=each.name, ns=each.instructions, difference=each.difference)
                 for each in _functions(cache.waits, cell)]  # fmt: skip
        made = made.model_copy(update={
            "cache": CacheFields(
                machine=cache.machine, lines=dict(lines.sources), instructions_ns=lines.instructions_ns,
                lines_ns=lines.lines_ns, ns=lines.ns, share=cache.share(cell.path, cell.column), functions=waits,
            )
        })  # fmt: skip
    return made


def _functions(functions: Functions, cell: Cell) -> list[FunctionFields]:
    return [
        FunctionFields(name=line.name, instructions=line.values[cell.column],
                       difference=line.differences.get(cell.column), calls=line.calls.get(cell.column))
        for line in functions.by_name(cell.path)
        if line.values.get(cell.column) or line.differences.get(cell.column)
    ]  # fmt: skip

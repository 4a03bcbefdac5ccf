"""Reading runs: their rows (:mod:`schedlab.store.run_rows`), and the records of trials apart from samples."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from sqlalchemy import ColumnElement, Engine, bindparam, func, select

from schedlab.results.measurement import State
from schedlab.store import backends, cells, run_rows, schema
from schedlab.store.backends import snapshot
from schedlab.store.cells import Samples, StoredCell
from schedlab.store.checksums import Damaged, checked
from schedlab.store.run_rows import DamagedRun, Run

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "DamagedRun",
    "Run",
    "blocks_done",
    "chosen",
    "conditions",
    "counters",
    "failed_outputs",
    "failures",
    "listing",
    "marks",
    "run",
    "runs",
    "times",
    "trial_counts",
    "typical_boot",
    "typical_seconds",
]

_NEWEST = 2_000
"""Trials from which the time of a boot is estimated."""

VERIFIED = 20_000
"""Largest number of trials in a run for which a report verifies all rows (0.1 s). In larger runs, a report verifies
only the rows that it shows."""


def listing(engine: Engine) -> list[Run | DamagedRun]:
    """Return every run, newest first."""
    with engine.connect() as connection:
        return run_rows.listing(backends.of(engine).rows_of(connection), str(engine.url.database))


def marks(engine: Engine) -> dict[int, str]:
    """Return a mark for each run, newest first; see :func:`schedlab.store.run_rows.marks`."""
    with engine.connect() as connection:
        return run_rows.marks(backends.of(engine).rows_of(connection))


def chosen(engine: Engine, numbers: Sequence[int]) -> list[Run | DamagedRun]:
    """Return the runs of these numbers that exist, newest first."""
    with engine.connect() as connection:
        return run_rows.chosen(backends.of(engine).rows_of(connection), str(engine.url.database), numbers)


def runs(engine: Engine) -> list[Run]:
    """Return every run, newest first, without damaged runs."""
    return [run for run in listing(engine) if isinstance(run, Run)]


def run(engine: Engine, run_id: int | None) -> Run:
    """Return the run of this number, or the newest run; see :func:`schedlab.store.run_rows.run`."""
    with engine.connect() as connection:
        return run_rows.run(backends.of(engine).rows_of(connection), str(engine.url.database), run_id)


def _trials(engine: Engine, run_id: int, *where: ColumnElement[bool]) -> list[tuple[StoredCell, Mapping[Any, Any]]]:
    """Read and verify trials of a run with their cells, in order, without trials that were measured again."""
    c, t = schema.cell.c, schema.trial.c
    query = select(schema.trial).join(schema.cell).where(c.run_id == run_id, schema.current, *where)
    with snapshot(engine) as connection:
        rows = connection.execute(query.order_by(t.position)).mappings().all()
        of_run = {cell.id: cell for cell in cells.read(connection, c.run_id == run_id, schema.current)} if rows else {}
        for row in rows:
            checked(str(engine.url.database), "trial", row, f"run {run_id}: trial {row['position']}")
            if row["state"] not in get_args(State) or row["iteration"] not in range(of_run[row["cell_id"]].trials):
                name = f"run {run_id}: trial {row['position']}"
                raise Damaged(f"{name} is damaged: the state or the iteration is impossible", str(engine.url.database))
    return [(of_run[row["cell_id"]], row) for row in rows]


def blocks_done(engine: Engine, run: Run) -> int:
    """Count the blocks that were measured completely. Blocks are measured one after another, with equal numbers."""
    c = schema.cell.c
    trials = select(c.phase, c.block, func.count()).select_from(schema.cell.join(schema.trial))
    with snapshot(engine) as connection:
        rows = connection.execute(trials.where(c.run_id == run.id, schema.current).group_by(c.phase, c.block)).all()
    warm_up = sum(number for phase, _, number in rows if phase != "measure")
    counts = {int(block): int(number) for phase, block, number in rows if phase == "measure"}
    last = max(counts, default=0)
    is_complete = run.state == "complete" or counts.get(last, 0) * run.design.blocks >= run.planned - warm_up
    return last if is_complete else max(last - 1, 0)


def failures(engine: Engine, run_id: int) -> pl.DataFrame:
    """Return the trials that failed, in order: position, variant, workload, parameters, state, reason."""
    import polars as pl  # slow to load, and many callers read runs without frames

    rows = select(func.count()).select_from(schema.cell.join(schema.trial))
    rows = rows.where(schema.cell.c.run_id == run_id, schema.current)
    with snapshot(engine) as connection:
        few = connection.execute(rows).scalar_one() <= VERIFIED
    lines = [
        (row["position"], cell.variant, cell.workload, cell.parameters, row["state"], row["reason"])
        for cell, row in _trials(engine, run_id, *([] if few else [schema.trial.c.state != "ok"]))
        if row["state"] != "ok"
    ]
    names = ("variant", "workload", "parameters", "state", "reason")
    return pl.DataFrame(lines, schema={"position": pl.Int64} | dict.fromkeys(names, pl.String), orient="row")


def trial_counts(engine: Engine, run_id: int) -> dict[tuple[str, str, str], dict[int, int]]:
    """Return recorded trials of any state by (workload, parameters, variant), then by block; without warm-up."""
    c = schema.cell.c
    columns = (c.workload, c.parameters, c.variant, c.block)
    query = select(*columns, func.count()).select_from(schema.cell.join(schema.trial)).group_by(*columns)
    counts: dict[tuple[str, str, str], dict[int, int]] = {}
    with snapshot(engine) as connection:
        rows = connection.execute(query.where(c.run_id == run_id, c.phase == "measure", schema.current))
        for workload, parameters, variant, block, count in rows:
            counts.setdefault((workload, parameters, variant), {})[block] = count
    return counts


def conditions(engine: Engine, run_id: int) -> pl.DataFrame:
    """Return the conditions under which each variant was measured, over all its trials without warm-up.

    Columns: variant, seconds (sum over trials), steal_percent and other_percent (means weighted by duration),
    steal_worst (highest of a trial), mhz_min, mhz_max, clocksources (comma-separated); null where not observed.
    """
    import polars as pl  # slow to load, and many callers read runs without frames

    with snapshot(engine) as connection:
        measured = [
            cell for cell in cells.read(connection, schema.cell.c.run_id == run_id, schema.current) if cell.measured
        ]
    lines = []
    for variant in sorted({cell.variant for cell in measured}):
        of_variant = [cell for cell in measured if cell.variant == variant]
        columns = np.concatenate([cell.conditions for cell in of_variant]).T
        elapsed, _, steal, other, mhz_min, mhz_max = columns
        seconds = np.nansum(elapsed)
        names = {name for cell in of_variant for name in json.loads(cell.clocksources)}
        lines.append(
            (
                variant, seconds, _weighted(steal, elapsed), _weighted(other, elapsed),
                *(_extreme(values, best) for values, best in ((steal, max), (mhz_min, min), (mhz_max, max))),
                ",".join(sorted(names)) or None,
            )
        )  # fmt: skip
    shares = ("seconds", "steal_percent", "other_percent", "steal_worst")
    types = {"variant": pl.String} | dict.fromkeys(shares, pl.Float64) | dict.fromkeys(("mhz_min", "mhz_max"), pl.Int64)
    return pl.DataFrame(lines, schema=types | {"clocksources": pl.String}, orient="row")


def _weighted(values: Samples, weights: Samples) -> float | None:
    """Return the sum of the observed values times their weights over the sum of all weights."""
    products, total = (values * weights)[~np.isnan(values)], np.nansum(weights)
    return float(products.sum() / total) if len(products) and total else None


def _extreme(values: Samples, best: Callable[[Samples], float]) -> float | None:
    observed = values[~np.isnan(values)]
    return float(best(observed)) if len(observed) else None


def times(engine: Engine, run_id: int) -> pl.DataFrame:
    """Return the times of all trials, in order.

    Columns: position, phase, block, variant, workload, parameters, started, elapsed (seconds).
    """
    import polars as pl  # slow to load, and many callers read runs without frames

    lines = [
        (
            row["position"], cell.phase, cell.block, cell.variant, cell.workload, cell.parameters, row["started"],
            cell.conditions[row["iteration"], 0],
        )
        for cell, row in _trials(engine, run_id)
    ]  # fmt: skip
    types = {"position": pl.Int64, "phase": pl.String, "block": pl.Int64, "variant": pl.String, "workload": pl.String}
    types |= {"parameters": pl.String, "started": pl.Float64, "elapsed": pl.Float64}
    return pl.DataFrame(lines, schema=types, orient="row")


def counters(engine: Engine, run_id: int) -> pl.DataFrame:
    """Return the increase of each counter as means over each block's measured trials that have the counter.

    Columns: block, variant, workload, parameters, counter, value; rows and blocks in the order of the plan. Each trial
    is added when it is read: 100,000 trials can have thirty million figures.
    """
    import polars as pl  # slow to load, and many callers read runs without frames

    from schedlab.analysis.counters import COLUMNS

    totals: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for cell, text, count in _counter_texts(engine, run_id):
        of_cell = totals.setdefault((cell.block, cell.variant, cell.workload, cell.parameters), {})
        for name, value in json.loads(text).items():
            total = of_cell.setdefault(name, [0, 0])
            total[0] += value * count
            total[1] += count
    lines = [(*cell, name, total / count) for cell, of in totals.items() for name, (total, count) in of.items()]
    return pl.DataFrame(lines, schema=COLUMNS, orient="row")


def _counter_texts(engine: Engine, run_id: int) -> Iterator[tuple[StoredCell, str, int]]:
    """Yield each cell, the counters (JSON) of its good trials in order, and how many successive trials have them.

    In a simulation all trials of a cell may have the same counters: the database compares the texts, and returns one
    text. Equal texts of several trials need no checksum.
    """
    c, t = schema.cell.c, schema.trial.c
    extremes = select(t.cell_id, func.min(t.counters), func.max(t.counters), func.count()).join(schema.cell)
    extremes = extremes.where(c.run_id == run_id, schema.current, t.state == "ok").group_by(t.cell_id)
    trials = select(schema.trial).where(t.cell_id == bindparam("cell"), t.state == "ok").order_by(t.iteration)
    with snapshot(engine) as connection:
        of_cell = {row[0]: row[1:] for row in connection.execute(extremes)}
        for cell in cells.read(connection, c.run_id == run_id, schema.current):
            if not cell.measured or cell.id not in of_cell:
                continue
            first, last, count = of_cell[cell.id]
            if first == last and count > 1:
                yield cell, first, count
                continue
            rows = connection.execute(trials, {"cell": cell.id}).mappings()
            texts = (
                checked(str(engine.url.database), "trial", row, f"run {run_id}: trial {row['position']}")["counters"]
                for row in rows
            )
            for text, alike in groupby(texts):
                yield cell, text, sum(1 for _ in alike)


def typical_seconds(engine: Engine, target: str) -> dict[tuple[str, str], float]:
    """Return mean seconds of a good trial by (workload, parameters), over the newest 2,000 trials on a target."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for cell, trial, _ in _newest(engine, target):
        if trial.state == "ok":
            seconds.setdefault((cell.workload, cell.parameters), []).append(cell.conditions[trial.iteration, 0])
    return {key: fmean(values) for key, values in seconds.items()}


def typical_boot(engine: Engine, target: str) -> float | None:
    """Return median seconds before the first trial of a boot, over the newest trials on a target.

    A boot serves the trials of a variant within a block. The time of a change is the gap before the first of these
    trials, since the previous trial or the run's start. None where the target has no trials.
    """
    waits, last, ended = [], None, 0.0
    for cell, trial, began in reversed(_newest(engine, target)):
        boot = (cell.run_id, cell.phase, cell.block, cell.variant)
        if boot != last and trial.state == "ok":
            same_run = last is not None and last[0] == boot[0]
            waits.append(max(0.0, trial.started - (ended if same_run else began)))
        last, ended = boot, trial.started + cell.conditions[trial.iteration, 0]
    return median(waits) if waits else None


def _newest(engine: Engine, target: str) -> list[tuple[StoredCell, Any, float]]:
    """Return the newest trials on a target with their cells and the start of their runs; without trials of damaged
    runs."""
    c, t, r = schema.cell.c, schema.trial.c, schema.run.c
    newest = select(t.cell_id, t.iteration, t.state, t.started, c.run_id, r.started.label("began"))
    newest = newest.select_from(schema.trial.join(schema.cell).join(schema.run)).where(r.target == target)
    trials: list[tuple[StoredCell, Any, float]] = []
    with snapshot(engine) as connection:
        for run_id, rows in groupby(
            connection.execute(newest.order_by(t.id.desc()).limit(_NEWEST)), lambda row: row.run_id
        ):
            with suppress(Damaged, KeyError, IndexError, TypeError):
                of_run = {cell.id: cell for cell in cells.read(connection, c.run_id == run_id)}
                trials += [(of_run[row.cell_id], row, float(row.began)) for row in rows]
    return trials


def failed_outputs(engine: Engine, run_id: int | None) -> Iterator[str]:
    """Yield each failed trial of a run as text: its cell, reason, command and output."""
    number = run(engine, run_id).id
    query = select(schema.output).where(schema.output.c.trial_id == bindparam("trial"))
    for cell, trial in _trials(engine, number, schema.trial.c.state != "ok"):
        name = f"trial {trial['position']}"
        with snapshot(engine) as connection:
            output = connection.execute(query, {"trial": trial["id"]}).mappings().first()
            if output is None:
                continue
            checked(str(engine.url.database), "output", output, f"run {number}: output of {name}")
        yield (
            f"{name}: {cell.workload} {cell.parameters} under {cell.variant}\n"
            f"{trial['state']}: {trial['reason']}\n"
            f"command: {shlex.join(json.loads(output['command']))}\n"
            f"--- stdout\n{output['stdout']}\n--- stderr\n{output['stderr']}"
        )

"""Reading runs: a run's own row, and what its trials recorded beside their samples."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Engine, Select, bindparam, case, func, select

from schedlab.errors import StoreError
from schedlab.measurement import PARAMETERS
from schedlab.store import schema
from schedlab.store.design import StoredDesign

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Run:
    """A run's own row; see :data:`schedlab.store.schema.run` for the columns. ``recorded`` counts its trials."""

    id: int
    name: str
    target: str
    kind: str
    state: str
    seed: int
    quick: bool
    experiment_file: str
    experiment_path: str
    design: StoredDesign
    planned: int
    recorded: int
    fingerprint: dict[str, Any]
    fingerprint_hash: str
    notes: list[str]
    changed: list[str]
    started: float
    finished: float | None
    version: str

    @property
    def doubtful_parameters(self) -> list[str]:
        """Notes on boot parameters that may not have had an effect."""
        return [note.removeprefix(PARAMETERS) for note in self.notes if note.startswith(PARAMETERS)]


def runs(engine: Engine) -> list[Run]:
    """Return every run, newest first."""
    with engine.connect() as connection:
        return [_run(row) for row in connection.execute(_runs().order_by(schema.run.c.id.desc()))]


def run(engine: Engine, run_id: int | None) -> Run:
    """Return the run of this number, or the newest run; StoreError when it does not exist."""
    query = _runs()
    query = (
        query.order_by(schema.run.c.id.desc()).limit(1) if run_id is None else query.where(schema.run.c.id == run_id)
    )
    with engine.connect() as connection:
        row = connection.execute(query).first()
    if row is None and run_id is None:
        todo = "make one with 'schedlab run FILE' or 'schedlab import PATH'"
        raise StoreError("the store contains no run yet", where=str(engine.url.database), todo=todo)
    if row is None:
        todo = "'schedlab runs' lists its runs"
        raise StoreError(f"the store contains no run {run_id}", where=str(engine.url.database), todo=todo)
    return _run(row)


def _runs() -> Select[Any]:
    recorded = select(func.count()).select_from(schema.cell.join(schema.trial))
    of_run = recorded.where(schema.cell.c.run_id == schema.run.c.id, schema.current).correlate(schema.run)
    return select(schema.run, of_run.scalar_subquery().label("recorded"))


def _run(row: Any) -> Run:
    fields = dict(row._mapping)
    fields |= {
        "seed": int(fields["seed"]),
        "quick": bool(fields["quick"]),
        "design": StoredDesign.model_validate_json(fields["design"]),
        "fingerprint": json.loads(fields["fingerprint"]),
        "notes": json.loads(fields["notes"]),
        "changed": json.loads(fields["changed"]),
    }
    return Run(**fields)


def _trials(run_id: int, *columns: ColumnElement[Any]) -> Select[Any]:
    """Select columns of a run's trials and their cells, without trials that were measured again."""
    query = select(*columns).select_from(schema.cell.join(schema.trial))
    return query.where(schema.cell.c.run_id == run_id, schema.current)


def blocks_done(engine: Engine, run: Run) -> int:
    """Count the blocks that were measured completely; the last block of an interrupted run may not be complete."""
    c = schema.cell.c
    query = select(func.max(c.block)).where(c.run_id == run.id, c.phase == "measure", schema.current)
    with engine.connect() as connection:
        last = int(connection.execute(query).scalar() or 0)
    return last if run.state == "complete" else max(last - 1, 0)


def failures(engine: Engine, run_id: int) -> pl.DataFrame:
    """Return the trials that failed, in order: position, variant, workload, parameters, state, reason."""
    c, t = schema.cell.c, schema.trial.c
    query = _trials(run_id, t.position, c.variant, c.workload, c.parameters, t.state, t.reason)
    return _frame(engine, query.where(t.state != "ok").order_by(t.position))


def failure_counts(engine: Engine, run_id: int) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return failed and recorded trials by (workload, parameters, variant), where trials failed; without warm-up."""
    c, t = schema.cell.c, schema.trial.c
    failed = func.sum(case((t.state != "ok", 1), else_=0))
    query = _trials(run_id, c.workload, c.parameters, c.variant, failed, func.count()).where(c.phase == "measure")
    query = query.group_by(c.workload, c.parameters, c.variant).having(failed > 0)
    with engine.connect() as connection:
        return {(row[0], row[1], row[2]): (row[3], row[4]) for row in connection.execute(query)}


def conditions(engine: Engine, run_id: int) -> pl.DataFrame:
    """Return the conditions under which each variant was measured, over all its trials without warm-up.

    Columns: variant, seconds (sum over trials), steal_percent and other_percent (means weighted by duration),
    steal_worst (highest of a trial), mhz_min, mhz_max, clocksources (comma-separated); null where not observed.
    """
    import polars as pl  # slow to load, and many callers read runs without frames

    c, t = schema.cell.c, schema.trial.c
    seconds = func.sum(t.elapsed)
    columns: dict[str, tuple[ColumnElement[Any], Any]] = {
        "seconds": (seconds, pl.Float64),
        "steal_percent": (func.sum(t.elapsed * t.steal_percent) / func.nullif(seconds, 0), pl.Float64),
        "other_percent": (func.sum(t.elapsed * t.other_percent) / func.nullif(seconds, 0), pl.Float64),
        "steal_worst": (func.max(t.steal_percent), pl.Float64),
        "mhz_min": (func.min(t.mhz_min), pl.Int64),
        "mhz_max": (func.max(t.mhz_max), pl.Int64),
        "clocksources": (func.min(t.clocksource), pl.String),
    }
    measured = (c.run_id == run_id, c.phase == "measure", schema.current)
    lines = []
    with engine.connect() as connection:
        # One query a variant: a query that groups by variant would sort all trials.
        for variant in sorted(connection.execute(select(c.variant).distinct().where(*measured)).scalars()):
            of_variant = (c.phase == "measure", c.variant == variant)
            query = _trials(run_id, *(column for column, _ in columns.values()), func.max(t.clocksource))
            *figures, first, last = connection.execute(query.where(*of_variant)).one()
            if first != last:
                names = connection.execute(_trials(run_id, t.clocksource).where(*of_variant).distinct()).scalars()
                first = ",".join(sorted(filter(None, names)))
            lines.append((variant, *figures, first))
    types = {"variant": pl.String} | {name: kind for name, (_, kind) in columns.items()}
    return pl.DataFrame(lines, schema=types, orient="row")


def times(engine: Engine, run_id: int) -> pl.DataFrame:
    """Return the times of all trials, in order.

    Columns: position, phase, block, variant, workload, parameters, started, elapsed (seconds).
    """
    c, t = schema.cell.c, schema.trial.c
    columns = [t.position, c.phase, c.block, c.variant, c.workload, c.parameters, t.started, t.elapsed]
    return _frame(engine, _trials(run_id, *columns).order_by(t.position))


def counters(engine: Engine, run_id: int) -> pl.DataFrame:
    """Return the increase of each counter as means over each block's measured trials that have the counter.

    Columns: block, variant, workload, parameters, counter, value; rows and blocks in the order of the plan. Trials are
    added as they are read: 100,000 trials can have thirty million figures.
    """
    import polars as pl  # slow to load, and many callers read runs without frames

    totals: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for cell, text, count in _counter_texts(engine, run_id):
        of_cell = totals.setdefault(cell, {})
        for name, value in json.loads(text).items():
            total = of_cell.setdefault(name, [0, 0])
            total[0] += value * count
            total[1] += count
    lines = [(*cell, name, total / count) for cell, of in totals.items() for name, (total, count) in of.items()]
    types = {"block": pl.Int64, "variant": pl.String, "workload": pl.String, "parameters": pl.String}
    return pl.DataFrame(lines, schema=types | {"counter": pl.String, "value": pl.Float64}, orient="row")


def _counter_texts(engine: Engine, run_id: int) -> Iterator[tuple[tuple[Any, ...], str, int]]:
    """Yield each cell, the counters (JSON) of its good trials in order, and how many successive trials have them.

    In a simulation all trials of a cell may have the same counters: the database compares them, and returns one text.
    """
    c, t = schema.cell.c, schema.trial.c
    cells = select(c.id, c.block, c.variant, c.workload, c.parameters).order_by(c.position)
    cells = cells.where(c.run_id == run_id, c.phase == "measure", schema.current)
    extremes = select(t.cell_id, func.min(t.counters), func.max(t.counters), func.count()).group_by(t.cell_id)
    extremes = extremes.where(t.cell_id.in_(cells.with_only_columns(c.id).order_by(None)), t.state == "ok")
    texts = select(t.counters).where(t.cell_id == bindparam("cell"), t.state == "ok").order_by(t.iteration)
    with engine.connect() as connection:
        of_cell = {row[0]: row[1:] for row in connection.execute(extremes)}
        for cell_id, *cell in connection.execute(cells).all():
            first, last, count = of_cell.get(cell_id, ("{}", "{}", 0))
            if first == last:
                yield tuple(cell), first, count
                continue
            for text, alike in groupby(connection.execute(texts, {"cell": cell_id}).scalars()):
                yield tuple(cell), text, sum(1 for _ in alike)


def _frame(engine: Engine, query: Select[Any]) -> pl.DataFrame:
    import polars as pl  # slow to load, and many callers read runs without frames

    types = {"INTEGER": pl.Int64, "FLOAT": pl.Float64}
    table = {column.name: types.get(str(column.type), pl.String) for column in query.selected_columns}
    with engine.connect() as connection:
        return pl.DataFrame([tuple(row) for row in connection.execute(query)], schema=table, orient="row")


def typical_seconds(engine: Engine, target: str) -> dict[tuple[str, str], float]:
    """Return mean seconds of a good trial by (workload, parameters), over the newest 20,000 trials on a target."""
    c, t, r = schema.cell.c, schema.trial.c, schema.run.c
    newest = select(c.workload, c.parameters, t.elapsed).select_from(schema.trial.join(schema.cell).join(schema.run))
    newest = newest.where(t.state == "ok", r.target == target).order_by(t.id.desc()).limit(20_000)
    rows = newest.subquery().c
    query = select(rows.workload, rows.parameters, func.avg(rows.elapsed)).group_by(rows.workload, rows.parameters)
    with engine.connect() as connection:
        return {(workload, parameters): seconds for workload, parameters, seconds in connection.execute(query)}


def typical_boot(engine: Engine, target: str) -> float | None:
    """Return median seconds before the first trial of a boot, over the newest 2,000 trials on a target.

    A boot serves the trials of a variant within a block. It lies before the first of them: after the trial of another
    variant or block, or after the run's start. None where the target has no trials.
    """
    c, t, r = schema.cell.c, schema.trial.c, schema.run.c
    columns = (c.run_id, c.phase, c.block, c.variant, t.state, t.started, t.elapsed, r.started)
    query = select(*columns).select_from(schema.trial.join(schema.cell).join(schema.run))
    query = query.where(r.target == target).order_by(t.id.desc()).limit(2_000)
    waits, last, ended = [], None, 0.0
    with engine.connect() as connection:
        for *boot, state, started, elapsed, began in reversed(connection.execute(query).all()):
            if boot != last and state == "ok":
                same_run = last is not None and last[0] == boot[0]
                waits.append(max(0.0, started - (ended if same_run else began)))
            last, ended = boot, started + elapsed
    return median(waits) if waits else None


def failed_outputs(engine: Engine, run_id: int | None) -> Iterator[str]:
    """Yield each failed trial of a run as text: its cell, reason, command and output."""
    c, t, o = schema.cell.c, schema.trial.c, schema.output.c
    columns = (t.position, c.variant, c.workload, c.parameters, t.state, t.reason, o.command, o.stdout, o.stderr)
    query = select(*columns).select_from(schema.cell.join(schema.trial).join(schema.output)).order_by(t.position)
    query = query.where(c.run_id == run(engine, run_id).id, t.state != "ok", schema.current)
    with engine.connect() as connection:
        for row in connection.execute(query):
            yield (
                f"trial {row.position}: {row.workload} {row.parameters} under {row.variant}\n"
                f"{row.state}: {row.reason}\n"
                f"command: {shlex.join(json.loads(row.command))}\n--- stdout\n{row.stdout}\n--- stderr\n{row.stderr}"
            )

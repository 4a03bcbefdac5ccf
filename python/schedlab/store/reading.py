"""Reading runs back: everything that a report needs, and nothing computed from it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, Float, Select, String, case, func, select

from schedlab.errors import StoreError
from schedlab.measurement import PARAMETERS
from schedlab.store import schema
from schedlab.store.design import StoredDesign
from schedlab.store.packing import unpack

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Run:
    """A run's own row; see :data:`schedlab.store.schema.run` for the columns."""

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
        """What its notes say of boot parameters that may not have had an effect."""
        return [note.removeprefix(PARAMETERS) for note in self.notes if note.startswith(PARAMETERS)]


def runs(engine: Engine) -> list[Run]:
    """Every run, newest first."""
    with engine.connect() as connection:
        return [_run(row) for row in connection.execute(_runs().order_by(schema.run.c.id.desc()))]


def run(engine: Engine, run_id: int | None) -> Run:
    """The run of this number, or the newest one; StoreError when there is none."""
    query = _runs()
    query = (
        query.order_by(schema.run.c.id.desc()).limit(1) if run_id is None else query.where(schema.run.c.id == run_id)
    )
    with engine.connect() as connection:
        row = connection.execute(query).first()
    if row is None and run_id is None:
        todo = "make one with 'schedlab run FILE' or 'schedlab import PATH'"
        raise StoreError("the store holds no run yet", where=str(engine.url.database), todo=todo)
    if row is None:
        todo = "'schedlab runs' lists what it holds"
        raise StoreError(f"the store holds no run {run_id}", where=str(engine.url.database), todo=todo)
    return _run(row)


def _runs() -> Select[Any]:
    t = schema.trial.c
    recorded = select(func.count()).where(t.run_id == schema.run.c.id, t.superseded == 0).scalar_subquery()
    return select(schema.run, recorded.label("recorded"))


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


def blocks_done(engine: Engine, run: Run) -> int:
    """How many blocks were measured whole: in a run that was interrupted the last one may be torn and is none."""
    t = schema.trial.c
    query = select(func.max(t.block)).where(t.run_id == run.id, t.phase == "measure", t.superseded == 0)
    with engine.connect() as connection:
        last = int(connection.execute(query).scalar() or 0)
    return last if run.state == "complete" else max(last - 1, 0)


def failures(engine: Engine, run_id: int) -> pl.DataFrame:
    """The trials that did not end well, in order: position, variant, workload, parameters, state, reason."""
    t = schema.trial.c
    columns = [t.position, t.variant, t.workload, t.parameters, t.state, t.reason]
    return _frame(
        engine, select(*columns).where(t.run_id == run_id, t.state != "ok", t.superseded == 0).order_by(t.position)
    )


def failure_counts(engine: Engine, run_id: int) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Measured trials that failed, and all recorded, by (workload, parameters, variant), where some failed."""
    t = schema.trial.c
    failed = func.sum(case((t.state != "ok", 1), else_=0))
    query = select(t.workload, t.parameters, t.variant, failed, func.count())
    query = query.where(t.run_id == run_id, t.phase == "measure", t.superseded == 0)
    query = query.group_by(t.workload, t.parameters, t.variant).having(failed > 0)
    with engine.connect() as connection:
        return {(row[0], row[1], row[2]): (row[3], row[4]) for row in connection.execute(query)}


def conditions(engine: Engine, run_id: int) -> pl.DataFrame:
    """Under which conditions each variant was measured, over its trials but the warm-up.

    Columns: variant, seconds (sum of trials), steal_percent and other_percent (means weighted by duration),
    steal_worst (of one trial), mhz_min, mhz_max, clocksources (comma-separated); null where none were watched.
    """
    t = schema.trial.c
    seconds = func.sum(t.elapsed)
    columns = [
        t.variant,
        seconds.label("seconds"),
        (func.sum(t.elapsed * t.steal_percent) / seconds).label("steal_percent"),
        (func.sum(t.elapsed * t.other_percent) / seconds).label("other_percent"),
        func.max(t.steal_percent).label("steal_worst"),
        func.min(t.mhz_min).label("mhz_min"),
        func.max(t.mhz_max).label("mhz_max"),
        func.group_concat(t.clocksource.distinct(), type_=String).label("clocksources"),
    ]
    query = (
        select(*columns)
        .where(t.run_id == run_id, t.phase == "measure", t.superseded == 0)
        .group_by(t.variant)
        .order_by(t.variant)
    )
    return _frame(engine, query)


def measurements(engine: Engine, run_id: int) -> pl.DataFrame:
    """A run's measured figures, warm-up left out, as means over each block's iterations.

    Columns: position (mean index in the plan), block, variant, workload, parameters, metric, value, iterations. The
    database takes the means: a hundred thousand figures need not pass through Python to be averaged.
    """
    t, m = schema.trial.c, schema.metric.c
    keys = [t.block, t.variant, t.workload, t.parameters, m.name.label("metric")]
    means = [func.avg(t.position, type_=Float).label("position"), func.avg(m.value, type_=Float).label("value")]
    query = (
        select(*keys, *means, func.count().label("iterations"))
        .join_from(schema.trial, schema.metric)
        .where(t.run_id == run_id, t.phase == "measure", t.state == "ok", t.superseded == 0)
        .group_by(*keys)
    )
    return _frame(engine, query)


def times(engine: Engine, run_id: int) -> pl.DataFrame:
    """When each trial ran, in order: position, phase, block, variant, workload, parameters, started, elapsed (s)."""
    t = schema.trial.c
    columns = [t.position, t.phase, t.block, t.variant, t.workload, t.parameters, t.started, t.elapsed]
    return _frame(engine, select(*columns).where(t.run_id == run_id, t.superseded == 0).order_by(t.position))


def counters(engine: Engine, run_id: int) -> pl.DataFrame:
    """How much each counter rose, as means over each block's measured trials that have it.

    Columns: block, variant, workload, parameters, counter, value; rows and blocks in the order of the plan. The trials
    are added up as they are read: a hundred thousand of them hold thirty million figures.
    """
    import polars as pl  # many read runs and need no frames

    t = schema.trial.c
    query = select(t.block, t.variant, t.workload, t.parameters, t.counters)
    query = query.where(t.run_id == run_id, t.phase == "measure", t.state == "ok", t.superseded == 0)
    cells: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    with engine.connect() as connection:
        text = str(query.order_by(t.position).compile(engine, compile_kwargs={"literal_binds": True}))
        for line in connection.connection.cursor().execute(text):
            cell = cells.setdefault(line[:4], {})
            for name, value in json.loads(line[4]).items():
                if name in cell:
                    held = cell[name]
                    held[0] += value
                    held[1] += 1
                else:
                    cell[name] = [value, 1]
    lines = [(*key, name, total / count) for key, cell in cells.items() for name, (total, count) in cell.items()]
    types = {"block": pl.Int64, "variant": pl.String, "workload": pl.String, "parameters": pl.String}
    return pl.DataFrame(lines, schema=types | {"counter": pl.String, "value": pl.Float64}, orient="row")


def samples(engine: Engine, run_id: int, position: int, name: str) -> Sequence[float]:
    """The single observations behind one metric of one trial; empty when it has none."""
    query = (
        select(schema.samples.c.data)
        .join_from(schema.trial, schema.samples)
        .where(
            schema.trial.c.run_id == run_id,
            schema.trial.c.position == position,
            schema.samples.c.name == name,
            schema.trial.c.superseded == 0,
        )
    )
    with engine.connect() as connection:
        data = connection.execute(query).scalar()
    return [] if data is None else unpack(data)


def _frame(engine: Engine, query: Select[Any]) -> pl.DataFrame:
    import polars as pl  # many read runs and need no frames

    types = {"INTEGER": pl.Int64, "FLOAT": pl.Float64}
    table = {column.name: types.get(str(column.type), pl.String) for column in query.selected_columns}
    # The driver's own rows: building a Row object for each of thousands of lines would take longer than judging them.
    with engine.connect() as connection:
        compiled = str(query.compile(engine, compile_kwargs={"literal_binds": True}))
        rows = connection.connection.cursor().execute(compiled).fetchall()
    return pl.DataFrame(rows, schema=table, orient="row")


def typical_seconds(engine: Engine, target: str) -> dict[tuple[str, str], float]:
    """Mean seconds of a good trial by (workload label, parameters), over the newest 20,000 trials on a target."""
    t, r = schema.trial.c, schema.run.c
    newest = select(t.workload, t.parameters, t.elapsed).join_from(schema.trial, schema.run, r.id == t.run_id)
    newest = newest.where(t.state == "ok", r.target == target)
    newest = newest.order_by(t.id.desc()).limit(20_000)
    rows = newest.subquery().c
    query = select(rows.workload, rows.parameters, func.avg(rows.elapsed)).group_by(rows.workload, rows.parameters)
    with engine.connect() as connection:
        return {(workload, parameters): seconds for workload, parameters, seconds in connection.execute(query)}


def typical_boot(engine: Engine, target: str) -> float | None:
    """Median seconds before the first trial of a boot, over the newest 2,000 trials on a target; None without any.

    A boot serves the trials of a variant within a block, so it lies between two trials that are not of the same, or
    between a run's start and its first trial.
    """
    t, r = schema.trial.c, schema.run.c
    boot = [t.run_id, t.phase, t.block, t.variant]
    query = select(*boot, t.state, t.started, t.elapsed, r.started).join_from(
        schema.trial, schema.run, r.id == t.run_id
    )
    query = query.where(r.target == target).order_by(t.id.desc()).limit(2_000)
    waits, last, ended = [], None, 0.0
    with engine.connect() as connection:
        for *of, state, started, elapsed, began in reversed(connection.execute(query).all()):
            if of != last and state == "ok":
                same_run = last is not None and last[0] == of[0]
                waits.append(max(0.0, started - (ended if same_run else began)))
            last, ended = of, started + elapsed
    return median(waits) if waits else None


def failed_outputs(engine: Engine, run_id: int | None) -> Iterator[str]:
    """Each failed trial of a run as text: which, why, its command and all that it printed."""
    t, o = schema.trial.c, schema.output.c
    columns = [
        t.position,
        t.variant,
        t.workload,
        t.parameters,
        t.state,
        t.reason,
        o.command,
        o.stdout,
        o.stderr,
    ]
    query = select(*columns).join_from(schema.trial, schema.output).order_by(t.position)
    query = query.where(t.run_id == run(engine, run_id).id, t.state != "ok", t.superseded == 0)
    with engine.connect() as connection:
        for row in connection.execute(query):
            yield (
                f"trial {row.position}: {row.workload} {row.parameters} under {row.variant}\n"
                f"{row.state}: {row.reason}\n"
                f"command: {shlex.join(json.loads(row.command))}\n--- stdout\n{row.stdout}\n--- stderr\n{row.stderr}"
            )

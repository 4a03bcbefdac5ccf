"""Reading runs back: everything that a report needs, and nothing computed from it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Select, bindparam, case, func, select

from schedlab.errors import StoreError
from schedlab.measurement import PARAMETERS
from schedlab.store import schema
from schedlab.store.design import StoredDesign
from schedlab.store.gathering import Cell, averaged, gathered
from schedlab.store.packing import unpack
from schedlab.store.stretches import LONG, Stretch, asked_often, driver_rows, rows_of, rows_of_each, stretches

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
    recorded = select(func.count()).where(t.run_id == schema.run.c.id, schema.current).scalar_subquery()
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
    query = select(func.max(t.block)).where(t.run_id == run.id, t.phase == "measure", schema.current)
    with engine.connect() as connection:
        last = int(connection.execute(query).scalar() or 0)
    return last if run.state == "complete" else max(last - 1, 0)


def failures(engine: Engine, run_id: int, held: Sequence[Stretch] | None = None) -> pl.DataFrame:
    """The trials that did not end well, in order: position, variant, workload, parameters, state, reason.

    ``held`` are all of the run's stretches, where they have been read already; so below.
    """
    import polars as pl  # many read runs and need no frames

    t = schema.trial.c
    failed = [one for one in _held(engine, run_id, held) if one.state != "ok"]
    query = select(t.position, t.variant, t.workload, t.parameters, t.state, t.reason)
    with engine.connect() as connection:
        lines = sorted(rows_of(connection, query, t.id, failed)) if failed else []
    types = {column.name: pl.Int64 if column.name == "position" else pl.String for column in query.selected_columns}
    return pl.DataFrame(lines, schema=types, orient="row")


def _held(engine: Engine, run_id: int, held: Sequence[Stretch] | None) -> Sequence[Stretch]:
    return stretches(engine, run_id) if held is None else held


def failure_counts(engine: Engine, run_id: int) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Measured trials that failed, and all recorded, by (workload, parameters, variant), where some failed."""
    t = schema.trial.c
    failed = func.sum(case((t.state != "ok", 1), else_=0))
    query = select(t.workload, t.parameters, t.variant, failed, func.count())
    query = query.where(t.run_id == run_id, t.phase == "measure", schema.current)
    query = query.group_by(t.workload, t.parameters, t.variant).having(failed > 0)
    with engine.connect() as connection:
        return {(row[0], row[1], row[2]): (row[3], row[4]) for row in connection.execute(query)}


def conditions(engine: Engine, run_id: int, held: Sequence[Stretch] | None = None) -> pl.DataFrame:
    """Under which conditions each variant was measured, over its trials but the warm-up.

    Columns: variant, seconds (sum of trials), steal_percent and other_percent (means weighted by duration),
    steal_worst (of one trial), mhz_min, mhz_max, clocksources (comma-separated); null where none were watched.
    """
    import polars as pl  # many read runs and need no frames

    t = schema.trial.c
    seconds = func.sum(t.elapsed)
    columns = {
        "seconds": (seconds, pl.Float64),
        "steal_percent": (func.sum(t.elapsed * t.steal_percent) / seconds, pl.Float64),
        "other_percent": (func.sum(t.elapsed * t.other_percent) / seconds, pl.Float64),
        "steal_worst": (func.max(t.steal_percent), pl.Float64),
        "mhz_min": (func.min(t.mhz_min), pl.Int64),
        "mhz_max": (func.max(t.mhz_max), pl.Int64),
        "clocksources": (func.group_concat(t.clocksource.distinct()), pl.String),
    }
    query = select(*(told for told, _ in columns.values()))
    of_variant: dict[str, list[Stretch]] = {}
    for one in _held(engine, run_id, held):
        if one.phase == "measure":
            of_variant.setdefault(one.variant, []).append(one)
    # One variant after the other: to group all of them at once the database would have to sort them.
    with engine.connect() as connection:
        lines = [(name, *next(rows_of(connection, query, t.id, of_variant[name]))) for name in sorted(of_variant)]
    types = {"variant": pl.String} | {name: kind for name, (_, kind) in columns.items()}
    return pl.DataFrame(lines, schema=types, orient="row")


def measurements(engine: Engine, run_id: int, held: Sequence[Stretch] | None = None) -> pl.DataFrame:
    """A run's measured figures, warm-up left out, as means over each block's iterations.

    Columns: block, variant, workload, parameters, metric, position (mean index in the plan), value, iterations; in the
    order of the first five.
    """
    analysed = [one for one in _held(engine, run_id, held) if one.analysed]
    if sum(one.last - one.first + 1 for one in analysed) < LONG * len(analysed):
        return gathered(engine, analysed).means()
    m = schema.metric.c
    figures = [m.name, func.count(), func.sum(m.value), func.sum(m.trial_id)]
    totals: dict[Cell, tuple[int, float, float]] = {}
    with engine.connect() as connection:
        for one, rows in rows_of_each(connection, select(*figures).group_by(m.name), m.trial_id, analysed):
            for name, count, total, trials in rows:
                cell = (one.block, one.variant, one.workload, one.parameters, name)
                before = totals.get(cell, (0, 0.0, 0.0))
                place = trials + count * (one.position - one.first)
                totals[cell] = (before[0] + count, before[1] + total, before[2] + place)
    return averaged((cell, *of_cell) for cell, of_cell in totals.items())


def times(engine: Engine, run_id: int) -> pl.DataFrame:
    """When each trial ran, in order: position, phase, block, variant, workload, parameters, started, elapsed (s)."""
    t = schema.trial.c
    columns = [t.position, t.phase, t.block, t.variant, t.workload, t.parameters, t.started, t.elapsed]
    return _frame(engine, select(*columns).where(t.run_id == run_id, schema.current).order_by(t.position))


def counters(engine: Engine, run_id: int, held: Sequence[Stretch] | None = None) -> pl.DataFrame:
    """How much each counter rose, as means over each block's measured trials that have it.

    Columns: block, variant, workload, parameters, counter, value; rows and blocks in the order of the plan. The trials
    are added up as they are read: a hundred thousand of them hold thirty million figures.
    """
    import polars as pl  # many read runs and need no frames

    analysed = sorted((one for one in _held(engine, run_id, held) if one.analysed), key=lambda one: one.position)
    cells: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    with engine.connect() as connection:
        for one, texts in _counted(connection, analysed):
            cell = cells.setdefault((one.block, one.variant, one.workload, one.parameters), {})
            for text, count in texts:
                for name, value in json.loads(text).items():
                    total = cell.setdefault(name, [0, 0])
                    total[0] += value * count
                    total[1] += count
    lines = [(*key, name, total / count) for key, cell in cells.items() for name, (total, count) in cell.items()]
    types = {"block": pl.Int64, "variant": pl.String, "workload": pl.String, "parameters": pl.String}
    return pl.DataFrame(lines, schema=types | {"counter": pl.String, "value": pl.Float64}, orient="row")


def _counted(connection: Connection, held: Iterable[Stretch]) -> Iterator[tuple[Stretch, Iterable[tuple[str, int]]]]:
    """What trials counted (JSON), and how many after each other counted just that.

    In a simulation all of a stretch may: then they are not fetched.
    """
    t = schema.trial.c
    span = t.id.between(bindparam("first"), bindparam("last"))
    ask = asked_often(connection, select(t.counters).where(span))
    ask_other = asked_often(connection, select(1).where(span, t.counters != bindparam("text")).limit(1))
    ask_count = asked_often(connection, select(func.count()).where(span))
    for one in held:
        given = {"first": one.first, "last": one.last}
        rows = ask(**given)
        if one.last - one.first + 1 >= LONG:
            (text,) = next(rows)
            if not any(ask_other(text=text, **given)):
                yield one, [(text, next(ask_count(**given))[0])]
                continue
            rows = ask(**given)
        yield one, ((text, len(list(alike))) for (text,), alike in groupby(rows))


def samples(engine: Engine, run_id: int, position: int, name: str) -> Sequence[float]:
    """The single observations behind one metric of one trial; empty when it has none."""
    query = (
        select(schema.samples.c.data)
        .join_from(schema.trial, schema.samples)
        .where(
            schema.trial.c.run_id == run_id,
            schema.trial.c.position == position,
            schema.samples.c.name == name,
            schema.current,
        )
    )
    with engine.connect() as connection:
        data = connection.execute(query).scalar()
    return [] if data is None else unpack(data)


def _frame(engine: Engine, query: Select[Any]) -> pl.DataFrame:
    import polars as pl  # many read runs and need no frames

    types = {"INTEGER": pl.Int64, "FLOAT": pl.Float64}
    table = {column.name: types.get(str(column.type), pl.String) for column in query.selected_columns}
    with engine.connect() as connection:
        return pl.DataFrame(list(driver_rows(connection, query)), schema=table, orient="row")


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
    query = query.where(t.run_id == run(engine, run_id).id, t.state != "ok", schema.current)
    with engine.connect() as connection:
        for row in connection.execute(query):
            yield (
                f"trial {row.position}: {row.workload} {row.parameters} under {row.variant}\n"
                f"{row.state}: {row.reason}\n"
                f"command: {shlex.join(json.loads(row.command))}\n--- stdout\n{row.stdout}\n--- stderr\n{row.stderr}"
            )

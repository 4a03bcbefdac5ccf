"""Writing a run: each trial is committed before the next trial begins."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any, Literal

from sqlalchemy import Engine, bindparam, select, update

from schedlab.analysis.rows import Layout, Question
from schedlab.errors import CannotRunHere
from schedlab.experiment.factorial import runs
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import CONTROL, Plan, Trial
from schedlab.files.processes import this_process
from schedlab.results.instructions import spec_of
from schedlab.results.kinds import REAL
from schedlab.results.measurement import Measurement
from schedlab.store import backends, cells, schema, trials
from schedlab.store.checksums import checksum, sealed
from schedlab.store.design import PLAIN, Purpose, StoredDesign


@dataclass(frozen=True)
class NewRun:
    """A run before its first trial; see the columns of :data:`schedlab.store.tables.TABLES`."""

    plan: Plan
    target: str
    kind: str
    quick: bool
    experiment_file: str
    experiment_path: str
    fingerprint: Mapping[str, Any]
    fingerprint_hash: str
    purpose: Purpose = PLAIN


def describe(plan: Plan, kind: str = REAL, purpose: Purpose = PLAIN) -> StoredDesign:
    """Return the stored part of a plan for a run of this kind."""
    experiment, analysis = plan.experiment, plan.experiment.analysis
    return StoredDesign(
        question=experiment.experiment.question,
        blocks=experiment.design.blocks,
        iterations=experiment.design.iterations,
        variants=[variant.name for variant in plan.variants],
        control=CONTROL if experiment.design.control else None,
        questions=questions_of(plan, kind),
        alpha=analysis.alpha,
        delta=analysis.delta,
        correction=analysis.correction,
        family=analysis.family,
        interval=analysis.interval,
        looks=list(experiment.design.look_blocks),
        stack=experiment.attribution.stack if experiment.attribution else [],
        factorial=_layout(experiment),
        **asdict(purpose),
    )


def _layout(experiment: Experiment) -> Layout | None:
    """Return the switches that are on in each variant of a factorial experiment."""
    if experiment.factorial is None:
        return None
    return Layout(tuple(experiment.factorial.switches), runs(experiment.factorial, experiment.baseline.name))


def questions_of(plan: Plan, kind: str = REAL) -> list[Question]:
    """Return the judged metrics of every row for a run of this kind, in the order of the experiment file."""
    questions = []
    for row in plan.rows:
        for name in row.judged:
            spec = spec_of(row.spec(name), kind)
            seconds = float(getattr(row.validated, spec.per)) if spec.per else None
            questions.append(
                Question(
                    row.label, row.parameters_json, name, spec.unit, spec.direction, worst=spec.worst, seconds=seconds
                )
            )
    return questions


def begin(engine: Engine, new: NewRun) -> int:
    """Record a run that is about to start; return its number."""
    values = {
        "name": new.plan.experiment.experiment.name,
        "target": new.target,
        "kind": new.kind,
        "state": "running",
        "seed": str(new.plan.seed),
        "quick": int(new.quick),
        "experiment_file": new.experiment_file,
        "experiment_path": new.experiment_path,
        "design": describe(new.plan, new.kind, new.purpose).model_dump_json(),
        "planned": len(new.plan.trials),
        "fingerprint": json.dumps(new.fingerprint),
        "fingerprint_hash": new.fingerprint_hash,
        "notes": "[]",
        "changed": "[]",
        "started": time.time(),
        "version": version("schedlab"),
        "process": this_process(),
    }
    with backends.writing(engine) as connection:
        number = schema.insert_row(connection, schema.run, sealed("run", values))
        # Before the row is visible: others take a run without a claim for interrupted.
        backends.of(engine).claim(engine, number, "running", this_process())
        return number


def resume(engine: Engine, run_id: int) -> None:
    """Record that this process runs a run, new or again; CannotRunHere while another process executes the run."""
    values = {"state": "running", "finished": None, "process": this_process()}
    r = schema.run.c
    with backends.writing(engine) as connection:
        state, process = connection.execute(select(r.state, r.process).where(r.id == run_id)).one()
        is_free = backends.of(engine).claim(engine, run_id, state, process)
        # Of two processes that have read the same row, the first changes it.
        free = update(schema.run).where(r.id == run_id, r.state == state, r.process.is_not_distinct_from(process))
        if not is_free or connection.execute(free.values(values)).rowcount == 0:
            if is_free:
                backends.of(engine).release(engine, run_id)
            raise _taken(run_id, process)


def _taken(run_id: int, process: str | None) -> CannotRunHere:
    """Return the error for a run of another process, with its host and PID."""
    words = (process or "").split()
    name = f" (process {words[3]} on {words[0]})" if len(words) == 5 else ""
    return CannotRunHere(f"another process runs run {run_id}{name}", todo="wait until that process ends")


def end(engine: Engine, run_id: int, state: Literal["complete", "interrupted", "refused"]) -> None:
    """Record the end of a run that this process runs; the state of any other run is left alone."""
    r = schema.run.c
    with backends.writing(engine) as connection:
        mine = update(schema.run).where(r.id == run_id, r.process == this_process())
        connection.execute(mine.values(state=state, finished=time.time()))
    backends.of(engine).release(engine, run_id)


def add_remarks(engine: Engine, run_id: int, *, notes: Sequence[str] = (), changed: Sequence[str] = ()) -> None:
    """Add notes on missing observations and on changes of the machine to a run. Each text is stored once."""
    with backends.writing(engine) as connection:
        query = select(schema.run).where(schema.run.c.id == run_id).with_for_update()
        stored = connection.execute(query).mappings().one()
        values: dict[str, Any] = {
            "notes": json.dumps(list(dict.fromkeys([*json.loads(stored["notes"]), *notes]))),
            "changed": json.dumps(list(dict.fromkeys([*json.loads(stored["changed"]), *changed]))),
        }
        values["checksum"] = checksum("run", {**stored, **values})
        connection.execute(update(schema.run).where(schema.run.c.id == run_id).values(values))


def done(engine: Engine, run_id: int) -> set[int]:
    """Return the plan positions of the recorded trials, in any state."""
    query = select(schema.trial.c.position).select_from(schema.cell.join(schema.trial))
    with backends.snapshot(engine) as connection:
        return set(connection.execute(query.where(schema.cell.c.run_id == run_id, schema.current)).scalars())


def supersede(engine: Engine, run_id: int, positions: Collection[int]) -> None:
    """Mark the cells of recorded trials as superseded by a repetition. The trials stay in the store."""
    c, t = schema.cell.c, schema.trial.c
    chosen = select(c.id).join_from(schema.cell, schema.trial).where(c.run_id == run_id, t.position.in_(positions))
    with backends.writing(engine) as connection:
        for cell in cells.read(connection, c.id.in_(chosen)):
            cells.write(connection, replace(cell, superseded=1))


def record(engine: Engine, run_id: int, trial: Trial, measurement: Measurement) -> None:
    """Commit one trial with its metrics, samples and output, in one transaction."""
    record_all(engine, run_id, [(trial, measurement)])


def record_all(engine: Engine, run_id: int, measured: Iterable[tuple[Trial, Measurement]]) -> None:
    """Commit several trials in one transaction: all of them or none.

    CannotRunHere if another process has resumed the run meanwhile, because a server took this process for dead.
    """
    with backends.writing(engine) as connection:
        # Until the commit, no other process can resume the run (SQLite has one writer at a time).
        process = connection.execute(_PROCESS, {"run": run_id}).scalar_one()
        if process != this_process():
            raise _taken(run_id, process)
        trials.insert_trials(connection, run_id, list(measured))


_PROCESS = select(schema.run.c.process).where(schema.run.c.id == bindparam("run")).with_for_update(read=True)

"""Writing a run: each trial is committed before the next trial begins."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, insert, select, update

from schedlab.analysis.rows import Layout, Question
from schedlab.experiment.factorial import runs
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import CONTROL, Plan, Trial
from schedlab.measurement import Measurement
from schedlab.store import schema
from schedlab.store.columns import pack, unpack
from schedlab.store.design import StoredDesign
from schedlab.workloads.metrics import Metric
from schedlab.workloads.registry import adapter

LONGEST_OUTPUT = 64 * 1024
"""Characters of an output stream that are kept, from its two ends. Failed trials keep 16 times as much."""


@dataclass(frozen=True)
class NewRun:
    """A run before its first trial; see the columns of :data:`schedlab.store.schema.run`."""

    plan: Plan
    target: str
    kind: str
    quick: bool
    experiment_file: str
    experiment_path: str
    fingerprint: Mapping[str, Any]
    fingerprint_hash: str


def describe(plan: Plan) -> StoredDesign:
    """Return the stored part of a plan."""
    experiment, analysis = plan.experiment, plan.experiment.analysis
    return StoredDesign(
        question=experiment.experiment.question,
        blocks=experiment.design.blocks,
        iterations=experiment.design.iterations,
        variants=[variant.name for variant in plan.variants],
        control=CONTROL if experiment.design.control else None,
        questions=questions_of(plan),
        alpha=analysis.alpha,
        delta=analysis.delta,
        correction=analysis.correction,
        family=analysis.family,
        interval=analysis.interval,
        looks=list(experiment.design.look_blocks),
        stack=experiment.attribution.stack if experiment.attribution else [],
        factorial=_layout(experiment),
    )


def _layout(experiment: Experiment) -> Layout | None:
    """Return the switches that are on in each variant of a factorial experiment."""
    if experiment.factorial is None:
        return None
    return Layout(tuple(experiment.factorial.switches), runs(experiment.factorial, experiment.baseline.name))


def questions_of(plan: Plan) -> list[Question]:
    """Return the judged metrics of every row, in the order of the experiment file."""
    questions = []
    for row in plan.rows:
        workload = adapter(row.use)
        for name in row.judged:
            spec = workload.spec(name)
            questions.append(Question(row.label, row.parameters_json, name, spec.unit, spec.direction))
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
        "design": describe(new.plan).model_dump_json(),
        "planned": len(new.plan.trials),
        "fingerprint": json.dumps(new.fingerprint),
        "fingerprint_hash": new.fingerprint_hash,
        "notes": "[]",
        "changed": "[]",
        "started": time.time(),
        "version": version("schedlab"),
    }
    with engine.begin() as connection:
        return schema.insert_row(connection, schema.run, values)


def set_state(engine: Engine, run_id: int, state: str) -> None:
    """Record that a run is ``running`` again, ``complete`` or ``interrupted``."""
    finished = None if state == "running" else time.time()
    with engine.begin() as connection:
        connection.execute(update(schema.run).where(schema.run.c.id == run_id).values(state=state, finished=finished))


def add_remarks(engine: Engine, run_id: int, *, notes: Sequence[str] = (), changed: Sequence[str] = ()) -> None:
    """Add notes on what was not observed, and changes of the machine, to a run; each text is kept once."""
    r = schema.run.c
    with engine.begin() as connection:
        stored = connection.execute(select(r.notes, r.changed).where(r.id == run_id)).one()
        values = {
            "notes": json.dumps(list(dict.fromkeys([*json.loads(stored.notes), *notes]))),
            "changed": json.dumps(list(dict.fromkeys([*json.loads(stored.changed), *changed]))),
        }
        connection.execute(update(schema.run).where(r.id == run_id).values(values))


def done(engine: Engine, run_id: int) -> set[int]:
    """Return the plan positions of the recorded trials, whatever their state."""
    query = select(schema.trial.c.position).select_from(schema.cell.join(schema.trial))
    with engine.connect() as connection:
        return set(connection.execute(query.where(schema.cell.c.run_id == run_id, schema.current)).scalars())


def supersede(engine: Engine, run_id: int, positions: Collection[int]) -> None:
    """Mark the cells of recorded trials as to be measured again; they are kept."""
    c, t = schema.cell.c, schema.trial.c
    cells = select(c.id).join_from(schema.cell, schema.trial).where(c.run_id == run_id, t.position.in_(positions))
    with engine.begin() as connection:
        connection.execute(update(schema.cell).where(c.id.in_(cells)).values(superseded=1))


def record(engine: Engine, run_id: int, trial: Trial, measurement: Measurement) -> None:
    """Commit one trial with its metrics, samples and output, in one transaction."""
    with engine.begin() as connection:
        cell_id = _cell(connection, run_id, trial)
        trial_id = schema.insert_row(connection, schema.trial, _trial_values(cell_id, trial, measurement))
        _record_metrics(connection, cell_id, trial.iteration, measurement.metrics)
        sampled = [metric for metric in measurement.metrics if metric.samples is not None]
        for metric in sampled:
            connection.execute(insert(schema.samples), sample_values(trial_id, metric.spec.name, metric.samples or ()))
        keep = LONGEST_OUTPUT * (1 if measurement.state == "ok" else 16)
        output = {
            "trial_id": trial_id,
            "command": json.dumps(list(measurement.command)),
            # The raw text of a good trial would only repeat its samples.
            "stdout": "" if sampled else _ends(measurement.stdout, keep),
            "stderr": _ends(measurement.stderr, keep),
        }
        connection.execute(insert(schema.output), output)


def _cell(connection: Connection, run_id: int, trial: Trial) -> int:
    """Return the number of a trial's cell, which the cell's first trial inserts."""
    values = {
        "run_id": run_id,
        "phase": trial.phase,
        "block": trial.block,
        "variant": trial.variant.name,
        "workload": trial.row.label,
        "parameters": trial.row.parameters_json,
    }
    c = schema.cell.c
    query = select(c.id).where(schema.current, *(c[name] == value for name, value in values.items()))
    cell_id = connection.execute(query).scalar()
    return (
        schema.insert_row(connection, schema.cell, {**values, "position": trial.index})
        if cell_id is None
        else int(cell_id)
    )


def _trial_values(cell_id: int, trial: Trial, measurement: Measurement) -> dict[str, Any]:
    return {
        "cell_id": cell_id,
        "position": trial.index,
        "iteration": trial.iteration,
        "state": measurement.state,
        "reason": measurement.reason,
        "started": measurement.started,
        "elapsed": measurement.elapsed,
        **asdict(measurement.conditions),
        "counters": json.dumps(measurement.counters),
    }


def _record_metrics(connection: Connection, cell_id: int, iteration: int, metrics: Sequence[Metric]) -> None:
    """Write a trial's values into the arrays of its cell."""
    m = schema.metric.c
    query = select(m.name, m.unit, m.direction, m.data).where(m.cell_id == cell_id)
    stored = {tuple(row[:3]): unpack(row.data) for row in connection.execute(query)} if metrics else {}
    for metric in metrics:
        if np.isnan(metric.value):
            raise ValueError(f"{metric.spec.name} of cell {cell_id} is not a number")
        key = {"name": metric.spec.name, "unit": metric.spec.unit, "direction": metric.spec.direction}
        before = stored.get(tuple(key.values()), np.empty(0))
        values = np.full(max(len(before), iteration + 1), np.nan)
        values[: len(before)] = before
        values[iteration] = metric.value
        if len(before):
            of_metric = (m[name] == text for name, text in key.items())
            change = update(schema.metric).where(m.cell_id == cell_id, *of_metric)
            connection.execute(change.values(data=pack(values)))
        else:
            connection.execute(insert(schema.metric), {"cell_id": cell_id, **key, "data": pack(values)})


def sample_values(trial_id: int, name: str, samples: Sequence[float]) -> dict[str, Any]:
    """Return the row of ``samples`` for a metric's single observations (level 1: a run is waiting)."""
    return {"trial_id": trial_id, "name": name, "count": len(samples), "data": zlib.compress(pack(samples), 1)}


def _ends(text: str, keep: int) -> str:
    if len(text) <= keep:
        return text
    cut = len(text) - keep
    return f"{text[: keep // 2]}\n[… {cut} characters left out …]\n{text[-(keep // 2) :]}"

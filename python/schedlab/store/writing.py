"""Writing a run: each trial is committed, whole, before the next one begins."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from sqlalchemy import Connection, Engine, insert, select, update

from schedlab.experiment.plan import Plan, Trial
from schedlab.measurement import Measurement
from schedlab.store import schema
from schedlab.store.describing import describe
from schedlab.store.packing import pack

LONGEST_OUTPUT = 64 * 1024
"""Characters of a stream that are kept; a longer one keeps its two ends. Failed trials keep 16 times as much."""


@dataclass(frozen=True)
class NewRun:
    """What is known of a run before its first trial; see the columns of :data:`schedlab.store.schema.run`."""

    plan: Plan
    target: str
    kind: str
    quick: bool
    experiment_file: str
    experiment_path: str
    fingerprint: Mapping[str, Any]
    fingerprint_hash: str


def begin(engine: Engine, new: NewRun) -> int:
    """Record a run that is about to start; its number."""
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
        key = connection.execute(insert(schema.run).values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def set_state(engine: Engine, run_id: int, state: str) -> None:
    """Record that a run is ``running`` again, ``complete`` or ``interrupted``."""
    finished = None if state == "running" else time.time()
    with engine.begin() as connection:
        connection.execute(update(schema.run).where(schema.run.c.id == run_id).values(state=state, finished=finished))


def add_remarks(engine: Engine, run_id: int, *, notes: Sequence[str] = (), changed: Sequence[str] = ()) -> None:
    """Add to a run what could not be observed (``notes``), and what of the machine changed; each is kept once."""
    r = schema.run.c
    with engine.begin() as connection:
        held = connection.execute(select(r.notes, r.changed).where(r.id == run_id)).one()
        values = {
            "notes": json.dumps(list(dict.fromkeys([*json.loads(held.notes), *notes]))),
            "changed": json.dumps(list(dict.fromkeys([*json.loads(held.changed), *changed]))),
        }
        connection.execute(update(schema.run).where(r.id == run_id).values(values))


def done(engine: Engine, run_id: int) -> set[int]:
    """The plan positions whose trials are already recorded, whatever their state."""
    t = schema.trial.c
    with engine.connect() as connection:
        return set(connection.execute(select(t.position).where(t.run_id == run_id, schema.current)).scalars())


def supersede(engine: Engine, run_id: int, positions: Collection[int]) -> None:
    """Mark recorded trials as to be measured again; they are kept."""
    t = schema.trial.c
    with engine.begin() as connection:
        connection.execute(
            update(schema.trial).where(t.run_id == run_id, t.position.in_(positions)).values(superseded=1)
        )


def record(engine: Engine, run_id: int, trial: Trial, measurement: Measurement) -> None:
    """Commit one trial with its metrics, samples and output, in one transaction."""
    with engine.begin() as connection:
        key = connection.execute(insert(schema.trial), _trial_values(run_id, trial, measurement)).inserted_primary_key
        assert key is not None
        _record_metrics(connection, int(key[0]), measurement)
        keep = LONGEST_OUTPUT * (1 if measurement.state == "ok" else 16)
        connection.execute(
            insert(schema.output),
            {
                "trial_id": int(key[0]),
                "command": json.dumps(list(measurement.command)),
                # A good trial's samples are kept as numbers; its raw text would only repeat them.
                "stdout": ""
                if any(m.samples is not None for m in measurement.metrics)
                else _ends(measurement.stdout, keep),
                "stderr": _ends(measurement.stderr, keep),
            },
        )


def _trial_values(run_id: int, trial: Trial, measurement: Measurement) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "position": trial.index,
        "phase": trial.phase,
        "block": trial.block,
        "variant": trial.variant.name,
        "workload": trial.row.label,
        "parameters": trial.row.parameters_json,
        "iteration": trial.iteration,
        "state": measurement.state,
        "reason": measurement.reason,
        "started": measurement.started,
        "elapsed": measurement.elapsed,
        **asdict(measurement.conditions),
        "counters": json.dumps(measurement.counters),
    }


def _record_metrics(connection: Connection, trial_id: int, measurement: Measurement) -> None:
    rows = [
        {
            "trial_id": trial_id,
            "name": metric.spec.name,
            "unit": metric.spec.unit,
            "direction": metric.spec.direction,
            "value": metric.value,
        }
        for metric in measurement.metrics
    ]
    if rows:
        connection.execute(insert(schema.metric), rows)
    for metric in measurement.metrics:
        if metric.samples is not None:
            values = {
                "trial_id": trial_id,
                "name": metric.spec.name,
                "count": len(metric.samples),
                "data": pack(metric.samples),
            }
            connection.execute(insert(schema.samples), values)


def _ends(text: str, keep: int) -> str:
    if len(text) <= keep:
        return text
    cut = len(text) - keep
    return f"{text[: keep // 2]}\n[… {cut} characters left out …]\n{text[-(keep // 2) :]}"

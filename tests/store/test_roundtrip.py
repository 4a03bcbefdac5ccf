"""What is written is read back: metrics, samples, output, failures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import plan
from schedlab.measurement import Measurement
from schedlab.store import reading, writing
from schedlab.workloads.base import Metric, MetricSpec
from tests.conftest import begin

LATENCY = MetricSpec("latency", "us/op", "lower")


def test_samples_come_back_exactly(engine: Engine, experiment: Experiment) -> None:
    made = plan(experiment, 1)
    run_id = begin(engine, made)
    samples = [0.1, 4.25, 1e-9, 7.0]
    writing.record(engine, run_id, made.trials[6], Measurement("ok", 1.0, 2.0, [Metric(LATENCY, 3.0, samples)]))
    assert list(reading.samples(engine, run_id, 6, "latency")) == samples
    assert list(reading.samples(engine, run_id, 6, "other")) == []
    frame = reading.measurements(engine, run_id)
    assert frame.row(0, named=True) | {"variant": ""} == {
        "position": 6, "block": 1, "variant": "", "workload": "hackbench",
        "parameters": made.trials[6].row.parameters_json, "metric": "latency", "value": 3.0,
    }  # fmt: skip


def test_warm_up_and_failed_trials_are_kept_but_not_measured(engine: Engine, experiment: Experiment) -> None:
    made = plan(experiment, 1)
    run_id = begin(engine, made)
    writing.record(engine, run_id, made.trials[0], Measurement("ok", 1.0, 2.0, [Metric(LATENCY, 3.0)]))
    writing.record(engine, run_id, made.trials[6], Measurement("timeout", 1.0, 2.0, reason="too long"))
    assert len(reading.measurements(engine, run_id)) == 0
    assert reading.trials(engine, run_id)["state"].to_list() == ["ok", "timeout"]


def test_conditions_become_columns_and_unknown_ones_null(engine: Engine, experiment: Experiment) -> None:
    made = plan(experiment, 1)
    run_id = begin(engine, made)
    conditions = {"load": 0.5, "steal_percent": 2.5, "other_percent": 0.0, "clocksource": "tsc"}
    writing.record(engine, run_id, made.trials[0], Measurement("ok", 1.0, 2.0, conditions=conditions))
    row = reading.trials(engine, run_id).row(0, named=True)
    assert (row["steal_percent"], row["clocksource"], row["mhz_min"]) == (2.5, "tsc", None)


def test_a_trial_cannot_be_recorded_twice(engine: Engine, experiment: Experiment) -> None:
    made = plan(experiment, 1)
    run_id = begin(engine, made)
    good = Measurement("ok", 1.0, 2.0, [Metric(LATENCY, 3.0)])
    writing.record(engine, run_id, made.trials[0], good)
    with pytest.raises(Exception, match="UNIQUE"):
        writing.record(engine, run_id, made.trials[0], good)
    assert writing.done(engine, run_id) == {0}


def test_a_long_output_keeps_both_ends(engine: Engine, experiment: Experiment) -> None:
    made = plan(experiment, 1)
    run_id = begin(engine, made)
    printed = "BEGIN" + "x" * 3_000_000 + "END"
    writing.record(engine, run_id, made.trials[0], Measurement("failed", 1.0, 2.0, reason="r", stdout=printed))
    kept = next(reading.failed_outputs(engine, run_id))
    assert "BEGIN" in kept
    assert "END" in kept
    assert len(kept) < 1_100_000


@given(st.lists(st.floats(allow_nan=False), max_size=50))
def test_packing_loses_nothing(samples: list[float]) -> None:
    import zlib
    from array import array

    unpacked = array("d")
    unpacked.frombytes(zlib.decompress(writing.pack(samples)))
    assert list(unpacked) == samples

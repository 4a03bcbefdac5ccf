"""What is written is read back: metrics, samples, output, failures."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from schedlab.analysis.counters import COLUMNS
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import plan
from schedlab.measurement import Conditions, Measurement
from schedlab.store import reading, writing
from schedlab.store.gathering import gather
from schedlab.store.packing import pack, unpack
from schedlab.workloads.metrics import Metric, MetricSpec
from tests.conftest import TWO_VARIANTS, begin

LATENCY = MetricSpec("latency", "us/op", "lower")


def test_samples_come_back_exactly(engine: Engine, experiment: Experiment) -> None:
    made = plan(experiment, 1)
    run_id = begin(engine, made)
    samples = [0.1, 4.25, 1e-9, 7.0]
    writing.record(engine, run_id, made.trials[6], Measurement("ok", 1.0, 2.0, [Metric(LATENCY, 3.0, samples)]))
    assert list(reading.samples(engine, run_id, 6, "latency")) == samples
    assert list(reading.samples(engine, run_id, 6, "other")) == []
    row = reading.measurements(engine, run_id).row(0, named=True)
    assert (row["block"], row["metric"], row["value"], row["position"]) == (1, "latency", 3.0, 6.0)


def test_a_block_s_iterations_are_read_as_their_mean(engine: Engine) -> None:
    text = TWO_VARIANTS.replace("[design]", "[design]\niterations = 3")
    made = plan(parse(text, "f"), 1)
    run_id = begin(engine, made, text)
    cell = [trial for trial in made.trials if trial.phase == "measure"][:3]
    for trial, value in zip(cell, (1.0, 2.0, 6.0), strict=True):
        writing.record(engine, run_id, trial, Measurement("ok", 1.0, 2.0, [Metric(LATENCY, value)]))
    frame = reading.measurements(engine, run_id)
    assert frame.select("value", "iterations").rows() == [(3.0, 3)]


def test_warm_up_and_failed_trials_are_kept_but_not_measured(engine: Engine, experiment: Experiment) -> None:
    made = plan(experiment, 1)
    run_id = begin(engine, made)
    writing.record(engine, run_id, made.trials[0], Measurement("ok", 1.0, 2.0, [Metric(LATENCY, 3.0)]))
    writing.record(engine, run_id, made.trials[6], Measurement("timeout", 1.0, 2.0, reason="too long"))
    assert len(reading.measurements(engine, run_id)) == 0
    assert writing.done(engine, run_id) == {0, 6}
    assert reading.failures(engine, run_id)["reason"].to_list() == ["too long"]


def test_conditions_are_means_weighted_by_duration_and_unknown_ones_null(
    engine: Engine, experiment: Experiment
) -> None:
    made = plan(experiment, 1)
    run_id = begin(engine, made)
    trials = [trial for trial in made.trials if trial.variant.name == "base"]
    for trial, seconds, steal in zip(trials, (100.0, 1.0, 3.0), (50.0, 4.0, 8.0), strict=False):
        conditions = Conditions(load=0.5, steal_percent=steal, clocksource="tsc")
        writing.record(engine, run_id, trial, Measurement("ok", 1.0, seconds, conditions=conditions))
    row = reading.conditions(engine, run_id).row(0, named=True)
    # The first two trials are warm-up; only the third counts.
    assert (row["variant"], row["seconds"], row["steal_percent"], row["steal_worst"]) == ("base", 3.0, 8.0, 8.0)
    assert (row["clocksources"], row["mhz_min"], row["other_percent"]) == ("tsc", None, None)


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
    assert unpack(pack(samples)).tolist() == samples


def test_counters_are_read_as_means_over_the_trials_of_a_block(engine: Engine, experiment: Experiment) -> None:
    made = plan(experiment, 1)
    run_id = begin(engine, made)
    in_block = [trial for trial in made.trials if trial.phase == "measure" and trial.block == 1][:2]
    for trial, counted in zip(in_block, ({"forks": 3, "steal_ms": 0.5}, {}), strict=True):
        writing.record(engine, run_id, trial, Measurement("ok", 1.0, 2.0, counters=counted))
    failed = next(trial for trial in made.trials if trial.block == 2)
    writing.record(engine, run_id, failed, Measurement("failed", 1.0, 2.0, counters={"forks": 99}))
    held = reading.counters(engine, run_id)
    name, row = in_block[0].variant.name, in_block[0].row
    key = (1, name, row.label, row.parameters_json)
    assert sorted(held.rows()) == [(*key, "forks", 3.0), (*key, "steal_ms", 0.5)]
    assert dict(held.schema) == COLUMNS


def test_one_pass_gathers_what_two_queries_read(engine: Engine, run_script: Callable[..., tuple[int, object]]) -> None:
    text = TWO_VARIANTS.replace("blocks = 8", "blocks = 3\niterations = 2")
    run_id, _ = run_script(lambda trial: 1.0 + trial.index, text)
    gathered = gather(engine, run_id)
    order = ["variant", "workload", "parameters", "metric", "block"]
    means = reading.measurements(engine, run_id).sort(order)
    assert gathered.means().select(means.columns).sort(order).equals(means)
    held = {row: values.tolist() for row, values in gathered.samples("base").items()}
    assert len(held) == 2
    assert all(len(values) == 6 and values == sorted(values) for values in held.values())

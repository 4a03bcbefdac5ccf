"""Round trip of trials: values, samples, output, failures, conditions and counters are read as written."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from math import nan

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, event, select

from schedlab.analysis.cells import average_blocks
from schedlab.analysis.counters import COLUMNS
from schedlab.errors import StoreError
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import plan
from schedlab.results.measurement import Conditions, Measurement
from schedlab.results.metrics import Metric, MetricSpec
from schedlab.store import backends, cells, reader, schema, writer
from schedlab.store.cells import pack, unpack
from schedlab.store.columns import read_cells
from schedlab.store.trials import LONGEST_OUTPUT
from tests.conftest import (
    DATABASES,  # noqa: F401 - each test runs with each database
    TWO_VARIANTS,
    begin,
)

LATENCY = MetricSpec("latency", "us/op", "lower")
RATE = MetricSpec("rate", "op/s", "higher")


def block_values(engine: Engine, run_id: int) -> pl.DataFrame:
    """Return the block means of a run."""
    return average_blocks(read_cells(engine, reader.run(engine, run_id)))


@pytest.mark.slow
def test_values_and_samples_are_read_exactly(engine: Engine, experiment: Experiment) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    samples = [0.1, 4.25, 1e-9, 7.0]
    writer.record(engine, run_id, run_plan.trials[6], Measurement("ok", 1.0, 2.0, [Metric(LATENCY, 3.0, samples)]))
    s = schema.samples.c
    with engine.connect() as connection:
        ((name, count, data),) = connection.execute(select(s.name, s.count, s.data))
    assert (name, count, unpack(zlib.decompress(data)).tolist()) == ("latency", 4, samples)
    row = block_values(engine, run_id).row(0, named=True)
    assert (row["block"], row["metric"], row["value"], row["position"]) == (1, "latency", 3.0, 6.0)


def test_iterations_of_a_block_are_averaged(engine: Engine) -> None:
    text = TWO_VARIANTS.replace("[design]", "[design]\niterations = 3")
    run_plan = plan(parse(text, "f"), 1)
    run_id = begin(engine, run_plan, text)
    cell = [trial for trial in run_plan.trials if trial.phase == "measure"][:3]
    for trial, value in zip(cell, (1.0, 2.0, 6.0), strict=True):
        writer.record(engine, run_id, trial, Measurement("ok", 1.0, 2.0, [Metric(LATENCY, value)]))
    assert block_values(engine, run_id).select("value", "iterations").rows() == [(3.0, 3)]


def test_an_iteration_without_a_value_leaves_a_gap_in_its_cell(engine: Engine) -> None:
    text = TWO_VARIANTS.replace("[design]", "[design]\niterations = 4")
    run_plan = plan(parse(text, "f"), 1)
    run_id = begin(engine, run_plan, text)
    trials = [trial for trial in run_plan.trials if trial.phase == "measure"][:4]
    measurements = [
        Measurement("failed", 1.0, 2.0, reason="no memory"),
        Measurement("ok", 1.0, 2.0, [Metric(LATENCY, -1e300), Metric(RATE, 5.0)]),
        Measurement("ok", 1.0, 2.0, [Metric(RATE, 6.0)]),
        Measurement("ok", 1.0, 2.0, [Metric(LATENCY, 2.0)]),
    ]
    for trial, measurement in zip(trials, measurements, strict=True):
        writer.record(engine, run_id, trial, measurement)
    latency, rate = read_cells(engine, reader.run(engine, run_id))
    assert latency.values.tolist() == pytest.approx([nan, -1e300, nan, 2.0], nan_ok=True)
    assert rate.values.tolist() == pytest.approx([nan, 5.0, 6.0], nan_ok=True)
    assert (latency.iterations.tolist(), rate.samples.tolist()) == ([1, 3], [5.0, 6.0])


def test_a_value_that_is_not_a_number_is_refused(engine: Engine, experiment: Experiment) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    with pytest.raises(ValueError, match=r"latency of iteration 0 of .* under .* is not a finite number"):
        writer.record(engine, run_id, run_plan.trials[0], Measurement("ok", 1.0, 2.0, [Metric(LATENCY, nan)]))
    assert writer.done(engine, run_id) == set()


def test_warm_up_and_failed_trials_are_kept_but_not_analysed(engine: Engine, experiment: Experiment) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    writer.record(engine, run_id, run_plan.trials[0], Measurement("ok", 1.0, 2.0, [Metric(LATENCY, 3.0)]))
    writer.record(engine, run_id, run_plan.trials[6], Measurement("timeout", 1.0, 2.0, reason="too long"))
    assert len(block_values(engine, run_id)) == 0
    assert writer.done(engine, run_id) == {0, 6}
    assert reader.failures(engine, run_id)["reason"].to_list() == ["too long"]


def test_conditions_are_weighted_by_duration_and_null_where_not_observed(
    engine: Engine, experiment: Experiment
) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    trials = [trial for trial in run_plan.trials if trial.variant.name == "base"]
    for trial, seconds, steal in zip(trials, (100.0, 1.0, 3.0), (50.0, 4.0, 8.0), strict=False):
        conditions = Conditions(load=0.5, steal_percent=steal, clocksource="tsc")
        writer.record(engine, run_id, trial, Measurement("ok", 1.0, seconds, conditions=conditions))
    row = reader.conditions(engine, run_id).row(0, named=True)
    # The first two trials are warm-up; only the third counts.
    assert (row["variant"], row["seconds"], row["steal_percent"], row["steal_worst"]) == ("base", 3.0, 8.0, 8.0)
    assert (row["clocksources"], row["mhz_min"], row["other_percent"]) == ("tsc", None, None)


def test_a_trial_cannot_be_recorded_twice(engine: Engine, experiment: Experiment) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    good = Measurement("ok", 1.0, 2.0, [Metric(LATENCY, 3.0)])
    writer.record(engine, run_id, run_plan.trials[0], good)
    with pytest.raises(Exception, match=r"(?i)unique constraint"):
        writer.record(engine, run_id, run_plan.trials[0], good)
    assert writer.done(engine, run_id) == {0}


@pytest.mark.slow
def test_trials_stored_together_are_read_as_trials_stored_one_by_one(engine: Engine) -> None:
    text = TWO_VARIANTS.replace("[design]", "[design]\niterations = 3")
    run_plan = plan(parse(text, "f"), 1)
    one_by_one, together = (begin(engine, run_plan, text) for _ in range(2))
    measured = [
        (trial, Measurement("ok", 1.0, 2.0, [Metric(LATENCY, float(trial.index), [1.0, 2.0]), Metric(RATE, 5.0)]))
        for trial in run_plan.trials
    ]
    for trial, measurement in measured:
        writer.record(engine, one_by_one, trial, measurement)
    # The second part begins within cells of the first.
    for part in (measured[:5], measured[5:], []):
        writer.record_all(engine, together, part)

    def content(run_id: int) -> tuple[list[object], list[tuple[object, ...]]]:
        c, t, s, o = schema.cell.c, schema.trial.c, schema.samples.c, schema.output.c
        joined = schema.cell.join(schema.trial).join(schema.samples).join(schema.output, o.trial_id == t.id)
        query = select(c.position, t.position, t.iteration, s.name, s.data, o.stdout).select_from(joined)
        with engine.connect() as connection:
            read = cells.read(connection, c.run_id == run_id)
            rows = connection.execute(query.where(c.run_id == run_id).order_by(t.position, s.name)).all()
        arrays = [(cell.position, cell.conditions.tolist(), sorted((k, v.tolist()) for k, v in cell.metrics.items()))
                  for cell in read]  # fmt: skip
        return [str(each) for each in arrays], [tuple(row) for row in rows]

    assert content(together) == content(one_by_one)
    assert writer.done(engine, together) == {trial.index for trial in run_plan.trials}


@pytest.mark.slow
def test_writers_of_one_store_never_give_two_cells_the_same_number(
    engine: Engine, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_plan = plan(experiment, 1)
    runs = [begin(engine, run_plan), begin(engine, run_plan)]
    measurement = Measurement("ok", 1.0, 2.0, [Metric(LATENCY, 3.0)])
    backend = backends.of(engine)
    numbers = backend.numbers
    first = iter([True])

    def record(run_id: int) -> None:
        writer.record(engine, run_id, run_plan.trials[0], measurement)

    def record_meanwhile(connection: Connection, table: str, count: int) -> list[int]:
        allotted = numbers(connection, table, count)
        if next(first, False):
            # The other writer ends, or waits for the end of this transaction.
            wait([pool.submit(record, runs[1])], timeout=1)
        return allotted

    monkeypatch.setattr(backend, "numbers", record_meanwhile)
    with ThreadPoolExecutor(1) as pool:
        record(runs[0])
    assert [writer.done(engine, run_id) for run_id in runs] == [{run_plan.trials[0].index}] * 2


def test_the_number_of_statements_does_not_grow_with_the_trials(engine: Engine, experiment: Experiment) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    statements: list[str] = []

    @event.listens_for(engine, "before_cursor_execute")
    def note(connection: object, cursor: object, statement: str, *others: object) -> None:
        statements.append(statement)

    counts = []
    for part in (run_plan.trials[:2], run_plan.trials[2:]):
        statements.clear()
        writer.record_all(engine, run_id, ((t, Measurement("ok", 1.0, 2.0, [Metric(RATE, 5.0)])) for t in part))
        counts.append(len(statements))
    assert len(run_plan.trials) > 9
    assert max(counts) <= 10  # with the beginning of the transaction


def test_a_long_output_keeps_both_ends(engine: Engine, experiment: Experiment) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    printed = "BEGIN" + "x" * 3_000_000 + "END"
    writer.record(engine, run_id, run_plan.trials[0], Measurement("failed", 1.0, 2.0, reason="r", stdout=printed))
    kept = next(reader.failed_outputs(engine, run_id))
    assert "BEGIN" in kept
    assert "END" in kept
    assert len(kept) < 1_100_000


@given(st.lists(st.floats(allow_nan=False), max_size=50))
def test_packed_values_are_unpacked_exactly(values: list[float]) -> None:
    assert unpack(pack(values)).tolist() == values


def test_counters_are_means_over_the_trials_of_a_block(engine: Engine, experiment: Experiment) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    in_block = [trial for trial in run_plan.trials if trial.phase == "measure" and trial.block == 1][:2]
    for trial, counted in zip(in_block, ({"forks": 3, "steal_ms": 0.5}, {}), strict=True):
        writer.record(engine, run_id, trial, Measurement("ok", 1.0, 2.0, counters=counted))
    failed = next(trial for trial in run_plan.trials if trial.block == 2)
    writer.record(engine, run_id, failed, Measurement("failed", 1.0, 2.0, counters={"forks": 99}))
    counters = reader.counters(engine, run_id)
    name, row = in_block[0].variant.name, in_block[0].row
    key = (1, name, row.label, row.parameters_json)
    assert sorted(counters.rows()) == [(*key, "forks", 3.0), (*key, "steal_ms", 0.5)]
    assert dict(counters.schema) == COLUMNS


@pytest.mark.slow
def test_without_a_number_the_newest_run_is_read(run_script: Callable[..., object], engine: Engine) -> None:
    for _ in range(3):
        run_script(lambda trial: 1.0)
    assert reader.run(engine, None).id == 3
    assert reader.run(engine, 2).id == 2


@pytest.mark.parametrize(("number", "what"), [(None, "contains no run yet"), (7, "contains no run 7")])
def test_a_missing_run_is_named_in_the_error(number: int | None, what: str, engine: Engine) -> None:
    with pytest.raises(StoreError, match=what):
        reader.run(engine, number)


def test_the_output_of_a_good_trial_is_cut_shorter(engine: Engine, experiment: Experiment) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    writer.record(engine, run_id, run_plan.trials[0], Measurement("ok", 1.0, 2.0, stdout="x" * 3_000_000))
    with engine.connect() as connection:
        kept = connection.execute(select(schema.output.c.stdout)).scalar_one()
    assert kept.count("x") == LONGEST_OUTPUT

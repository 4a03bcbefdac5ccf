"""Reading samples by cell excludes failures, repeated blocks and trials of other runs, and no other trials."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from random import Random
from statistics import fmean

import pytest
from sqlalchemy import Engine, event

from schedlab.analysis.cells import average_blocks
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.results.measurement import Conditions, Measurement
from schedlab.results.metrics import Metric, MetricSpec
from schedlab.store import reader, writer
from schedlab.store.columns import columns, read_cells, sample_table, samples_by_row, variants_of
from schedlab.store.file import open_store
from schedlab.store.reader import Run
from tests.conftest import (
    DATABASES,  # noqa: F401 - each test runs with each database
    TWO_VARIANTS,
    begin,
)

ORDER = ["block", "variant", "workload", "parameters", "metric"]


@dataclass(frozen=True)
class Recorded:
    """Trial with its measurement."""

    trial: Trial
    measurement: Measurement

    @property
    def analysed(self) -> bool:
        """Return whether the trial counts in reports."""
        return self.trial.phase == "measure" and self.measurement.state == "ok"


def measure(trial: Trial, chance: Random) -> Measurement:
    """A measurement that sometimes fails, sometimes lacks a metric, and sometimes has another unit."""
    ok = chance.random() >= 0.05
    unit = "ms" if trial.index % 11 == 0 else "us"
    metrics = [Metric(MetricSpec("latency", unit, "lower"), chance.random())]
    if trial.index > 30:
        metrics.append(Metric(MetricSpec("late", "us", "lower"), chance.random()))
    conditions = Conditions(steal_percent=100 * chance.random(), mhz_min=trial.index, clocksource="tsc")
    counters = {"forks": float(chance.choice((3, 3, 3, 4))), "ms": chance.random()}
    return Measurement(
        "ok" if ok else "failed",
        1.0,
        chance.random(),
        metrics if ok else (),
        "" if ok else "broke",
        conditions,
        counters,
    )


def recorded_run(engine: Engine, iterations: int, seed: int) -> tuple[int, list[Recorded]]:
    """Record a run with failed trials and a repeated block, interleaved with trials of another run."""
    text = TWO_VARIANTS.replace("blocks = 8", f"blocks = 3\niterations = {iterations}")
    run_plan, chance = plan(parse(text, "f"), 1), Random(seed)
    run_id, other = begin(engine, run_plan, text), begin(engine, run_plan, text)
    recorded: dict[int, Recorded] = {}

    def record(trial: Trial) -> None:
        recorded[trial.index] = Recorded(trial, measure(trial, chance))
        writer.record(engine, run_id, trial, recorded[trial.index].measurement)
        if chance.random() < 0.1 and trial.index not in writer.done(engine, other):
            writer.record(engine, other, trial, measure(trial, Random(trial.index)))

    last_stored = next(trial.index for trial in run_plan.trials if trial.block == 2) + 1
    for trial in run_plan.trials[: last_stored + 1]:
        record(trial)
    again = {trial.index for trial in run_plan.trials[: last_stored + 1] if trial.block in (0, 2)}
    writer.supersede(engine, run_id, again)
    for trial in run_plan.trials:
        if trial.index in again or trial.index > last_stored:
            record(trial)
    return run_id, [recorded[index] for index in sorted(recorded)]


Case = tuple[Engine, Run, list[Recorded]]


@pytest.fixture(
    scope="module",
    params=[(1, 1), (4, 2), pytest.param((60, 3), marks=pytest.mark.slow)],
    ids=lambda sizes: f"{sizes[0]} iterations",
)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Store, run and trials. Recording takes seconds, and the tests only read."""
    engine = open_store(tmp_path_factory.mktemp("case") / "store.sqlite", create=True)
    run_id, recorded = recorded_run(engine, *request.param)
    return engine, reader.run(engine, run_id), recorded


def lines(recorded: list[Recorded], variant: str) -> list[tuple[object, ...]]:
    """Return the analysed values of a variant in the order of the plan."""
    return [
        (
            each.trial.block, each.trial.index, each.trial.iteration, each.trial.row.label,
            each.trial.row.parameters_json, metric.spec.name, metric.spec.unit, metric.spec.direction, metric.value,
        )
        for each in recorded
        if each.analysed and each.trial.variant.name == variant
        for metric in sorted(each.measurement.metrics, key=lambda metric: metric.spec.name)
    ]  # fmt: skip


@pytest.mark.slow
def test_block_means_are_the_means_of_the_single_values(case: Case) -> None:
    engine, run, recorded = case
    cells = defaultdict(list)
    for variant in run.design.variants:
        for block, position, _, workload, parameters, metric, _, _, value in lines(recorded, variant):
            cells[block, variant, workload, parameters, metric].append((position, value))
    expected = {
        key: (
            *map(fmean, zip(*of_cell, strict=True)),
            len(of_cell),
            *(of(value for _, value in of_cell) for of in (min, max)),
        )
        for key, of_cell in cells.items()
    }
    frame = average_blocks(read_cells(engine, run))
    assert frame.columns == [*ORDER, "position", "value", "iterations", "least", "most"]
    assert frame.rows() == sorted(frame.rows())
    assert {row[:5]: pytest.approx(row[5:]) for row in frame.rows()} == expected


def test_samples_of_a_row_are_complete_and_blocks_in_order(case: Case) -> None:
    engine, run, recorded = case
    for variant in run.design.variants:
        rows = defaultdict(list)
        for line in lines(recorded, variant):
            rows[line[3:6]].append((line[0], line[6], line[1], line[8]))
        # Within a block, samples are grouped by unit.
        expected = {row: [value for *_, value in sorted(values, key=_unit_order)] for row, values in rows.items()}
        for cells in (read_cells(engine, run), read_cells(engine, run, {variant})):
            assert {row: values.tolist() for row, values in samples_by_row(cells, variant).items()} == expected


def _unit_order(line: tuple[object, ...]) -> tuple[object, ...]:
    return line[0], line[1], line[2]


def test_the_sample_table_has_every_value_in_the_order_of_the_plan(case: Case) -> None:
    engine, run, recorded = case
    names = ("block", "position", "iteration", "workload", "parameters", "metric", "unit", "direction", "value")
    frame = sample_table(engine, variants_of(run))
    for variant in run.design.variants:
        assert frame.filter(frame["column"] == variant).select(names).rows() == lines(recorded, variant)
    assert set(frame["unit"]) == {"us", "ms"}


def test_conditions_counters_and_failures_agree_with_the_single_trials(case: Case) -> None:
    engine, run, recorded = case
    conditions = {row["variant"]: row for row in reader.conditions(engine, run.id).iter_rows(named=True)}
    assert conditions.keys() == set(run.design.variants)
    for variant, row in conditions.items():
        of_variant = [
            each.measurement
            for each in recorded
            if each.trial.variant.name == variant and each.trial.phase == "measure"
        ]
        seconds = sum(each.elapsed for each in of_variant)
        steal = [each.conditions.steal_percent or 0.0 for each in of_variant]
        weighted = sum(each.elapsed * percent for each, percent in zip(of_variant, steal, strict=True))
        assert row["seconds"] == pytest.approx(seconds)
        assert row["steal_percent"] == pytest.approx(weighted / seconds)
        assert (row["steal_worst"], row["mhz_min"]) == (
            max(steal), min(each.conditions.mhz_min or 0 for each in of_variant),
        )  # fmt: skip
        assert (row["mhz_max"], row["other_percent"], row["clocksources"]) == (None, None, "tsc")
    failed = [each.trial.index for each in recorded if each.measurement.state != "ok"]
    assert reader.failures(engine, run.id)["position"].to_list() == failed
    sums = defaultdict(list)
    for each in recorded:
        if each.analysed:
            key = (each.trial.block, each.trial.variant.name, each.trial.row.label, each.trial.row.parameters_json)
            for name, value in each.measurement.counters.items():
                sums[(*key, name)].append(value)
    counted = {row[:5]: pytest.approx(row[5]) for row in reader.counters(engine, run.id).rows()}
    assert counted == {key: fmean(values) for key, values in sums.items()}


def test_equal_counters_of_a_cell_are_counted_once_each(engine: Engine) -> None:
    text = TWO_VARIANTS.replace("[design]", "[design]\niterations = 3")
    run_plan = plan(parse(text, "f"), 1)
    run_id = begin(engine, run_plan, text)
    for trial in [trial for trial in run_plan.trials if trial.phase == "measure"][:3]:
        writer.record(engine, run_id, trial, Measurement("ok", 1.0, 1.0, counters={"forks": 7.0}))
    assert reader.counters(engine, run_id).select("counter", "value").rows() == [("forks", 7.0)]


def test_a_run_without_trials_has_no_samples(engine: Engine) -> None:
    run_id = begin(engine, plan(parse(TWO_VARIANTS, "f"), 1), TWO_VARIANTS)
    run = reader.run(engine, run_id)
    assert average_blocks(read_cells(engine, run)).is_empty()
    assert sample_table(engine, variants_of(run)).is_empty()
    assert reader.conditions(engine, run_id).is_empty()
    assert reader.counters(engine, run_id).is_empty()
    assert all(samples is None for row in columns(engine, variants_of(run)).rows for samples in row.samples)


def test_a_trial_that_is_added_while_cells_are_read_is_no_damage(engine: Engine) -> None:
    """The checksum of a cell covers rows of two tables, which two queries read."""
    text = TWO_VARIANTS.replace("[design]", "[design]\niterations = 3")
    run_plan = plan(parse(text, "f"), 1)
    run_id = begin(engine, run_plan, text)
    of_cell = [trial for trial in run_plan.trials if trial.phase == "measure"][:3]
    remaining = iter(of_cell)

    def add(*_: object) -> None:
        for trial in remaining:
            values = [Metric(MetricSpec("latency", "us", "lower"), 1.0)]
            writer.record(engine, run_id, trial, Measurement("ok", 1.0, 2.0, values))
            return

    add()
    run = reader.run(engine, run_id)

    queries: list[str] = []

    def meanwhile(connection: object, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("SELECT metric") and not queries:
            queries.append(statement)
            add()

    event.listen(engine, "after_cursor_execute", meanwhile)
    assert [cell.values.tolist() for cell in read_cells(engine, run)] == [[1.0]]
    assert [cell.values.tolist() for cell in read_cells(engine, run)] == [[1.0, 1.0]]

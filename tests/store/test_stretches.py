"""Trials are read stretch by stretch: whatever their order in the store is, nothing is lost, doubled or mixed up."""

from __future__ import annotations

import json
from collections import defaultdict
from random import Random
from statistics import fmean

import pytest
from sqlalchemy import Engine, insert, select

from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.store import figures as reader
from schedlab.store import reading, schema
from schedlab.store.columns import variants_of
from schedlab.store.gathering import gather
from schedlab.store.reading import Run
from schedlab.store.samples import long
from schedlab.store.stretches import LONG, Stretch, stretches
from tests.conftest import TWO_VARIANTS, begin

ORDER = ["block", "variant", "workload", "parameters", "metric"]


def filled(engine: Engine, iterations: int, seed: int, *, alone: bool = False) -> int:
    """A run whose trials lie in the store as badly as they can: failed ones, ones that were measured again, gaps, those
    of another run in between, a metric that the first trial lacks, one whose unit changes. ``alone``: without gaps or
    another run, and it is the first trials that were measured again."""
    text = TWO_VARIANTS.replace("blocks = 8", f"blocks = 3\niterations = {iterations}")
    made, chance = plan(parse(text, "f"), 1), Random(seed)
    run_id, other = begin(engine, made, text), begin(engine, made, text)
    trials, metrics = [], []

    def add(of: int, index: int, superseded: int) -> None:
        trial = made.trials[index]
        state = "failed" if chance.random() < 0.05 else "ok"
        key = (trials[-1]["id"] if trials else 40) + (1 if alone or chance.random() < 0.98 else 7)
        trials.append(
            {
                "id": key, "run_id": of, "position": index, "phase": trial.phase, "block": trial.block,
                "variant": trial.variant.name, "workload": trial.row.label, "parameters": trial.row.parameters_json,
                "iteration": trial.iteration, "state": state, "reason": "" if state == "ok" else "broke",
                "started": 1.0, "elapsed": chance.random(), "steal_percent": 100 * chance.random(), "mhz_min": index,
                "clocksource": "tsc", "superseded": superseded,
                "counters": json.dumps({"forks": chance.choice((3, 3, 3, 4)), "ms": chance.random()}),
            }
        )  # fmt: skip
        names = ["latency", *(["late"] if len(trials) > 30 else [])]
        for name in names:
            unit = "ms" if len(trials) % 11 == 0 else "us"
            metrics.append(
                {"trial_id": key, "name": name, "unit": unit, "direction": "lower", "value": chance.random()}
            )

    again = set(range(8) if alone else chance.sample(range(len(made.trials)), 9))
    for index in range(len(made.trials)):
        add(run_id, index, int(index in again))
        if not alone and chance.random() < 0.1:
            add(other, index, 0)
    for index in sorted(again):
        add(run_id, index, 0)
    with engine.begin() as connection:
        connection.execute(insert(schema.trial), trials)
        connection.execute(insert(schema.metric), metrics)
    return run_id


def analysed(engine: Engine, run_id: int) -> list[dict[str, object]]:
    """All figures that count, read line by line."""
    t, m = schema.trial.c, schema.metric.c
    query = select(schema.trial, m.name.label("metric"), m.unit, m.direction, m.value)
    query = query.join_from(schema.trial, schema.metric)
    query = query.where(t.run_id == run_id, t.phase == "measure", t.state == "ok", t.superseded == 0)
    with engine.connect() as connection:
        return [dict(row._mapping) for row in connection.execute(query.order_by(t.position, m.name))]


@pytest.fixture(params=[(1, 1), (4, 2), (60, 3)], ids=lambda given: f"{given[0]} iterations")
def run(request: pytest.FixtureRequest, engine: Engine) -> Run:
    return reading.run(engine, filled(engine, *request.param))


def test_every_trial_that_counts_is_in_one_stretch_and_no_other_is(engine: Engine, run: Run) -> None:
    t = schema.trial.c
    with engine.connect() as connection:
        query = select(t.id, t.position, t.iteration, t.variant, t.state, t.parameters)
        rows = connection.execute(query.where(t.run_id == run.id, t.superseded == 0)).all()
    held, numbers = stretches(engine, run.id), {row.id for row in rows}
    of = {number: one for one in held for number in range(one.first, one.last + 1) if number in numbers}
    assert of.keys() == numbers
    assert sum(one.first <= number <= one.last for one in held for number in numbers) == len(numbers)
    for row in rows:
        one = of[row.id]
        offset = row.id - one.first
        assert (one.position + offset, one.iteration + offset) == (row.position, row.iteration)
        assert (one.variant, one.state, one.parameters) == (row.variant, row.state, row.parameters)
    with engine.connect() as connection:
        others = set(connection.execute(select(t.id).where(t.run_id != run.id)).scalars())
    assert others
    assert not any(one.first <= number <= one.last for one in held for number in others)


def test_a_run_that_lies_alone_begins_with_the_first_trial_that_counts(engine: Engine) -> None:
    run_id = filled(engine, 4, 1, alone=True)
    with engine.connect() as connection:
        numbers = list(connection.execute(select(schema.trial.c.id).where(schema.current).order_by("id")).scalars())
    assert [n for one in stretches(engine, run_id) for n in range(one.first, one.last + 1)] == numbers


SIZES = {
    (0.1, 1 / 3, 6.4 - 2**-50, 0.0): True,
    (-1.7e308, 1.1e308): True,
    (5e-324, 1e-310): False,
    (0.1, 1e-3 / 3): False,
    (1.0, 1e9): False,
    (0.0, 0.01): False,
}
"""Figures that take turns in a stretch, and whether they can be joined: whether one power of two makes all whole."""


def test_figures_are_read_to_the_last_bit_whatever_their_size(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    held = [
        Stretch(100 * i, 100 * i + LONG - 1, 0, 0, "measure", i, "base", "w", "{}", "ok") for i in range(len(SIZES))
    ]
    values = [(one, n, sizes[n % len(sizes)]) for one, sizes in zip(held, SIZES, strict=True) for n in range(LONG)]
    lines = [
        {"trial_id": one.first + n, "name": name, "unit": "s", "direction": "lower", "value": value}
        for one, n, size in values
        for name, value in (("count", float(n)), ("time", size))
    ]
    by_row: list[Stretch] = []
    read = reader._rows
    monkeypatch.setattr(reader, "_rows", lambda c, held, kinds: by_row.extend(held) or read(c, held, kinds))
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        connection.execute(insert(schema.metric), lines)
        found = reader.figures(connection, held)
    assert [one.first for one in by_row] == [
        one.first for one, joined in zip(held, SIZES.values(), strict=True) if not joined
    ]
    told = zip(found.trial.tolist(), (found.kinds[kind].name for kind in found.kind), found.value.tolist(), strict=True)
    assert sorted(told) == [(line["trial_id"], line["name"], line["value"]) for line in lines]


def test_block_means_are_those_of_the_single_figures(engine: Engine, run: Run) -> None:
    cells = defaultdict(list)
    for line in analysed(engine, run.id):
        cells[tuple(line[name] for name in ORDER)].append((line["position"], line["value"]))
    expected = {
        key: (fmean(place for place, _ in held), fmean(value for _, value in held), len(held))
        for key, held in cells.items()
    }
    for frame in (reading.measurements(engine, run.id), gather(engine, run.id).means()):
        assert frame.columns == [*ORDER, "position", "value", "iterations"]
        assert frame.rows() == sorted(frame.rows())
        assert {row[:5]: pytest.approx(row[5:]) for row in frame.rows()} == expected


def test_samples_come_in_the_order_of_the_plan(engine: Engine, run: Run) -> None:
    held = analysed(engine, run.id)
    for variant in run.design.variants:
        rows = defaultdict(list)
        for line in held:
            if line["variant"] == variant:
                rows[line["workload"], line["parameters"], line["metric"]].append(line["value"])
        for gathered in (gather(engine, run.id), gather(engine, run.id, {variant})):
            assert {row: values.tolist() for row, values in gathered.samples(variant).items()} == rows


def test_long_has_every_figure_with_all_that_belongs_to_it(engine: Engine, run: Run) -> None:
    told = ("block", "position", "iteration", "workload", "parameters", "metric", "unit", "direction", "value")
    frame = long(engine, variants_of(run))
    for variant in run.design.variants:
        expected = [
            tuple(line[name] for name in told) for line in analysed(engine, run.id) if line["variant"] == variant
        ]
        assert frame.filter(frame["column"] == variant).select(told).rows() == expected
    assert set(frame["unit"]) == {"us", "ms"}


def test_conditions_counters_and_failures_are_those_of_the_single_trials(engine: Engine, run: Run) -> None:
    t = schema.trial.c
    with engine.connect() as connection:
        query = select(schema.trial).where(t.run_id == run.id, t.superseded == 0).order_by(t.position)
        trials = connection.execute(query).all()
    conditions = {row["variant"]: row for row in reading.conditions(engine, run.id).iter_rows(named=True)}
    for variant, row in conditions.items():
        own = [one for one in trials if one.variant == variant and one.phase == "measure"]
        seconds = sum(one.elapsed for one in own)
        assert row["seconds"] == pytest.approx(seconds)
        assert row["steal_percent"] == pytest.approx(sum(one.elapsed * one.steal_percent for one in own) / seconds)
        assert (row["steal_worst"], row["mhz_min"]) == (
            max(one.steal_percent for one in own), min(one.mhz_min for one in own),
        )  # fmt: skip
        assert (row["mhz_max"], row["other_percent"], row["clocksources"]) == (None, None, "tsc")
    assert conditions.keys() == set(run.design.variants)
    failed = [one.position for one in trials if one.state != "ok"]
    assert reading.failures(engine, run.id)["position"].to_list() == failed
    sums = defaultdict(list)
    for one in trials:
        if one.state == "ok" and one.phase == "measure":
            for name, value in json.loads(one.counters).items():
                sums[one.block, one.variant, one.workload, one.parameters, name].append(value)
    counted = {row[:5]: pytest.approx(row[5]) for row in reading.counters(engine, run.id).rows()}
    assert counted == {key: fmean(values) for key, values in sums.items()}


def test_a_run_without_trials_has_no_figures(engine: Engine) -> None:
    run_id = begin(engine, plan(parse(TWO_VARIANTS, "f"), 1), TWO_VARIANTS)
    assert stretches(engine, run_id) == []
    assert gather(engine, run_id).means().is_empty()
    assert reading.measurements(engine, run_id).is_empty()
    assert reading.conditions(engine, run_id).is_empty()

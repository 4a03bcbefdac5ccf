"""Figures of a guest with a real kernel beside published effects, from made-up runs."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from schedlab.analysis.distributions import CellSamples
from schedlab.experiment.load import load
from schedlab.experiment.plan import rows as rows_of
from schedlab.reproduction.counted import beside
from schedlab.reproduction.published import guest_file, names, report
from schedlab.reproduction.simulated import Comparison, Counted, Figures
from schedlab.results.instructions import per_unit, spec_of
from schedlab.results.kinds import DETERMINISTIC, INSTRUCTIONS, is_counted
from schedlab.workloads.registry import adapter

COLUMNS = ("block", "variant", "workload", "parameters", "counter", "value")
NO_COUNTERS = pl.DataFrame([], schema=COLUMNS, orient="row")


def cells(
    workload: str, metric: str, unit: str, blocks: dict[str, list[float]], **parameters: int
) -> list[CellSamples]:
    """Return a row of a run: one value for each block of each variant."""
    text = json.dumps(parameters)
    return [
        CellSamples(block, variant, workload, text, 0, metric, unit, "lower", np.array([value]))
        for variant, values in blocks.items()
        for block, value in enumerate(values, start=1)
    ]


def counters(workload: str, counter: str, blocks: dict[str, list[float]], **parameters: int) -> pl.DataFrame:
    """Return the counters of a row of a run."""
    lines = [
        (block, variant, workload, json.dumps(parameters), counter, value)
        for variant, values in blocks.items()
        for block, value in enumerate(values, start=1)
    ]
    return pl.DataFrame(lines, schema=COLUMNS, orient="row")


def place(effects: list[Comparison], title: str, at: object, column: int = 1) -> tuple[Counted, ...]:
    (each,) = (each for each in effects if (each.table.title, each.row.at, each.column) == (title, at, column))
    return each.counted


def test_times_are_gains_in_instructions_over_the_random_seeds() -> None:
    run = cells("pipetest", "usecs-per-op", "instructions", {"on": [15000, 15100], "off": [14700, 14798]})
    effects = beside(Figures({}).comparisons(report("schedstats")), run, NO_COUNTERS)
    (figures,) = place(effects, "pipetest, 48 CPUs: mean", "mean")
    assert (figures.figure, figures.before, figures.after) == ("instructions", 15050, 14749)
    assert figures.effect is not None
    assert [figures.effect.gain, figures.effect.error] == pytest.approx([2.0, 0.0])
    assert [each for each in effects if each.counted] == [
        each for each in effects if each.table.metric == "usecs-per-op"
    ]


def test_a_rate_becomes_instructions_for_its_unit_in_its_row() -> None:
    run = cells("tbench", "throughput", "MB/s", {"on": [12.5], "off": [15.625]}, clients=8)
    effects = beside(Figures({}).comparisons(report("schedstats")), run, NO_COUNTERS)
    (figures,) = place(effects, "tbench4, 48 CPUs, 1 to 32 clients", 8)
    assert (figures.figure, figures.before, figures.after) == ("instructions/MB", 10e6, 8e6)
    assert figures.effect is not None
    assert figures.effect.gain == pytest.approx(20.0)
    assert place(effects, "tbench4, 48 CPUs, 1 to 32 clients", 16) == ()
    assert place(effects, "netperf TCP_STREAM, 48 CPUs", 64) == ()


def test_counts_of_events_have_no_gain_and_may_be_zero() -> None:
    blocks = {"-NUMA": [0.0, 0.0], "no slow start": [500.0, 700.0], "1 s slow start": [0.0, 0.0]}
    frame = counters("messaging", "vmstat.numa_pte_updates", blocks)
    effects = beside(Figures({}).comparisons(report("numa-slow-start")), [], frame)
    title = "perf bench sched messaging"
    assert place(effects, title, "elapsed") == (Counted("vmstat.numa_pte_updates", 0, 600, None),)
    assert place(effects, title, "elapsed", 2) == (Counted("vmstat.numa_pte_updates", 0, 0, None),)


def test_instructions_in_a_second_remain() -> None:
    run = cells("busyloop", "lost", "instructions/s", {"periodic": [745e3], "shepherd": [737e3]})
    effects = beside(Figures({}).comparisons(report("vmstat")), run, NO_COUNTERS)
    (figures,) = place(effects, "worst gap of a loop on an isolated CPU", "worst")
    assert figures == Counted("lost", 745e3, 737e3, None)


def test_two_tables_of_one_workload_have_rows_of_their_own_in_the_guest() -> None:
    blocks = {"500000": [10.0], "100000": [20.0]}
    frames = [counters(label, "cpu-migrations", blocks, clients=8) for label in ("pgbench", "pgbench-one-thread")]
    for frame, title in zip(frames, ("Kunpeng 920", "Raspberry Pi 4B"), strict=True):
        effects = beside(Figures({}).comparisons(report("migration-cost")), [], frame)
        counted = {each.table.title for each in effects if each.counted}
        assert counted == {f"pgbench, read-only, {title}"}


def test_the_rate_of_a_guest_that_never_idles_is_its_clock_s_instructions() -> None:
    assert per_unit(np.array([1.0, 125e6])).tolist() == [125e6, 1.0]


@pytest.mark.parametrize("name", names())
def test_every_counted_table_has_rows_variants_and_units_in_the_guest_s_experiment(name: str) -> None:
    tables = [table for table in report(name).table if table.counted]
    file = guest_file(name)
    assert bool(tables) == (file is not None)
    if file is None:
        return
    experiment, _ = load(file)
    assert experiment.target.deterministic
    for quick in (False, True):
        used = set()
        for table in tables:
            assert {variant.name for variant in experiment.variant} >= set(table.variants)
            label = table.guest_workload or table.workload
            of_workload = [row for row in rows_of(experiment, quick=quick) if row.label == label]
            used.add(label)
            counted = {row.parameters.get(table.parameter) if table.parameter else None for row in of_workload}
            assert counted & ({row.at for row in table.rows} if table.parameter else {None})
            (spec,) = (spec for spec in adapter(of_workload[0].use).metrics if spec.name == table.metric)
            unit = spec_of(spec, DETERMINISTIC).unit
            allowed = unit if is_counted(unit) else f"{INSTRUCTIONS}/{unit.removesuffix('/s')}"
            assert {figure for figure in table.counted if is_counted(figure)} <= {allowed}
        assert used == {row.label for row in rows_of(experiment, quick=quick)}

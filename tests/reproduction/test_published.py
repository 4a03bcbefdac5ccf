"""The published figures: their gains, their noise, and the experiments that simulate them."""

from __future__ import annotations

import tomllib
from math import sqrt

import pytest
from pydantic import ValidationError

from schedlab.errors import SchedlabError
from schedlab.experiment.load import load
from schedlab.experiment.plan import rows as rows_of
from schedlab.reproduction.published import (
    Check,
    PublishedReport,
    PublishedTable,
    Row,
    effect,
    experiment_file,
    name_of,
    names,
    report,
)
from schedlab.workloads.perf_bench.adapter import MAIN_MEMORY
from schedlab.workloads.registry import adapter

PRINTED = [
    ("schedstats", "netperf TCP_STREAM, 48 CPUs", 64, "nostats-v2r2", 2.94),
    ("schedstats", "netperf TCP_STREAM, 48 CPUs", 16384, "nostats-v2r2", 0.28),
    ("schedstats", "tbench4, 48 CPUs, 512 to 3072 clients", 3072, "nostats-v2r2", 1.87),
    ("schedstats", "tbench4, 8 CPUs, 1 to 32 clients", 2, "nostats-v2r2", -0.29),
    ("schedstats", "hackbench-pipes, 48 CPUs, 1 to 48 groups", 7, "nostats-v2r2", -2.38),
    ("schedstats", "pipetest, 48 CPUs: mean", "mean", "nostats-v2r2", 1.91),
    ("migration-cost", "pgbench, read-only, Kunpeng 920", 144, "mig-cost-10000", -14.99),
    ("migration-cost", "pgbench, read-only, Kunpeng 920", 256, "mig-cost-1000000", 5.29),
    ("migration-cost", "tbench, Kunpeng 920", 128, "mig-cost-100000", 46.94),
    ("migration-cost", "pgbench, read-only, Raspberry Pi 4B", 1, "mig-cost-100000", 108.56),
]
"""Gains in per cent that the reports print in addition to the figures."""


def table_of(name: str, title: str) -> PublishedTable:
    (table,) = (table for table in report(name).table if table.title == title)
    return table


@pytest.mark.parametrize(("name", "title", "at", "column", "gain"), PRINTED)
def test_gains_equal_the_printed_gains(name: str, title: str, at: object, column: str, gain: float) -> None:
    table = table_of(name, title)
    (row,) = (row for row in table.rows if row.at == at)
    computed = effect(table, row, table.columns.index(column), 0).gain
    # A report computes a gain from figures with more digits than the printed figures.
    assert computed == pytest.approx(gain, abs=0.11)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_row_has_its_workload_variants_and_parameter_in_its_experiment(name: str) -> None:
    for table in report(name).table:
        experiment, _ = load(experiment_file(name, table.experiment))
        assert set(table.variants) <= {variant.name for variant in experiment.variant}
        of_workload = [row for row in rows_of(experiment, quick=False) if row.label == table.workload]
        metrics = {spec.name for row in of_workload for spec in adapter(row.use).metrics}
        assert table.metric in metrics | {"sim.balance_pass_ns"}
        simulated = {row.parameters.get(table.parameter) for row in of_workload}
        if table.parameter:
            assert {row.at for row in table.rows} <= simulated
        else:
            assert len(of_workload) == len(table.rows) == 1


def test_a_report_is_named_by_its_name_or_its_number() -> None:
    assert [name_of(report(name).number) for name in names()] == names()
    assert [report(name).number for name in names()] == ["000", "001", "002", "003", "004"]
    with pytest.raises(SchedlabError, match="there is no report '005'"):
        name_of("005")


def made(noise: str, row: Row, **other: object) -> PublishedTable:
    fields: dict[str, object] = {
        "title": "t", "experiment": "e", "workload": "w", "parameter": "", "metric": "m", "unit": "s",
        "better": "lower", "columns": ["a", "b"], "variants": ["a", "b"], "noise": noise, "rows": [row],
    }  # fmt: skip
    return PublishedTable.model_validate(fields | other)


def test_stars_decide_whether_an_effect_counts() -> None:
    for star in (True, False):
        row = Row(at=1, values=[[10.0], [9.0]], stars=[star])
        figures = effect(made("stars", row), row, 1, 0)
        assert (figures.gain, figures.significant, figures.error) == (pytest.approx(10.0), star, None)


@pytest.mark.parametrize(("after", "significant"), [(99.1, False), (98.9, True), (101.1, True)])
def test_without_a_printed_noise_an_effect_counts_beyond_one_per_cent(after: float, significant: bool) -> None:
    row = Row(at=1, values=[[100.0], [after]])
    assert effect(made("assumed", row), row, 1, 0).significant is significant
    assert effect(made("all", row), row, 1, 0).significant is False


def test_standard_errors_of_several_runs_are_combined() -> None:
    row = Row(at=1, values=[[100.0, 100.0], [97.0]], errors=[[1.0, 1.0], [0.5]])
    figures = effect(made("errors", row), row, 1, 0)
    assert figures.error == pytest.approx(sqrt(2 * 1.0**2 / 4 + 0.5**2))
    assert figures.significant  # 3 points at a standard error of 0.87, beyond 1.96 standard errors
    row = Row(at=1, values=[[100.0], [98.5]], errors=[[0.8], [0.5]])
    assert not effect(made("errors", row), row, 1, 0).significant


def test_repeated_runs_are_pooled_over_the_row() -> None:
    columns = {"columns": ["a", "b", "c"], "variants": ["a", "b", "c"], "steps": True}
    row = Row(at=1, values=[[100.0], [98.0, 98.2], [90.0, 90.4]])
    table = made("runs", row, **columns)
    # Deviations of 0.14 and 0.31 per cent: pooled 0.24 with two degrees of freedom, where t is 4.30.
    step = effect(table, row, 2, 1)
    assert step.error == pytest.approx(0.244, abs=0.005)
    assert step.significant
    small = Row(at=1, values=[[100.0], [98.0, 98.2], [97.8, 98.2]])
    assert not effect(made("runs", small, **columns), small, 2, 1).significant
    single = Row(at=1, values=[[100.0], [50.0], [40.0]])
    assert not effect(made("runs", single, **columns), single, 1, 0).significant


@pytest.mark.parametrize(
    ("noise", "row"),
    [
        ("runs", Row(at=1, values=[[1.0], [1.0], [1.0]])),
        ("stars", Row(at=1, values=[[1.0], [1.0]])),
        ("stars", Row(at=1, values=[[1.0], [1.0]], stars=[True, True])),
        ("runs", Row(at=1, values=[[1.0], [1.0]], errors=[[1.0], [1.0]])),
    ],
)
def test_a_table_whose_parts_do_not_fit_is_refused(noise: str, row: Row) -> None:
    with pytest.raises(ValidationError):
        made(noise, row)


def test_a_headline_that_selects_no_row_is_refused() -> None:
    fields = report("schedstats").model_dump(by_alias=True)
    for check in ({"gain": [0, 1]}, {"rising": [0, 1]}):
        fields["headline"] = [{"text": "nothing", "checks": [{"table": "tbench5", **check}]}]
        with pytest.raises(ValidationError, match="no row of 'tbench5' is selected"):
            PublishedReport.model_validate(fields)


def test_a_table_of_one_column_has_levels_and_no_effects() -> None:
    fields = report("migration-cost").model_dump(by_alias=True)
    (table,) = (table for table in report("migration-cost").table if len(table.columns) == 1)
    assert not table.pairs
    fields["headline"] = [{"text": "no effect", "checks": [{"table": table.title, "gain": [0, 1]}]}]
    with pytest.raises(ValidationError, match="no row of 'load_balance"):
        PublishedReport.model_validate(fields)


def test_a_check_has_either_bounds_of_gains_or_of_factors() -> None:
    with pytest.raises(ValidationError, match="needs exactly one of gain, factor and rising"):
        Check.model_validate({"table": "t"})
    with pytest.raises(ValidationError, match="needs exactly one of gain, factor and rising"):
        Check.model_validate({"table": "t", "gain": [0, 1], "factor": [1, 2]})


@pytest.mark.parametrize("end", ["from", "to"])
def test_a_check_with_one_end_of_a_range_of_rows_is_refused(end: str) -> None:
    with pytest.raises(ValidationError, match="only one of from and to"):
        Check.model_validate({"table": "t", "gain": [0, 1], end: 1})


@pytest.mark.parametrize("experiment", ["xeon-x5650", "guest"])
def test_messaging_has_the_memory_of_perf(experiment: str) -> None:
    text = experiment_file("numa-slow-start", experiment).read_text()
    messaging = next(each for each in tomllib.loads(text)["workload"] if each["label"] == "messaging")
    assert {name: messaging[name] for name in MAIN_MEMORY} == MAIN_MEMORY

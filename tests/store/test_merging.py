"""Runs are copied between stores without loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select, update

from schedlab.errors import StoreError
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.findings.run import findings
from schedlab.report.build import build
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric, MetricSpec
from schedlab.store import reader, schema
from schedlab.store.checksums import Damaged
from schedlab.store.file import open_store
from schedlab.store.merging import copy_runs, is_store
from schedlab.store.schema import store_in_memory
from schedlab.targets.scripted import Scripted
from tests.conftest import (
    DATABASES,  # noqa: F401 - each test runs with each database
    TWO_VARIANTS,
    begin,
)
from tests.report.rendering import to_json

pytestmark = pytest.mark.slow

TEXT = TWO_VARIANTS.replace("blocks = 8", "blocks = 3")


def recorded(engine: Engine, values: list[float]) -> int:
    """Record a run whose trials have these values in turn, with samples, counters, outputs and a failure."""

    def script(trial: Trial) -> Measurement:
        value = values[trial.index % len(values)]
        if trial.index == 7:
            return Measurement("failed", 7.0, 1.0, reason="no processes", stderr="fork: EAGAIN")
        metric = Metric(MetricSpec("time", "s", "lower"), value, [value, value / 3])
        return Measurement("ok", float(trial.index), 0.1, [metric], counters={"switches": value}, stdout=str(value))

    run_plan = plan(parse(TEXT, "test.toml"), 1)
    run_id = begin(engine, run_plan, TEXT)
    execute(run_plan, Scripted(script), engine, run_id, lambda *_: None)
    return run_id


def everything(engine: Engine, run_id: int) -> list[object]:
    """Return all that readers give of a run, without its number."""
    report = build(findings(engine, run_id)).model_dump(exclude={"run", "runs", "columns"})
    frames = [reader.counters(engine, run_id), reader.conditions(engine, run_id), reader.failures(engine, run_id)]
    texts = [text.replace(f"run {run_id}", "run") for text in reader.failed_outputs(engine, run_id)]
    return [report, *(frame.to_dicts() for frame in frames), texts]


@settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=9))
def test_a_copy_has_the_same_verdicts_and_figures_field_by_field(values: list[float]) -> None:
    source, target = store_in_memory(), store_in_memory()
    recorded(target, [1.0])
    before = recorded(source, values)
    (copied,) = copy_runs(source, target)
    assert (copied.before, copied.number, copied.is_new) == (1, 2, True)
    assert repr(everything(target, copied.number)) == repr(everything(source, before))
    with source.connect() as origin, target.connect() as destination:
        for table in (schema.trial, schema.samples, schema.output):
            count = select(func.count()).select_from(table)
            assert destination.execute(count).scalar_one() == 2 * origin.execute(count).scalar_one()


def test_a_run_that_is_there_already_is_recognised(engine: Engine, tmp_path: Path) -> None:
    recorded(engine, [1.0, 2.0])
    other = open_store(tmp_path / "other.sqlite", create=True)
    assert [run.is_new for run in copy_runs(engine, other)] == [True]
    assert [(run.number, run.is_new) for run in copy_runs(engine, other)] == [(1, False)]
    assert len(reader.runs(other)) == 1


def test_a_damaged_run_stops_the_copy_of_all_runs(engine: Engine) -> None:
    recorded(engine, [1.0])
    recorded(engine, [2.0])
    with engine.begin() as connection:
        connection.execute(update(schema.trial).where(schema.trial.c.id == 40).values(reason="changed"))
    target = store_in_memory()
    with pytest.raises(Damaged):
        copy_runs(engine, target)
    assert reader.runs(target) == []


def test_a_running_run_is_refused(engine: Engine) -> None:
    begin(engine, plan(parse(TEXT, "test.toml"), 1), TEXT)
    with pytest.raises(StoreError, match="run 1 is running"):
        copy_runs(engine, store_in_memory())


def test_only_a_database_is_a_store(tmp_path: Path) -> None:
    open_store(tmp_path / "store.sqlite", create=True).dispose()
    (tmp_path / "text").write_text("SQLite\n")
    assert is_store(tmp_path / "store.sqlite")
    assert not is_store(tmp_path / "text")
    assert not is_store(tmp_path)


def test_the_json_report_of_a_copy_differs_in_nothing_but_its_number(engine: Engine) -> None:
    recorded(engine, [1.0, 1.1, 0.9])
    target = store_in_memory()
    copy_runs(engine, target)
    assert to_json(build(findings(target, 1))) == to_json(build(findings(engine, 1)))

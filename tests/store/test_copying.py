"""A whole store is verified row by row, and copied with its numbers into an empty store of any database."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete, insert, select, update

from schedlab.errors import StoreError
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.findings.run import findings
from schedlab.report.build import build
from schedlab.results.imported import Import
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric, MetricSpec
from schedlab.store import campaigns, reader, schema, writer
from schedlab.store.campaigns import Campaign
from schedlab.store.checking import check
from schedlab.store.checksums import sealed
from schedlab.store.copying import copy_store
from schedlab.store.file import open_store
from schedlab.store.imports import record_imports
from schedlab.store.location import location
from tests.cli.in_process import runner
from tests.conftest import (
    DATABASES,  # noqa: F401 - each test runs with each database
    TWO_VARIANTS,
    begin,
)
from tests.postgres_server import Server
from tests.report.rendering import to_json
from tests.store.test_imports import TABLE, TREE

pytestmark = pytest.mark.slow

PLAN = plan(parse(TWO_VARIANTS.replace("blocks = 8", "blocks = 3"), "f"), 1)
TIME = MetricSpec("time", "s", "lower")
CAMPAIGN = Campaign("search", 0.05, 0.01, 4, "text", "file.toml")


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """A store with a deleted run 1, a measured run 2, imported runs 3 to 5, and a campaign with a candidate."""
    for _ in range(2):
        run_id = begin(engine, PLAN)
        for trial in PLAN.trials:
            good = Measurement("ok", 1.0, 2.0, [Metric(TIME, 1.0 + trial.index / 7, [0.5, trial.index / 3])])
            failed = Measurement("failed", 1.0, 2.0, reason="broke", stdout="text")
            writer.record(engine, run_id, trial, failed if trial.index == 9 else good)
        writer.end(engine, run_id, "complete")
    assert record_imports(engine, [TREE, Import("mail", "mail.txt", tables=(TABLE,))]) == [3, 4, 5]
    number = campaigns.open_campaign(engine, CAMPAIGN)
    asked = campaigns.candidate(engine, number, "content", "name")
    campaigns.set_run(engine, asked.id, 2, "run_id")
    with engine.begin() as connection:
        for table in (schema.samples, schema.output):
            of_run = select(schema.trial.c.id).join(schema.cell).where(schema.cell.c.run_id == 1)
            connection.execute(delete(table).where(table.c.trial_id.in_(of_run)))
        of_run = select(schema.cell.c.id).where(schema.cell.c.run_id == 1)
        for table in (schema.trial, schema.metric):
            connection.execute(delete(table).where(table.c.cell_id.in_(of_run)))
        connection.execute(delete(schema.cell).where(schema.cell.c.run_id == 1))
        connection.execute(delete(schema.run).where(schema.run.c.id == 1))
    return engine


@pytest.fixture
def target(engine: Engine, postgres: Server, tmp_path: Path) -> Engine:
    """An empty store in the other database."""
    if engine.dialect.name == "sqlite":
        return open_store(location(postgres.new()), create=True)
    return open_store(tmp_path / "target.sqlite", create=True)


def contents(engine: Engine) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of all tables, sorted."""
    with engine.connect() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for table in schema.metadata.sorted_tables
            if table.name != "schedlab_store"
        }


def report(engine: Engine) -> str:
    return to_json(build(findings(engine, reader.run(engine, 2))))


def test_a_copy_has_every_row_of_the_store_and_the_same_report(filled: Engine, target: Engine) -> None:
    copied = copy_store(filled, target)
    assert (copied.runs, copied.campaigns, copied.left_out) == (4, 1, {})
    assert contents(target) == contents(filled)
    assert report(target) == report(filled)
    assert check(target).faults == []
    assert begin(target, PLAN) == 6, "a new run gets the next number"
    assert campaigns.open_campaign(target, CAMPAIGN) == 2


def test_a_store_with_runs_is_not_copied_into(filled: Engine, target: Engine) -> None:
    begin(target, PLAN)
    before = contents(target)
    with pytest.raises(StoreError, match=r"contains a run already\n.*schedlab store merge"):
        copy_store(filled, target)
    assert contents(target) == before


def test_a_running_run_is_not_copied(filled: Engine, target: Engine) -> None:
    run_id = begin(filled, PLAN)
    with pytest.raises(StoreError, match=f"run {run_id} is running"):
        copy_store(filled, target)
    assert not any(contents(target).values()), "nothing is copied"


def damage_output(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(update(schema.output).where(schema.output.c.stdout == "text").values(stdout="texts"))


def damage_cell(engine: Engine) -> None:
    with engine.begin() as connection:
        metric = connection.execute(select(schema.metric).join(schema.cell).where(schema.cell.c.run_id == 2)).first()
        assert metric is not None
        where = (schema.metric.c.cell_id == metric.cell_id, schema.metric.c.name == metric.name)
        connection.execute(update(schema.metric).where(*where).values(data=b"\x01" + metric.data[1:]))


def damage_sample(engine: Engine) -> None:
    s = schema.samples.c
    with engine.begin() as connection:
        of_run = schema.samples.join(schema.trial).join(schema.cell)
        first = select(s.trial_id).select_from(of_run).where(schema.cell.c.run_id == 2).limit(1)
        connection.execute(update(schema.samples).where(s.trial_id == first.scalar_subquery()).values(count=77))


def damage_run(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(update(schema.run).where(schema.run.c.id == 2).values(name="other"))


def lose_trial(engine: Engine) -> None:
    t = schema.trial.c
    with engine.begin() as connection:
        failed = connection.execute(select(t.id).where(t.state == "failed")).scalar_one()
        connection.execute(delete(schema.output).where(schema.output.c.trial_id == failed))
        connection.execute(delete(schema.trial).where(t.id == failed))


@pytest.mark.parametrize("damage", [damage_output, damage_cell, damage_sample, damage_run, lose_trial])
def test_damage_is_found_with_its_run_and_the_other_runs_are_copied(
    filled: Engine, target: Engine, damage: Callable[[Engine], None]
) -> None:
    assert check(filled).faults == []
    damage(filled)
    assert check(filled).damaged_runs == [2]
    with pytest.raises(StoreError, match="run 2"):
        copy_store(filled, target)
    assert not any(contents(target).values()), "nothing is copied"
    copied = copy_store(filled, target, skip_damaged=True)
    assert list(copied.left_out) == [2]
    assert [run.id for run in reader.runs(target)] == [5, 4, 3]
    assert [each.run_id for each in campaigns.candidates(target, 1)] == [None]
    assert check(target).faults == []


def test_damage_outside_runs_is_found(filled: Engine) -> None:
    with filled.begin() as connection:
        connection.execute(update(schema.campaign).values(alpha=0.5))
    expected = ["campaign 1 is damaged: the checksum does not match"]
    if filled.dialect.name == "sqlite":  # PostgreSQL always enforces references
        row = {"trial_id": 99_999, "command": "", "stdout": "", "stderr": ""}
        with filled.connect() as connection:
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            connection.execute(insert(schema.output), sealed("output", row))
            connection.commit()
        expected.append("rows of output without their trial: 1")
    assert [what for _, what in check(filled).faults] == expected


def test_the_commands_print_facts_faults_and_copies(
    filled: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab, name, copy = runner(monkeypatch, capsys), str(filled.url.database), tmp_path / "copy.sqlite"
    facts = json.loads(schedlab("store", "info", "--store", name, "--format", "json").out)
    assert (facts["runs"], facts["damaged"], facts["campaigns"], facts["store"]) == (4, 0, 1, name)
    assert (facts["rights"], facts["version"]) == ("owner", 5)
    assert facts["database"].split()[0].lower() in ("sqlite", "postgresql")
    assert schedlab("store", "info", "--store", name).code == 0
    assert schedlab("store", "check", "--store", name).out.startswith("verified: 4 runs, ")
    assert schedlab("store", "copy", name, copy).out.startswith("copied: 4 runs, ")
    assert "contains a run already" in schedlab("store", "copy", name, copy).err
    assert "copied to itself" in schedlab("store", "copy", copy, copy).err
    damage_run(filled)
    done = schedlab("store", "check", "--store", name)
    assert (done.code, "damaged: run 2 is damaged" in done.out, "1 fault in 1 run" in done.err) == (2, True, True)
    faults = json.loads(schedlab("store", "check", "--store", name, "--format", "json").out)["faults"]
    assert [fault["run"] for fault in faults] == [2]
    done = schedlab("store", "copy", name, tmp_path / "rest.sqlite", "--skip-damaged", "--format", "json")
    assert [each["run"] for each in json.loads(done.out)["left_out"]] == [2]

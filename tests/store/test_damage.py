"""A stored value that changed is reported with its run and trial and never shown; all other values can be read."""

from __future__ import annotations

import sqlite3
import tracemalloc
import zlib
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from shutil import copyfile

import numpy as np
import pytest
from sqlalchemy import Engine, Table, func, select, update

from schedlab.errors import SchedlabError
from schedlab.execution.estimate import estimate
from schedlab.execution.sample_size import sizing
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.findings.comparison import compare
from schedlab.findings.run import counter_changes, findings
from schedlab.report import data
from schedlab.report.build import build
from schedlab.results.imported import Import
from schedlab.results.measurement import Conditions, Measurement
from schedlab.results.metrics import Metric, MetricSpec
from schedlab.store import reader, schema, selection, writer
from schedlab.store.campaigns import Campaign, campaign, candidate, candidates, open_campaign, set_run
from schedlab.store.checksums import Damaged, checksum
from schedlab.store.columns import columns, sample_table, variants_of
from schedlab.store.file import open_store
from schedlab.store.imports import record_imports
from tests.cli.in_process import runner
from tests.conftest import TWO_VARIANTS, begin
from tests.report.rendering import to_json, to_text
from tests.store.test_imports import TABLE, TREE

pytestmark = pytest.mark.slow

PLAN = plan(parse(TWO_VARIANTS.replace("blocks = 8", "blocks = 3\niterations = 2"), "f"), 1)
FAILED = 30
TIME = MetricSpec("time", "s", "lower")
MEASURED, COLUMN, PRINTED = 1, 2, 4
"""Runs of the store: a measured run, two imported columns, and imported tables."""


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a measured run, imported samples, imported tables, and a campaign with a candidate."""
    path = tmp_path_factory.mktemp("damage") / "intact.sqlite"
    engine = open_store(path, create=True)
    assert begin(engine, PLAN) == MEASURED
    for trial in PLAN.trials:
        metrics = [Metric(TIME, 1.0 + trial.index % 7 / 100)]
        measurement = Measurement(
            "ok", 100.0 + trial.index, 0.5, metrics, "", Conditions(0.5, 1.0, 2.0, 1000, 2000, "tsc")
        )
        if trial.index == FAILED:
            measurement = Measurement("failed", 1.0, 0.5, reason="broke", counters={"forks": 1}, stdout="printed")
        writer.record(engine, MEASURED, trial, measurement)
    writer.end(engine, MEASURED, "complete")
    assert record_imports(engine, [TREE, Import("mail", "mail.txt", tables=(TABLE,))]) == [2, 3, PRINTED]
    number = open_campaign(engine, Campaign("tuning", 0.05, 0.01, 8, TWO_VARIANTS, "test.toml"))
    set_run(engine, candidate(engine, number, "0" * 64, "changed").id, MEASURED, "run_id")
    engine.dispose()
    return path


@pytest.fixture
def path(intact: Path, tmp_path: Path) -> Path:
    """A copy of the store."""
    return Path(copyfile(intact, tmp_path / "store.sqlite"))


def show(engine: Engine, run_id: int) -> None:
    """Make all views of a run that commands show."""
    run = reader.run(engine, run_id)
    judged = findings(engine, run)
    report = build(judged)
    to_text(report, 80)
    to_json(report)
    data.to_csv(report)
    counter_changes(engine, judged)
    list(reader.failed_outputs(engine, run_id))
    sample_table(engine, variants_of(run))
    columns(engine, variants_of(run))
    if run.design.paired:
        compare(engine, selection.select(engine, f"{run_id}:base") + selection.select(engine, f"{run_id}:changed"))
        with suppress(SchedlabError):
            sizing(PLAN, engine, run_id, 0.01, 0.8)
    estimate(PLAN, engine, "scripted")


def test_the_intact_store_is_shown(path: Path) -> None:
    engine = open_store(path, create=False)
    for run in reader.runs(engine):
        show(engine, run.id)


def flipped(value: object, chance: Random) -> object:
    """Return the value with another bit."""
    if isinstance(value, str):
        # Another character of the same length keeps the text readable.
        at = chance.randrange(len(value))
        return value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1 :]
    if isinstance(value, bytes | float):
        content = bytearray(value if isinstance(value, bytes) else np.float64(value).tobytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        return bytes(content) if isinstance(value, bytes) else float(np.frombuffer(content, "<f8")[0])
    assert isinstance(value, int)
    return value ^ (1 << chance.randrange(4, 16))


@pytest.mark.parametrize("column", ["data", "conditions", "checksums", "parameters", "variant", "block", "position"])
def test_a_flipped_bit_of_a_figure_is_reported_with_its_trial(path: Path, column: str) -> None:
    engine, chance = open_store(path, create=False), Random(column)
    table = schema.metric if column == "data" else schema.cell
    number = schema.metric.c.cell_id if column == "data" else schema.cell.c.id
    for _ in range(20):
        cell_id = chance.randrange(1, len(PLAN.trials) // 2)
        where = number == cell_id
        with engine.begin() as connection:
            before = connection.execute(select(table.c[column]).where(where)).scalar()
            if before is None:  # a cell without a metric
                continue
            positions = connection.execute(select(schema.trial.c.position).where(schema.trial.c.cell_id == cell_id))
            trials = [str(position) for position in positions.scalars()]
            connection.execute(update(table).where(where).values({column: flipped(before, chance)}))
        with pytest.raises(Damaged, match=rf"run 1: trials? .*\b({'|'.join(trials)})\b.* (is|are) damaged") as caught:
            findings(engine, MEASURED)
        if column in ("data", "conditions", "checksums"):
            assert sum(f"trial {trial} " in caught.value.what for trial in trials) == 1
        with engine.begin() as connection:
            connection.execute(update(table).where(where).values({column: before}))
    findings(engine, MEASURED)


@pytest.mark.parametrize("column", ["position", "iteration", "started", "state", "reason", "counters", "checksum"])
def test_a_flipped_bit_of_a_trial_s_row_is_reported(path: Path, column: str) -> None:
    engine, chance = open_store(path, create=False), Random(column)
    for _ in range(10):
        trial_id = FAILED + 1 if column == "reason" else chance.randrange(1, len(PLAN.trials))
        where = schema.trial.c.id == trial_id
        with engine.begin() as connection:
            before = connection.execute(select(schema.trial.c[column]).where(where)).scalar_one()
            connection.execute(update(schema.trial).where(where).values({column: flipped(before, chance)}))
        with pytest.raises(Damaged, match=r"run 1: trial -?\d+ is damaged"):
            findings(engine, MEASURED)
        with engine.begin() as connection:
            connection.execute(update(schema.trial).where(where).values({column: before}))


@pytest.mark.parametrize(
    ("table", "column", "run_id", "words"),
    [
        (schema.samples, "data", COLUMN, "run 2: sample array of trial 0 is damaged"),
        (schema.printed, "body", PRINTED, "run 4: printed table 0 is damaged"),
        (schema.run, "design", MEASURED, "run 1 is damaged"),
        (schema.run, "notes", MEASURED, "run 1 is damaged"),
        (schema.output, "stdout", MEASURED, "run 1: output of trial 30 is damaged"),
    ],
)
def test_a_flipped_bit_elsewhere_is_reported(path: Path, table: Table, column: str, run_id: int, words: str) -> None:
    engine, chance = open_store(path, create=False), Random(1)
    key = {"samples": "trial_id", "output": "trial_id", "printed": "run_id", "run": "id"}[table.name]
    query = select(table.c[key], table.c[column]).order_by(table.c[key]).where(func.length(table.c[column]) > 0)
    with engine.begin() as connection:
        number, before = connection.execute(query).first() or (0, "")
        connection.execute(update(table).where(table.c[key] == number).values({column: flipped(before, chance)}))
    with pytest.raises(Damaged, match=words):
        show(engine, run_id)


@pytest.mark.parametrize("count", [0, 3, 2_000_000, 2**62, -1])
def test_an_array_of_more_samples_than_its_count_is_not_unpacked(
    path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr("schedlab.store.cells.MOST_SAMPLES", 1_000_000)
    bomb = zlib.compress(bytes(64 << 20), 1)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE samples SET count = ?, data = ? WHERE rowid = 1", (count, bomb))
        seal(connection, "samples")
    engine = open_store(path, create=False)
    tracemalloc.start()
    try:
        with pytest.raises(Damaged, match=f"run {COLUMN}: sample array of trial 0 is damaged"):
            show(engine, COLUMN)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_the_arrays_of_a_run_have_one_limit_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_store(path, create=False)
    total = sum(len(series.values) for series in TREE.series if series.column == TREE.columns[0])
    monkeypatch.setattr("schedlab.store.cells.MOST_SAMPLES", total)
    show(engine, COLUMN)
    monkeypatch.setattr("schedlab.store.cells.MOST_SAMPLES", total - 1)
    with pytest.raises(Damaged, match=f"run {COLUMN}: sample array of trial [0-9]+ is damaged: its count is"):
        show(engine, COLUMN)


def test_a_damaged_run_is_listed_with_its_reason_and_other_runs_work(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE run SET design = '{' WHERE id = 1")
    schedlab = runner(monkeypatch, capsys)
    listed = schedlab("store", "list", "--store", path)
    assert listed.code == 0
    assert "damaged: run 1 is damaged: the checksum does not match" in listed.out
    assert ["1", "-", "damaged"] in [line.split()[:3] for line in listed.out.splitlines()]
    assert schedlab("report", "2", "--store", path).code == 0
    for words in (["report", "1"], ["store", "show", 1, "--file"], ["compare", "1", "2"]):
        refused = schedlab(*words, "--store", path)
        assert (refused.code, "run 1 is damaged" in refused.err) == (2, True)


VALUES = (None, "text", "[" * 5000, '{"a": 1}', -1, 2**62, float("inf"), b"\xff" * 17)


FIELDS = [(table.name, column.name) for table in schema.metadata.sorted_tables for column in table.columns]


def seal(connection: sqlite3.Connection, name: str) -> None:
    """Give rows of a table the checksums of their values, as a faulty writer would."""
    connection.row_factory = sqlite3.Row
    for row in connection.execute(f"SELECT rowid AS number, * FROM {name}").fetchall():
        with suppress(ValueError):
            new = checksum(name, dict(row))
            connection.execute(f"UPDATE {name} SET checksum = ? WHERE rowid = ?", (new, row["number"]))


@pytest.mark.parametrize(("table", "column"), FIELDS, ids=[".".join(field) for field in FIELDS])
def test_an_edited_field_is_no_traceback(intact: Path, tmp_path: Path, table: str, column: str) -> None:
    run_id = {"samples": COLUMN, "printed": PRINTED}.get(table, MEASURED)
    path, first = tmp_path / "store.sqlite", f"rowid = (SELECT min(rowid) FROM {table})"
    unchanged, changes = intact.read_bytes(), 0
    for value in VALUES:
        for sealed in {False, "checksum" in schema.metadata.tables[table].columns and column != "checksum"}:
            copyfile(intact, path)
            with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.Error), connection:
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE {first}", (value,))
                if sealed:
                    seal(connection, table)
            if path.read_bytes() == unchanged:  # a constraint of the table refuses the value
                continue
            changes += 1
            with suppress(SchedlabError):
                engine = open_store(path, create=False)
                if table in ("campaign", "candidate"):
                    candidates(engine, campaign(engine, None).id)
                else:
                    reader.listing(engine)
                    show(engine, run_id)
            for name in path.parent.iterdir():
                name.unlink()
    assert changes > 0


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM trial WHERE id = 3"],
        ["UPDATE trial SET cell_id = 99999 WHERE id = 3"],
        [f"DELETE FROM {table} WHERE {key} = 2" for table, key in (("metric", "cell_id"), ("cell", "id"))],
        [
            f"DELETE FROM {table} WHERE {key} = 2"
            for table, key in zip(("trial", "metric", "cell"), ("cell_id", "cell_id", "id"), strict=True)
        ],
    ],
    ids=["trial", "trial elsewhere", "values", "cell"],
)
def test_a_complete_run_that_lacks_rows_is_damaged(path: Path, statements: list[str]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0
    with pytest.raises(Damaged, match=f"run {MEASURED} is damaged: [0-9]+ trials of {len(PLAN.trials)} are stored"):
        reader.run(open_store(path, create=False), MEASURED)

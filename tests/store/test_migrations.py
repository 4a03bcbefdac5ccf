"""Stores of earlier versions are upgraded in one transaction, and their reports stay the same."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import zlib
from array import array
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from schedlab.analysis.cells import average_blocks
from schedlab.errors import StoreError
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.store import reader, writer
from schedlab.store.columns import columns, read_cells, variants_of
from schedlab.store.file import open_store
from schedlab.store.schema import metadata
from schedlab.store.tables import VERSION
from tests.conftest import TWO_VARIANTS

pytestmark = pytest.mark.slow

VERSION_2 = """
CREATE TABLE schedlab_store (version INTEGER NOT NULL, written_by VARCHAR NOT NULL);
CREATE TABLE run (
    id INTEGER NOT NULL, name VARCHAR NOT NULL, target VARCHAR NOT NULL, kind VARCHAR NOT NULL, state VARCHAR NOT NULL,
    seed VARCHAR NOT NULL, quick INTEGER NOT NULL, experiment_file TEXT NOT NULL, experiment_path TEXT NOT NULL,
    design TEXT NOT NULL, planned INTEGER NOT NULL, fingerprint TEXT NOT NULL, fingerprint_hash VARCHAR NOT NULL,
    changed TEXT NOT NULL, notes TEXT NOT NULL, started FLOAT NOT NULL, finished FLOAT, version VARCHAR NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE trial (
    id INTEGER NOT NULL, run_id INTEGER NOT NULL, position INTEGER NOT NULL, phase VARCHAR NOT NULL,
    block INTEGER NOT NULL, variant VARCHAR NOT NULL, workload VARCHAR NOT NULL, parameters TEXT NOT NULL,
    iteration INTEGER NOT NULL, state VARCHAR NOT NULL, reason TEXT NOT NULL, started FLOAT NOT NULL,
    elapsed FLOAT NOT NULL, load FLOAT, steal_percent FLOAT, other_percent FLOAT, mhz_min INTEGER, mhz_max INTEGER,
    clocksource VARCHAR, counters TEXT NOT NULL, superseded INTEGER NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX trial_once ON trial (run_id, position) WHERE superseded = 0;
CREATE TABLE metric (
    trial_id INTEGER NOT NULL, name VARCHAR NOT NULL, unit VARCHAR NOT NULL, direction VARCHAR NOT NULL,
    value FLOAT NOT NULL, PRIMARY KEY (trial_id, name), FOREIGN KEY(trial_id) REFERENCES trial (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE samples (
    trial_id INTEGER NOT NULL, name VARCHAR NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (trial_id, name), FOREIGN KEY(trial_id) REFERENCES trial (id) ON DELETE CASCADE
);
CREATE TABLE output (
    trial_id INTEGER NOT NULL, command TEXT NOT NULL, stdout TEXT NOT NULL, stderr TEXT NOT NULL,
    PRIMARY KEY (trial_id), FOREIGN KEY(trial_id) REFERENCES trial (id) ON DELETE CASCADE
);
CREATE TABLE printed (
    run_id INTEGER NOT NULL, position INTEGER NOT NULL, layout VARCHAR NOT NULL, title TEXT NOT NULL,
    workload VARCHAR NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run_id, position), FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE
) WITHOUT ROWID;
"""
TEXT = TWO_VARIANTS.replace("blocks = 8", "blocks = 2\niterations = 2")
FAILED, INTERRUPTED, SECONDS = 9, 21, 0.5
PLAN = plan(parse(TEXT, "f"), 1)


def value_of(trial: Trial) -> float:
    """Return the value that a trial measured."""
    return 1.0 + trial.index


class EmptyOldStore:
    """A store of version 2 without any run."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.executescript(VERSION_2)
        self.connection.execute("INSERT INTO schedlab_store VALUES (2, '0.1')")

    def run(self, kind: str, planned: int, design: str, state: str = "complete") -> int:
        """Insert a run and return its number."""
        values = (
            "old", kind, kind, state, "1", 0, TEXT, "f", design, planned, "{}", "-", "[]", "[]", 1.0, 2.0, "0",
        )  # fmt: skip
        return self._insert("run", values)

    def trial(self, run: int, trial: Trial, variant: str, state: str, superseded: int) -> int:
        """Insert a trial without values and return its number."""
        values = (
            run, trial.index, trial.phase, trial.block, variant, trial.row.label, trial.row.parameters_json,
            trial.iteration, state, "", 1.0, SECONDS, None, 1.5, None, None, 3000, "tsc", json.dumps({"forks": 2}),
            superseded,
        )  # fmt: skip
        return self._insert("trial", values)

    def _insert(self, table: str, values: tuple[object, ...]) -> int:
        inserted = self.connection.execute(f"INSERT INTO {table} VALUES (NULL{', ?' * len(values)})", values)
        assert inserted.lastrowid is not None
        return inserted.lastrowid


class OldStore(EmptyOldStore):
    """A store of version 2 with a run that was interrupted twice in block 2, and an imported run."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        design = writer.describe(PLAN)
        self.run("scripted", len(PLAN.trials), design.model_dump_json())
        first_of_block = next(trial.index for trial in PLAN.trials if trial.block == 2)
        for trial in PLAN.trials[:INTERRUPTED]:
            superseded = trial.index >= first_of_block
            self._measured(trial, 0.25 if superseded else value_of(trial), superseded=superseded)
        self._measured(PLAN.trials[first_of_block], 0.5, superseded=True)
        for trial in PLAN.trials[first_of_block:]:
            self._measured(trial, value_of(trial))
        imported = design.model_copy(update={"paired": False, "variants": ["base"], "control": None})
        self.run("imported", 1, imported.model_dump_json())
        number = self.trial(2, next(t for t in PLAN.trials if t.phase == "measure"), "base", "ok", 0)
        self.connection.execute("INSERT INTO metric VALUES (?, 'time', 's', 'lower', 2.0)", (number,))
        packed = zlib.compress(array("d", [1.0, 3.0]).tobytes())
        self.connection.execute("INSERT INTO samples VALUES (?, 'time', 2, ?)", (number, packed))
        self.connection.commit()

    def _measured(self, trial: Trial, value: float, *, superseded: bool = False) -> None:
        state = "failed" if trial.index == FAILED else "ok"
        number = self.trial(1, trial, trial.variant.name, state, int(superseded))
        if state == "ok":
            self.connection.execute("INSERT INTO metric VALUES (?, 'time', 's', 'lower', ?)", (number, value))
        self.connection.execute("INSERT INTO output VALUES (?, '[]', 'printed', '')", (number,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.sqlite"
    OldStore(path).connection.close()
    return path


def test_samples_of_version_2_are_read_after_the_upgrade(path: Path) -> None:
    engine = open_store(path, create=False)
    run = reader.run(engine, 1)
    assert run.recorded == len(PLAN.trials)
    measured = [trial for trial in PLAN.trials if trial.phase == "measure"]
    expected = {
        (trial.block, trial.variant.name, trial.row.parameters_json, trial.iteration): value_of(trial)
        for trial in measured
        if trial.index != FAILED
    }
    values = {
        (cell.block, cell.variant, cell.parameters, int(iteration)): float(cell.values[iteration])
        for cell in read_cells(engine, run)
        for iteration in cell.iterations
    }
    assert values == expected
    positions = {cell.position for cell in read_cells(engine, run)}
    assert positions == {trial.index for trial in measured if trial.iteration == 0}


def test_conditions_counters_outputs_and_superseded_trials_survive_the_upgrade(path: Path) -> None:
    engine = open_store(path, create=False)
    seconds = {row["variant"]: row["seconds"] for row in reader.conditions(engine, 1).iter_rows(named=True)}
    assert seconds == dict.fromkeys(["base", "changed", "control"], SECONDS * 8)
    assert set(reader.counters(engine, 1)["value"]) == {2.0}
    assert len(list(reader.failed_outputs(engine, 1))) == 1
    with engine.connect() as connection:
        query = "SELECT count(*) FROM trial JOIN cell ON cell.id = cell_id JOIN output ON trial_id = trial.id"
        assert connection.exec_driver_sql(f"{query} WHERE superseded = 1").scalar() == 4
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []


def test_an_imported_run_of_version_2_keeps_its_samples(path: Path) -> None:
    engine = open_store(path, create=False)
    run = reader.run(engine, 2)
    samples = [row.samples for row in columns(engine, variants_of(run)).rows]
    assert [array.tolist() for (array,) in samples if array is not None] == [[1.0, 3.0]]
    assert average_blocks(read_cells(engine, run))["value"].to_list() == [2.0]


def test_an_upgraded_store_has_the_tables_of_a_new_store(path: Path, tmp_path: Path) -> None:
    for store in (path, tmp_path / "new.sqlite"):
        with open_store(store, create=True).connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
            assert connection.exec_driver_sql("SELECT version FROM schedlab_store").scalar() == VERSION


def test_a_store_of_the_first_version_is_upgraded(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE printed")
        connection.execute("UPDATE schedlab_store SET version = 1")
    engine = open_store(path, create=False)
    assert reader.run(engine, 1).recorded == len(PLAN.trials)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM printed").scalar() == 0


@pytest.mark.slow
def test_processes_that_open_an_old_store_together_upgrade_it_once(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from schedlab.store import reader; "
        "from schedlab.store.file import open_store; "
        "print(reader.run(open_store(Path(sys.argv[1]), create=False), 1).recorded)"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) for _ in range(3)]
    assert [int(process.communicate()[0]) for process in running] == [len(PLAN.trials)] * 3
    with open_store(path, create=False).connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM schedlab_store").scalar() == 1


def test_an_upgrade_leaves_the_tables_of_optuna_alone(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR NOT NULL)")
        connection.execute("INSERT INTO alembic_version VALUES ('v3.2.0.a')")
    open_store(path, create=False)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("v3.2.0.a",)]
        assert not connection.execute("SELECT * FROM sqlite_master WHERE name = 'schedlab_alembic'").fetchall()


def test_a_failed_upgrade_changes_nothing(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE metric RENAME COLUMN unit TO units")
    before = list(sqlite3.connect(path).iterdump())
    with pytest.raises(StoreError, match="unit"):
        open_store(path, create=False)
    assert list(sqlite3.connect(path).iterdump()) == before

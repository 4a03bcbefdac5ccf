"""Stores of the last release are upgraded in one transaction, and their reports stay the same."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from schedlab.errors import StoreError
from schedlab.findings.run import findings
from schedlab.store import reader
from schedlab.store.checking import check
from schedlab.store.columns import read_cells
from schedlab.store.file import open_store
from schedlab.store.schema import metadata
from schedlab.store.tables import VERSION

pytestmark = pytest.mark.slow

RELEASED = Path(__file__).with_name("release_0_2_0.sql")
"""A store that schedlab 0.2.0 wrote: 15 trials with the value 1 + index, of which trial 5 failed. The first trial of
block 2 was measured twice."""
TRIALS, FAILED = 15, 5


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(RELEASED.read_text(encoding="utf-8"))
    connection.close()
    return path


def test_a_store_of_the_last_release_is_read_after_the_upgrade(path: Path) -> None:
    engine = open_store(path, create=False)
    run = reader.run(engine, 1)
    assert run.recorded == TRIALS
    values = {
        (cell.position, iteration): cell.values[iteration]
        for cell in read_cells(engine, run)
        for iteration in map(int, cell.iterations)
    }
    assert values == {(3 + 2 * (i // 2), i % 2): 4.0 + i for i in range(12) if 3 + i != FAILED}
    assert set(reader.counters(engine, 1)["value"]) == {2.0}
    assert len(list(reader.failed_outputs(engine, 1))) == 1
    assert {verdict.variant for verdict in findings(engine, 1).verdicts} == {"control", "changed"}


def test_every_checksum_of_an_upgraded_store_is_right(path: Path) -> None:
    checked = check(open_store(path, create=False))
    assert (checked.runs, checked.faults) == (1, [])
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM cell WHERE superseded = 1").fetchone() == (1,)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_an_upgraded_store_has_the_tables_of_a_new_store(path: Path, tmp_path: Path) -> None:
    for store in (path, tmp_path / "new.sqlite"):
        with open_store(store, create=True).connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
            assert connection.exec_driver_sql("SELECT version FROM schedlab_store").scalar() == VERSION


def test_processes_that_open_an_old_store_together_upgrade_it_once(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from schedlab.store import reader; "
        "from schedlab.store.file import open_store; "
        "print(reader.run(open_store(Path(sys.argv[1]), create=False), 1).recorded)"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) for _ in range(3)]
    assert [int(process.communicate()[0]) for process in running] == [TRIALS] * 3
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
        connection.execute("CREATE TABLE candidate (id INTEGER)")
    before = list(sqlite3.connect(path).iterdump())
    with pytest.raises(StoreError, match="candidate"):
        open_store(path, create=False)
    assert list(sqlite3.connect(path).iterdump()) == before

"""Stores of other versions, damaged files and other files are refused with a clear message and not changed."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import cast

import pytest
from sqlalchemy import text

from schedlab.errors import StoreError
from schedlab.store import sqlite
from schedlab.store.file import open_store
from schedlab.store.tables import RELEASED, VERSION


def error_of(path: Path, *, create: bool = True) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(path, create=create)
    return str(caught.value)


def test_the_default_store_is_created_with_its_folder_and_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a" / "b" / "store.sqlite"
    assert f"its folder {path.parent} does not exist" in error_of(path, create=True)
    monkeypatch.setenv("SCHEDLAB_STORE", str(path))
    open_store(path, create=True).dispose()
    with open_store(path, create=False).connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"


def test_runs_that_start_at_the_same_time_share_a_new_store(tmp_path: Path) -> None:
    together = Barrier(8)

    def run(_: int) -> None:
        together.wait()
        open_store(tmp_path / "store.sqlite", create=True).dispose()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))


class Busy:
    """A connection to a store that is busy for some attempts."""

    def __init__(self, attempts: int) -> None:
        self.left = attempts
        self.done: list[str] = []

    def execute(self, statement: str) -> None:
        if "journal_mode" in statement and self.left:
            self.left -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        self.done.append(statement)


def test_a_store_that_another_process_opens_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(sqlite.time, "sleep", pauses.append)
    busy = Busy(3)
    sqlite.set_up(cast("sqlite3.Connection", busy))
    assert (len(pauses), len(busy.done)) == (3, len(sqlite.SETTINGS))
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        sqlite.set_up(cast("sqlite3.Connection", Busy(sqlite.BUSY_ATTEMPTS)))


def test_a_reader_does_not_create_a_missing_store(tmp_path: Path) -> None:
    assert "there is no store" in error_of(tmp_path / "none.sqlite", create=False)
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize(
    ("version", "words"), [(VERSION + 1, "or a newer schedlab"), (RELEASED - 1, "keep the store for that schedlab")]
)
def test_another_version_is_refused_and_not_changed(tmp_path: Path, version: int, words: str) -> None:
    path = tmp_path / "store.sqlite"
    open_store(path, create=True).dispose()
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE schedlab_store SET version = {version}, written_by = '9.9'")
    before = sorted(sqlite3.connect(path).iterdump())
    message = error_of(path)
    assert f"contains version {version}, written by schedlab 9.9" in message
    assert words in message
    assert sorted(sqlite3.connect(path).iterdump()) == before


def test_a_store_that_lacks_a_column_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    open_store(path, create=True).dispose()
    with sqlite3.connect(path) as store:
        store.execute("ALTER TABLE run DROP COLUMN changed")
    with pytest.raises(StoreError, match=r"without its columns run\.changed"):
        open_store(path, create=True)


def test_a_schema_with_bytes_that_are_no_text_is_damaged(tmp_path: Path) -> None:
    """SQLite's error message quotes these bytes, and Python cannot decode it."""
    path = tmp_path / "s.sqlite"
    open_store(path, create=True).dispose()
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("PRAGMA writable_schema = ON")
        store.execute("UPDATE sqlite_master SET name = CAST(X'F241' AS TEXT), sql = 'CREATE' WHERE name = 'run'")
    assert "is damaged or not an SQLite file" in error_of(path)


def test_a_file_that_is_not_a_database_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"not a database at all, but long enough to look at\n" * 100)
    assert "is damaged or not an SQLite file" in error_of(path)
    assert path.read_bytes().startswith(b"not a database")


def test_a_truncated_store_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    open_store(path, create=True).dispose()
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * 4096)
    for companion in ("-wal", "-shm"):
        path.with_name(path.name + companion).unlink(missing_ok=True)
    before = path.read_bytes()
    assert str(path) in error_of(path)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    assert "not a schedlab store" in error_of(path)
    assert [row[0] for row in sqlite3.connect(path).execute("SELECT name FROM sqlite_master")] == ["cats"]


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in error_of(tmp_path)

"""Stores of other users: views and triggers are refused before they are read, and so are files beside a store that
another user may have made. A store is written only where no other user can make such files."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from schedlab.errors import StoreError
from schedlab.store.file import open_store
from schedlab.store.sqlite_files import COMPANIONS
from schedlab.store.tables import TABLES

OTHER_UID = 12345

ENDLESS = "WITH RECURSIVE t(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM t) SELECT * FROM t"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    open_store(folder / "store.sqlite", create=True).dispose()
    return folder / "store.sqlite"


def error_of(path: Path, *, create: bool = False) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(path, create=create)
    return str(caught.value)


@pytest.mark.parametrize("mode", [0o777, 0o773])
def test_a_store_is_only_read_in_a_folder_where_other_users_can_create_files(store: Path, mode: int) -> None:
    """SQLite would use the files of other users, and gives files of another user that root opens to root."""
    store.parent.chmod(mode)
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    before = store.read_bytes()
    for path in (store, store.with_name("new.sqlite")):
        error = error_of(path, create=True)
        assert f"{path}: cannot be a store: other users can create files in its folder {store.parent}" in error
        assert "chmod go-w" in error
    engine = open_store(store, create=False)
    with engine.connect() as connection, pytest.raises(OperationalError, match="readonly database"):
        connection.exec_driver_sql("UPDATE schedlab_store SET written_by = 'test'")
    engine.dispose()
    assert (store.read_bytes(), os.listdir(store.parent)) == (before, ["store.sqlite"])


def test_a_store_is_written_in_a_shared_folder_with_the_sticky_bit(store: Path) -> None:
    """Nobody else can replace a file in ``/tmp``."""
    store.parent.chmod(0o1777)
    engine = open_store(store, create=True)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE schedlab_store SET written_by = 'test'")
    engine.dispose()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make files of another user")
@pytest.mark.parametrize("content", [b"", b"a store"])
def test_a_store_that_another_user_prepared_is_not_written(tmp_path: Path, content: bytes) -> None:
    """The folder belongs to a third user, who has let the other user make the file."""
    path = tmp_path / "folder" / "store.sqlite"
    path.parent.mkdir(mode=0o755)
    path.write_bytes(content)
    os.chown(path.parent, OTHER_UID + 1, OTHER_UID + 1)
    os.chown(path, OTHER_UID, OTHER_UID)
    before = path.stat()
    assert "belongs to another user" in error_of(path, create=True)
    assert (path.stat().st_ino, path.read_bytes()) == (before.st_ino, content)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make files of another user")
def test_root_writes_the_store_of_a_user_in_the_private_folder_of_the_user(store: Path) -> None:
    for path in (store.parent, store):
        os.chown(path, OTHER_UID, OTHER_UID)
    with open_store(store, create=True).begin() as connection:
        connection.exec_driver_sql("UPDATE schedlab_store SET written_by = 'test'")
    assert store.stat().st_uid == OTHER_UID


def planted() -> Iterator[tuple[str, str]]:
    """Yield a statement for each kind of foreign part, and the words of its refusal."""
    for table, columns in TABLES.items():
        names = ", ".join(f"x AS {column.name}" for column in columns)
        yield f"DROP TABLE {table}; CREATE VIEW {table} AS SELECT {names} FROM ({ENDLESS})", f"the view '{table}'"
    yield f"CREATE VIEW another AS {ENDLESS}", "the view 'another'"
    yield "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END", "the trigger 't'"
    yield "CREATE VIRTUAL TABLE v USING fts5(x)", "the virtual table 'v'"
    generated = "DROP TABLE printed; CREATE TABLE printed (position INTEGER, run_id AS (zeroblob(1 << 30)))"
    yield generated, "without its columns printed.body"


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize(("statements", "words"), list(planted()))
def test_views_triggers_and_virtual_tables_are_refused_before_they_are_read(
    store: Path, statements: str, words: str, create: bool
) -> None:
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        try:
            connection.executescript(statements)
        except sqlite3.OperationalError as error:
            if "no such module" in str(error):
                pytest.skip(f"this SQLite has no virtual tables for text: {error}")
            raise
    before = store.read_bytes()
    assert words in error_of(store, create=create)
    assert store.read_bytes() == before


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("ending", COMPANIONS)
@pytest.mark.parametrize("kind", ["named pipe", "link", "hard link", "folder"])
def test_a_file_beside_a_store_that_is_not_a_regular_file_is_refused(
    store: Path, ending: str, kind: str, create: bool
) -> None:
    beside, precious = store.with_name(f"{store.name}{ending}"), store.with_name("precious")
    precious.write_bytes(b"x" * 5000)
    make = {"named pipe": os.mkfifo, "link": lambda path: path.symlink_to(precious),
            "hard link": lambda path: path.hardlink_to(precious), "folder": Path.mkdir}  # fmt: skip
    make[kind](beside)
    before = store.read_bytes()
    error = error_of(store, create=create)
    assert str(beside) in error
    assert ("a hard link" if kind == "hard link" else "is not a regular file") in error
    assert store.read_bytes() == before
    assert precious.read_bytes() == b"x" * 5000
    store.unlink()
    assert str(beside) in error_of(store, create=True)


@pytest.mark.parametrize("is_empty", [False, True])
def test_rows_of_a_deleted_store_do_not_come_back_in_a_new_store(store: Path, is_empty: bool) -> None:
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE schedlab_store SET written_by = 'deleted'")
        connection.commit()
        log = store.with_name(f"{store.name}-wal").read_bytes()
    store.unlink()
    store.with_name(f"{store.name}-wal").write_bytes(log)
    if is_empty:
        store.touch()
    assert f"{store}-wal: SQLite would use this file with the store, but it is of a store that was deleted" in (
        error_of(store, create=True)
    )
    store.with_name(f"{store.name}-wal").unlink()
    open_store(store, create=True).dispose()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make files of another user")
@pytest.mark.parametrize("ending", COMPANIONS)
def test_a_file_of_another_user_beside_a_store_is_refused(store: Path, ending: str) -> None:
    """SQLite would play the other user's log or journal into the store."""
    beside = store.with_name(f"{store.name}{ending}")
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE schedlab_store SET written_by = 'another user'")
        connection.commit()
        log = store.with_name(f"{store.name}-wal").read_bytes()
    beside.write_bytes(log)
    os.chown(beside, OTHER_UID, OTHER_UID)
    before = store.read_bytes()
    for path in (store, store.with_name("link")):
        if path != store:
            path.symlink_to(store)
        error = error_of(path)
        assert f"{beside}: SQLite would use this file with the store, but it belongs to another user" in error
        assert "remove this file" in error
    assert store.read_bytes() == before


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make files of another user")
@pytest.mark.parametrize(("mode", "owner"), [(0o644, OTHER_UID), (0o666, 0)])
def test_the_log_of_a_user_who_may_write_the_store_is_used_but_not_its_journal(
    store: Path, mode: int, owner: int
) -> None:
    store.chmod(mode)
    os.chown(store, owner, owner)
    for ending in ("-wal", "-journal"):
        beside = store.with_name(f"{store.name}{ending}")
        beside.touch()
        os.chown(beside, OTHER_UID, OTHER_UID)
        if ending == "-journal":
            assert "belongs to another user" in error_of(store)
        else:
            open_store(store, create=False).dispose()

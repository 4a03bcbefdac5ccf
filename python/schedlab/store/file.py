"""Opening a store: its version is checked before anything is read, and a file that is not a store is not changed.

This is the only module that depends on SQLite.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, select
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.pool import NullPool, StaticPool

from schedlab.errors import StoreError
from schedlab.files.locks import lock
from schedlab.files.replacement import link, new_file
from schedlab.store.schema import VERSION, about, metadata


def open_store(path: Path, *, create: bool) -> Engine:
    """Open the store at ``path``; with ``create`` make a missing file.

    A store of an earlier version is upgraded in one transaction. Without ``create`` a store that cannot be written is
    opened for reading only. Raises StoreError for a missing file (without ``create``), for a file that is damaged or
    not a store, and for an unknown version; the file is not changed.
    """
    if path.is_dir():
        raise StoreError("is a folder, not a store", where=str(path), todo="give the path of a file")
    if create and not (path.exists() and path.stat().st_size):
        _create(path)
    if not path.exists():
        raise StoreError("there is no store", where=str(path), todo="make a store with 'schedlab run FILE'")
    read_only = not (create or _writable(path))
    engine = _read_only(path) if read_only else create_engine(_url(path))
    if not read_only:
        event.listen(engine, "connect", _configure)
    try:
        if _is_old(_version(engine)):
            if read_only:
                raise _refusal(
                    "needs an upgrade and cannot be written", path, ("copy the store to a folder that you can write")
                )
            _upgrade(path)
        _check(engine, path)
    except DatabaseError as error:
        raise explain(error, str(path)) from error
    except UnicodeDecodeError as error:  # SQLite's message quotes the damaged bytes of a schema
        raise _damaged("the schema is not text", str(path)) from error
    return engine


def store_in_memory() -> Engine:
    """Create a store in memory, which ends with the process."""
    # A single connection, because the store also ends with the connection that made it.
    engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        metadata.create_all(connection)
        connection.execute(insert(about).values(version=VERSION, written_by=version("schedlab")))
    return engine


def explain(error: DatabaseError, path: str) -> StoreError:
    """Convert a database's error to a StoreError with a remedy."""
    if isinstance(error, OperationalError):
        return StoreError(
            f"cannot be used: {error.orig}", where=path, todo="check its owner, its permissions and the free space"
        )
    return _damaged(str(error.orig), path)


def _damaged(reason: str, path: str) -> StoreError:
    return StoreError(
        f"is damaged or not an SQLite file ({reason})",
        where=path,
        todo=(
            "nothing was overwritten; give another file with --store, or recover this file with 'sqlite3 FILE .recover'"
        ),
    )


def _url(path: Path) -> URL:
    # Built from parts, because a file name may contain '?' or '%', or be ':memory:'.
    return URL.create("sqlite", database=str(path.absolute()))


def _create(path: Path) -> None:
    """Create an empty store atomically, even if this process is killed. A store made meanwhile is kept."""
    with store_in_memory().connect() as connection:
        content: bytes = connection.connection.driver_connection.serialize()  # type: ignore[union-attr]
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent) as folder, new_file(path) as (file, name):
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if path.exists() and not path.stat().st_size:
                path.unlink()
            with suppress(FileExistsError):
                link(name, path)
            os.fsync(folder)
    except OSError as error:
        todo = "free space, check the permissions of its folder, or name another file with --store"
        raise StoreError(f"cannot be made: {error.strerror}", where=str(path), todo=todo) from error


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Yield the folder's descriptor with its lock, so that simultaneous runs make a new store only once."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            lock(handle)
        yield handle
    finally:
        os.close(handle)


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


def _read_only(path: Path) -> Engine:
    """Return an engine for a store that this process cannot write.

    SQLite needs files next to a store while another process may write to the store. ``immutable`` needs no such files,
    but ignores the trials that are only in a write-ahead log (``-wal``).
    """
    path = path.resolve()
    log = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    uri = f"{path.as_uri()}?{mode}"
    return create_engine(_url(path), creator=lambda: sqlite3.connect(uri, uri=True, check_same_thread=False))


def _version(engine: Engine) -> tuple[int, str] | None:
    """Return the store's version and the schedlab that wrote it; None where the store has no version."""
    with engine.connect() as connection:
        if about.name not in inspect(connection).get_table_names():
            return None
        row = connection.execute(select(about.c.version, about.c.written_by)).first()
    return None if row is None else (row.version, row.written_by)


def _is_old(stored: tuple[int, str] | None) -> bool:
    return stored is not None and isinstance(stored[0], int) and 1 <= stored[0] < VERSION


def _upgrade(path: Path) -> None:
    """Upgrade a store in one transaction, while no other process writes to it."""
    from schedlab.store.migrations import upgrade

    engine = create_engine(_url(path), poolclass=NullPool)
    event.listen(engine, "connect", _configure_upgrade)
    event.listen(engine, "begin", _lock_for_upgrade)
    with engine.begin() as connection:
        stored = connection.execute(select(about.c.version)).scalar()
        # Another process may have upgraded the store while this one waited.
        if isinstance(stored, int) and stored < VERSION:
            upgrade(connection, stored)


def _configure(connection: Any, _record: object) -> None:
    # WAL: readers do not wait for the run that writes. FULL: a committed trial also survives a power loss.
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout = 10000")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _configure_upgrade(connection: Any, _record: object) -> None:
    # Otherwise the driver commits before each statement that changes a table.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout = 10000")
    # Otherwise renaming a table changes the references of other tables, and dropping a table deletes their rows.
    cursor.execute("PRAGMA foreign_keys = OFF")
    cursor.execute("PRAGMA legacy_alter_table = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _lock_for_upgrade(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _check(engine: Engine, path: Path) -> None:
    """Raise StoreError unless the file is a store of this version with all tables and columns."""
    inspector = inspect(engine)
    tables = set(inspector.get_table_names())
    if about.name not in tables:
        raise _refusal("is an SQLite file but not a schedlab store", path)
    stored = _version(engine)
    if stored is None or stored[0] != VERSION:
        content = "no version" if stored is None else f"version {stored[0]}, written by schedlab {stored[1]}"
        newer = stored is not None and isinstance(stored[0], int) and stored[0] > VERSION
        todo = (
            "use that schedlab or a newer schedlab"
            if newer
            else ("keep the store for that schedlab and name a new store here")
        )
        raise _refusal(f"contains {content}; this schedlab reads version {VERSION}", path, f"{todo} (--store FILE)")
    if missing := sorted(metadata.tables.keys() - tables):
        raise _refusal(f"is a schedlab store without its tables {', '.join(missing)}", path)
    columns = {f"{table}.{column['name']}" for table in metadata.tables for column in inspector.get_columns(table)}
    if lost := sorted({str(column) for table in metadata.tables.values() for column in table.columns} - columns):
        raise _refusal(f"is a schedlab store without its columns {', '.join(lost)}", path)


def _refusal(what: str, path: Path, todo: str = "give another file with --store") -> StoreError:
    return StoreError(what, where=str(path), todo=f"nothing was changed; {todo}")

"""Connections to a store: its version is checked before anything is read, and a file that is not a store is not
changed.

This module needs no SQLAlchemy: ``schedlab runs`` reads the rows of runs on such a connection.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from schedlab.errors import StoreError
from schedlab.store.tables import TABLES, VERSION

ABOUT = "schedlab_store"
"""The table with the version."""


def open_connection(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Connect to the store at ``path``; see :func:`schedlab.store.file.open_store` for upgrades and errors.

    ``create``: the caller may have made the file, and writes to the store.
    """
    if path.is_dir():
        raise StoreError("is a folder, not a store", where=str(path), todo="give the path of a file")
    if not path.exists():
        raise StoreError("there is no store", where=str(path), todo="make a store with 'schedlab run FILE'")
    read_only = is_read_only(path, create=create)
    connection = None
    try:
        connection = connect(path, read_only=read_only)
        if _is_old(_version(connection)):
            if read_only:
                raise _refusal(
                    "needs an upgrade and cannot be written", path, ("copy the store to a folder that you can write")
                )
            from schedlab.store.migrations import upgrade_file  # loads SQLAlchemy, and most stores need no upgrade

            connection.close()
            upgrade_file(path)
            connection = connect(path, read_only=read_only)
        _check(connection, path)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.DatabaseError):
            raise explain(error, str(path)) from error
        if isinstance(error, UnicodeDecodeError):  # SQLite's message quotes the damaged bytes of a schema
            raise _damaged("the schema is not text", str(path)) from error
        raise
    return connection


def is_read_only(path: Path, *, create: bool) -> bool:
    """Whether this process opens a store for reading only: it does not create the store and cannot write it."""
    return not (create or (os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)))


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Connect to a file, without checks. Any thread may use the connection.

    SQLite needs files next to a store while another process may write to the store. ``immutable`` needs no such files,
    but ignores the trials that are only in a write-ahead log (``-wal``).
    """
    if not read_only:
        connection = sqlite3.connect(path.absolute(), check_same_thread=False)
        # WAL: readers do not wait for the run that writes. FULL: a committed trial also survives a power loss.
        for setting in ("busy_timeout = 10000", "foreign_keys = ON", "journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {setting}")
        return connection
    path = path.resolve()
    log = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, check_same_thread=False)


def explain(error: sqlite3.DatabaseError, path: str) -> StoreError:
    """Convert a database's error to a StoreError with a remedy."""
    if isinstance(error, sqlite3.OperationalError):
        return StoreError(
            f"cannot be used: {error}", where=path, todo="check its owner, its permissions and the free space"
        )
    return _damaged(str(error), path)


def _damaged(reason: str, path: str) -> StoreError:
    return StoreError(
        f"is damaged or not an SQLite file ({reason})",
        where=path,
        todo=(
            "nothing was overwritten; give another file with --store, or recover this file with 'sqlite3 FILE .recover'"
        ),
    )


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _version(connection: sqlite3.Connection) -> tuple[object, str] | None:
    """Return the store's version and the schedlab that wrote it; None where the store has no version."""
    if ABOUT not in _tables(connection):
        return None
    row: tuple[object, str] | None = connection.execute(f"SELECT version, written_by FROM {ABOUT}").fetchone()
    return row


def _is_old(stored: tuple[object, str] | None) -> bool:
    return stored is not None and isinstance(stored[0], int) and 1 <= stored[0] < VERSION


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError unless the file is a store of this version with all tables and columns."""
    tables = _tables(connection)
    if ABOUT not in tables:
        raise _refusal("is an SQLite file but not a schedlab store", path)
    stored = _version(connection)
    if stored is None or stored[0] != VERSION:
        content = "no version" if stored is None else f"version {stored[0]}, written by schedlab {stored[1]}"
        newer = stored is not None and isinstance(stored[0], int) and stored[0] > VERSION
        todo = (
            "use that schedlab or a newer schedlab"
            if newer
            else ("keep the store for that schedlab and name a new store here")
        )
        raise _refusal(f"contains {content}; this schedlab reads version {VERSION}", path, f"{todo} (--store FILE)")
    if missing := sorted(TABLES.keys() - tables):
        raise _refusal(f"is a schedlab store without its tables {', '.join(missing)}", path)
    columns = {(table, row[1]) for table in TABLES for row in connection.execute(f"PRAGMA table_info({table})")}
    wanted = {(table, column.name) for table, of_table in TABLES.items() for column in of_table}
    if lost := sorted(".".join(column) for column in wanted - columns):
        raise _refusal(f"is a schedlab store without its columns {', '.join(lost)}", path)


def _refusal(fault: str, path: Path, todo: str = "give another file with --store") -> StoreError:
    return StoreError(fault, where=str(path), todo=f"nothing was changed; {todo}")

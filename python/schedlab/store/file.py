"""Opening the store's file: its version is checked before anything is touched, and nothing is ever overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, insert, inspect, select, update
from sqlalchemy.exc import DatabaseError, OperationalError

from schedlab.errors import StoreError
from schedlab.locks import lock
from schedlab.store.schema import VERSION, about, metadata, printed


def default_path() -> Path:
    """``$SCHEDLAB_STORE``, else ``schedlab.sqlite`` under ``$XDG_DATA_HOME/schedlab`` (``~/.local/share``)."""
    if named := os.environ.get("SCHEDLAB_STORE"):
        return Path(named)
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "schedlab" / "schedlab.sqlite"


def open_store(path: Path, *, create: bool) -> Engine:
    """An engine on the store at ``path``; with ``create`` a missing file is made.

    A store of an earlier version is brought up to this one. Raises StoreError for a missing file (without ``create``),
    one that is no store, is damaged, or has an unknown version; such a file is left exactly as it is.
    """
    if not path.exists():
        if not create:
            raise StoreError("there is no store", where=str(path), todo="make one with 'schedlab run FILE'")
        _make_folder(path)
    elif path.is_dir():
        raise StoreError("is a folder, not a store", where=str(path), todo="give the path of a file")
    # Not a URL in one string: a name may hold '?', '%' or be ':memory:'.
    engine = create_engine(URL.create("sqlite", database=str(path.absolute())))
    event.listen(engine, "connect", _configure)
    try:
        with _turn(path.parent if create else None):
            if create and (not path.exists() or path.stat().st_size == 0):
                _make(engine)
        _upgrade(engine)
        _check_version(engine, path)
    except DatabaseError as error:
        raise explain(error, str(path)) from error
    return engine


def _make(engine: Engine) -> None:
    with engine.begin() as connection:
        metadata.create_all(connection)
        connection.execute(insert(about).values(version=VERSION, written_by=version("schedlab")))


@contextmanager
def _turn(folder: Path | None) -> Iterator[None]:
    """One process at a time: two runs that begin together would both make the tables of a new store."""
    with ExitStack() as held:
        # Without leave to read the folder, or where it cannot be locked, there is no queue but SQLite's own.
        with suppress(OSError):
            if folder is not None:
                handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
                held.callback(os.close, handle)
                lock(handle)
        yield


def _upgrade(engine: Engine) -> None:
    """Bring a store of an earlier version up to this one, in one transaction: version 2 added a table."""
    with engine.begin() as connection:
        if about.name not in inspect(connection).get_table_names():
            return
        held = connection.execute(select(about.c.version)).scalar()
        if isinstance(held, int) and 1 <= held < VERSION:
            printed.create(connection, checkfirst=True)
            connection.execute(update(about).values(version=VERSION, written_by=version("schedlab")))


def explain(error: DatabaseError, path: str) -> StoreError:
    """A database's error in words for people."""
    if isinstance(error, OperationalError):
        return StoreError(
            f"cannot be used: {error.orig}", where=path, todo="check its owner, its rights and the space left"
        )
    return StoreError(
        f"is damaged or no SQLite file ({error.orig})",
        where=path,
        todo="nothing was overwritten; give another file with --store, or recover it with 'sqlite3 FILE .recover'",
    )


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder cannot be made: {error.strerror}",
            where=str(path.parent),
            todo="name a file with --store",
        ) from error


def _configure(connection: Any, _record: object) -> None:
    # WAL: readers do not wait for the run that writes. FULL: a committed trial also survives a power loss.
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout = 10000")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _check_version(engine: Engine, path: Path) -> None:
    inspector = inspect(engine)
    tables = set(inspector.get_table_names())
    if about.name not in tables:
        raise _foreign("is an SQLite file but no schedlab store", path)
    with engine.connect() as connection:
        found = connection.execute(select(about.c.version, about.c.written_by)).first()
    if found is None or found.version != VERSION:
        held = "no version" if found is None else f"version {found.version}, written by schedlab {found.written_by}"
        newer = found is not None and isinstance(found.version, int) and found.version > VERSION
        todo = "use that schedlab or a newer one" if newer else "keep it for that schedlab and name a new one here"
        raise _foreign(f"holds {held}; this schedlab reads version {VERSION}", path, f"{todo} (--store FILE)")
    if missing := sorted(metadata.tables.keys() - tables):
        raise _foreign(f"is a schedlab store without its tables {', '.join(missing)}", path)
    columns = {f"{table}.{column['name']}" for table in metadata.tables for column in inspector.get_columns(table)}
    if lost := sorted({str(column) for table in metadata.tables.values() for column in table.columns} - columns):
        raise _foreign(f"is a schedlab store without its columns {', '.join(lost)}", path)


def _foreign(what: str, path: Path, todo: str = "give another file with --store") -> StoreError:
    return StoreError(what, where=str(path), todo=f"nothing was changed; {todo}")

"""Stores in SQLite files; :mod:`schedlab.store.postgres` has the same functions.

The version of a store is checked before anything is read, and a file that is not a store is not changed. This module
loads no SQLAlchemy: ``schedlab store list`` reads the rows of runs on a connection of the driver.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab.errors import StoreError
from schedlab.files.locks import try_lock
from schedlab.files.processes import has_ended, is_running, this_process
from schedlab.files.replacement import link, new_file
from schedlab.store import location
from schedlab.store.location import Description, Location
from schedlab.store.sqlite_files import StoreConnection, is_writable, require_usable
from schedlab.store.tables import ABOUT, TABLES, VERSION, is_old, missing_parts, refusal, version_refusal

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

SETTINGS = {"busy_timeout": "10000", "foreign_keys": "ON", "journal_mode": "WAL", "synchronous": "FULL"}
"""Pragmas of a connection that may write. WAL: readers do not wait for the run that writes. FULL: a committed trial
also survives a power loss."""


BUSY_ATTEMPTS, BUSY_PAUSE = 500, 0.02
"""Attempts to set a pragma of a store that another process opens or closes, and seconds between them: ten seconds."""


class Rows:
    """The driver's connection; see :class:`schedlab.store.run_rows.Rows`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def read(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        return self.connection.execute(query).fetchall()

    def has_ended(self, run: int, process: str | None) -> bool:
        """Whether the process that runs a run has certainly ended."""
        return has_ended(process)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def open_rows(where: Location) -> Rows:
    """Open a store for its rows of runs; errors as for :func:`schedlab.store.file.open_store`."""
    return Rows(open_connection(where.file))


def exists(where: Location) -> bool:
    """Whether there is a file."""
    return where.file.exists()


def open_engine(where: Location, *, create: bool) -> Engine:
    """See :func:`schedlab.store.file.open_store`. A new file is for its owner alone."""
    from sqlalchemy import URL, create_engine

    path = where.file
    if create:
        if where == location.default():
            with suppress(OSError):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        require_usable(path, create=True)
        if not (path.exists() and path.stat().st_size):
            _create(path)
    open_connection(path, create=create).close()
    read_only = is_read_only(path, create=create)
    # The address names the store in messages. It is built from parts, because a file name may contain '?' or '%'.
    url = URL.create("sqlite", database=str(path.absolute()))
    return create_engine(url, creator=lambda: connect(path, read_only=read_only))


def _create(path: Path) -> None:
    """Create an empty store atomically, even if this process is killed. A store made meanwhile is kept."""
    from schedlab.store.schema import store_in_memory

    with store_in_memory().connect() as connection:
        content: bytes = connection.connection.driver_connection.serialize()  # type: ignore[union-attr]
    path = path.resolve()
    try:
        with new_file(path) as (file, name):
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            with _without_empty(path), suppress(FileExistsError):
                link(name, path)
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        todo = "free space, check the permissions of its folder, or name another file with --store"
        raise StoreError(f"cannot be made: {error.strerror}", where=str(path), todo=todo) from error


@contextmanager
def _without_empty(path: Path) -> Iterator[None]:
    """Remove an empty file before the block. Its lock during the block keeps other processes from removing the store
    that the block makes.

    A lock of the folder would let any user who can read the folder block this process for ever.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        _lock(handle, path)
        with suppress(FileNotFoundError):  # another process has removed the empty file
            if os.path.samestat(os.fstat(handle), path.lstat()) and not os.fstat(handle).st_size:
                path.unlink()
        yield
    finally:
        os.close(handle)


def _lock(file: int, path: Path) -> None:
    """Lock a file, unless its file system has no locks; StoreError when another process keeps the lock."""
    with suppress(OSError):
        for _ in range(BUSY_ATTEMPTS):
            if try_lock(file):
                return
            time.sleep(BUSY_PAUSE)
        raise StoreError("is locked by another process", where=str(path), todo="remove this empty file")


def rows_of(connection: Connection) -> Rows:
    """Return the driver's connection of a connection."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return Rows(driver)


def connector(engine: Engine) -> Callable[[], sqlite3.Connection]:
    """Return a function that connects to the database of an open store, for the tables of other programs."""
    return partial(connect, Path(str(engine.url.database)), read_only=False)


def begin_snapshot(connection: Connection) -> None:
    """Let all queries of a connection read the same state. Otherwise each query begins a transaction."""
    if not rows_of(connection).connection.in_transaction:  # a store in memory has a single connection
        connection.exec_driver_sql("BEGIN")


def begin_alone(connection: Connection) -> None:
    """Wait until no other process writes, and let no other process write until the end of the transaction."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def begin_write(connection: Connection) -> None:
    """Wait until no other process writes. A transaction would otherwise begin with its first change, after its queries:
    two processes could give two cells the same number."""
    begin_alone(connection)


def confirm(connection: Connection) -> None:
    """Raise StoreError if the committed rows are in a file that was deleted or replaced."""
    driver = rows_of(connection).connection
    if isinstance(driver, StoreConnection):  # not a store in memory
        driver.require_file()


def numbers(connection: Connection, table: str, count: int) -> list[int]:
    """Return new numbers for the column ``id``, ascending; the rows are inserted in the same transaction."""
    first = connection.exec_driver_sql(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").scalar_one()
    return list(range(first, first + count))


def claim(engine: Engine, run_id: int, state: str, process: str | None) -> bool:
    """Whether this process may run a run: no other process of this machine runs the run."""
    return state != "running" or process == this_process() or not is_running(process)


def release(engine: Engine, run_id: int) -> None:
    """Nothing: the row of the run has the only claim."""


def faults(connection: Connection) -> list[str]:
    """Return the faults that SQLite finds in the pages and indexes of the file."""
    lines = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
    return [f"SQLite: {line}" for line in lines if line != "ok"]


def description(connection: Connection) -> Description:
    """Return facts about the file."""
    size = connection.exec_driver_sql("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    path = Path(str(connection.engine.url.database))
    rights = "reader" if is_read_only(path, create=False) else "owner"
    return Description(
        database=f"SQLite {sqlite3.sqlite_version}", size=size.scalar_one(), user=None, rights=rights, tls=None
    )


def continue_numbers(connection: Connection) -> None:
    """Nothing: the next number follows from the rows."""


def open_connection(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Connect to the store at ``path``; see :func:`schedlab.store.file.open_store` for upgrades and errors.

    ``create``: the caller may have made the file, and writes to the store.
    """
    require_usable(path, create=create)
    if not path.exists():
        raise StoreError("there is no store", where=str(path), todo="make a store with 'schedlab run FILE'")
    read_only = is_read_only(path, create=create)
    connection = None
    try:
        connection = _opened(path, read_only=read_only)
        check_schema(connection, path)
        if is_old(_version(connection)):
            if read_only:
                todo = "copy the store to a folder that you can write"
                raise refusal("needs an upgrade and cannot be written", str(path), todo)
            from schedlab.store.migrations import upgrade_file  # loads SQLAlchemy, and most stores need no upgrade

            connection.close()
            upgrade_file(path)
            connection = _opened(path, read_only=read_only)
        _check(connection, path)
        if not read_only:
            set_up(connection)  # changes the file, and so comes last
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.DatabaseError):
            raise (explain(error, str(path)) or error) from error
        if isinstance(error, UnicodeDecodeError):  # SQLite's message quotes the damaged bytes of a schema
            raise _damaged("the schema is not text", str(path)) from error
        raise
    return connection


def is_read_only(path: Path, *, create: bool) -> bool:
    """Whether this process opens a store for reading only: it does not create the store, and cannot write it or would
    write it where other users can put files beside it."""
    if create:
        return False
    return not (os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK) and is_writable(path))


def connect(path: Path, *, read_only: bool) -> StoreConnection:
    """Connect to a file, without checks. Any thread may use the connection."""
    connection = _opened(path, read_only=read_only)
    try:
        if not read_only:
            set_up(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _opened(path: Path, *, read_only: bool) -> StoreConnection:
    """Connect to an existing file, and change nothing.

    SQLite needs files next to a store while another process may write to the store. ``immutable`` needs no such files,
    but ignores the trials that are only in a write-ahead log (``-wal``).
    """
    path, mode = path.absolute(), "mode=rw"  # which never creates a file
    if read_only:
        path = path.resolve()
        log = path.with_name(f"{path.name}-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, check_same_thread=False, factory=StoreConnection)
    connection.mark(path)
    # A text that is not UTF-8 differs from its checksum: one damaged run, while the other runs can be read.
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    # Functions in the schema of a foreign store could have side effects.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def set_up(connection: sqlite3.Connection) -> None:
    """Set the pragmas of a connection that may write.

    The change to WAL does not wait while another process opens or closes the same store
    (https://www.sqlite.org/wal.html, "Sometimes Queries Return SQLITE_BUSY In WAL Mode"), so it is tried again.
    """
    for name, value in SETTINGS.items():
        for attempt in range(BUSY_ATTEMPTS):
            try:
                connection.execute(f"PRAGMA {name} = {value}")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or attempt + 1 == BUSY_ATTEMPTS:
                    raise
                time.sleep(BUSY_PAUSE)


def explain(error: Exception, where: str) -> StoreError | None:
    """Convert a database's error to a StoreError with a remedy; None for any other error."""
    if not isinstance(error, sqlite3.DatabaseError):
        return None
    if isinstance(error, sqlite3.OperationalError):
        return StoreError(
            f"cannot be used: {error}", where=where, todo="check its owner, its permissions and the free space"
        )
    return _damaged(str(error), where)


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


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError for views, triggers and virtual tables: reading a view in the place of a table may never end."""
    foreign = "type NOT IN ('table', 'index') OR type = 'table' AND rootpage = 0"
    for kind, name in connection.execute(f"SELECT type, name FROM sqlite_master WHERE {foreign} LIMIT 1"):
        what = "virtual table" if kind == "table" else kind
        raise refusal(f"contains the {what} {name!r}, which stores do not have", str(path))


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError unless the file is a store of this version with all tables and columns."""
    tables = _tables(connection)
    if ABOUT not in tables:
        raise refusal("is an SQLite file but not a schedlab store", str(path))
    stored = _version(connection)
    if stored is None or stored[0] != VERSION:
        raise version_refusal(stored, str(path))
    columns = {table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")} for table in TABLES}
    if missing := missing_parts({table: names for table, names in columns.items() if names}):
        raise refusal(missing, str(path))

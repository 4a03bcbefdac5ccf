"""The databases that can contain a store. All that differs between the databases is in a module for each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from schedlab.errors import StoreError
from schedlab.store import postgres, sqlite
from schedlab.store.location import SERVER, Description, Location

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from schedlab.store.run_rows import Rows


class Backend(Protocol):
    """The functions of the modules :mod:`schedlab.store.sqlite` and :mod:`schedlab.store.postgres`, which document
    them."""

    def open_engine(self, where: Location, *, create: bool) -> Engine: ...
    def open_rows(self, where: Location) -> Rows: ...
    def rows_of(self, connection: Connection) -> Rows: ...
    def exists(self, where: Location) -> bool: ...
    def connector(self, engine: Engine) -> Callable[[], Any]: ...
    def begin_snapshot(self, connection: Connection) -> None: ...
    def begin_alone(self, connection: Connection) -> None: ...
    def begin_write(self, connection: Connection) -> None: ...
    def confirm(self, connection: Connection) -> None: ...
    def numbers(self, connection: Connection, table: str, count: int) -> list[int]: ...
    def claim(self, engine: Engine, run_id: int, state: str, process: str | None) -> bool: ...
    def release(self, engine: Engine, run_id: int) -> None: ...
    def faults(self, connection: Connection) -> list[str]: ...
    def description(self, connection: Connection) -> Description: ...
    def continue_numbers(self, connection: Connection) -> None: ...
    def explain(self, error: Exception, where: str) -> StoreError | None: ...


_BACKENDS: dict[str, Backend] = {"sqlite": sqlite, SERVER: postgres}
"""By the name of SQLAlchemy's dialect."""


def at(where: Location) -> Backend:
    """Return the database of a location."""
    return _BACKENDS[SERVER if where.url else "sqlite"]


def of(engine: Engine) -> Backend:
    """Return the database of an open store."""
    return _BACKENDS[engine.dialect.name]


def explain(error: Exception, where: str) -> StoreError | None:
    """Convert a driver's error to a StoreError with a remedy; None for any other error."""
    return next((explained for each in _BACKENDS.values() if (explained := each.explain(error, where))), None)


def open_rows(where: Location) -> Rows:
    """Open a store for its rows of runs, without SQLAlchemy; errors as for :func:`schedlab.store.file.open_store`."""
    return at(where).open_rows(where)


def exists(where: Location) -> bool:
    """Whether there is a store, or a file of another kind in its place; StoreError if a server cannot be reached."""
    return at(where).exists(where)


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Yield a connection whose queries read one state of the store, whatever other processes write meanwhile.

    The checksum of a cell covers rows of two tables, and would not match if a trial were added between two queries.
    """
    with engine.connect() as connection:
        of(engine).begin_snapshot(connection)
        yield connection


@contextmanager
def alone(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction that other transactions of this function do not overlap."""
    with engine.connect() as connection:
        of(engine).begin_alone(connection)
        yield connection
        connection.commit()
        of(engine).confirm(connection)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction that may read rows and then write rows that depend on them."""
    with engine.connect() as connection:
        with connection.begin():
            of(engine).begin_write(connection)
            yield connection
        of(engine).confirm(connection)

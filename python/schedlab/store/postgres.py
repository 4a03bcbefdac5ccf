"""Stores in databases of PostgreSQL; :mod:`schedlab.store.sqlite` has the same functions.

The tables are in the first schema of the connection's ``search_path`` (``?options=-csearch_path%3DNAME`` in the URL
names another). The process that runs a run holds an advisory lock with the run's number on a connection of its own. The
server releases the lock when the process or its machine ends, so that processes on other machines know whether the run
goes on. This module loads no SQLAlchemy until an engine is opened.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from schedlab.errors import StoreError
from schedlab.store.location import Description, Location
from schedlab.store.tables import ABOUT, TABLES, VERSION, is_old, missing_parts, refusal, version_refusal

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

MISSING = "there is no store in this database"

_KEY = f"('{ABOUT}'::regclass::oid::bigint << 32)"
"""Keys of the store's advisory locks are this number plus the number of a run, or plus 0 for the whole store. Two
stores in schemas of one database have different keys."""

_RUNNING = (
    "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND objid <> 0 "
    f"AND classid = '{ABOUT}'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)

_CREATION = 0x7363_6865_646C_6162
"""Key of the lock while a store is created, when there is no table yet: "schedlab"."""

_claims: dict[str, tuple[Any, set[int]]] = {}
"""By location: this process's connection with its locks, and the numbers of the runs."""


def driver() -> Any:
    """Return the module of PostgreSQL's driver; StoreError when it is not installed."""
    try:
        import psycopg
    except ImportError as error:
        todo = "install it with: pip install 'schedlab[scale]'"
        raise StoreError(f"a store in PostgreSQL needs the package psycopg ({error})", todo=todo) from error
    return psycopg


def connect(where: Location) -> Any:
    """Return a connection of the driver; StoreError with the server's reason if the connection fails."""
    psycopg = driver()
    try:
        return psycopg.connect(where.url, fallback_application_name="schedlab")
    except psycopg.Error as error:
        raise (explain(error, str(where)) or error) from error


def explain(error: Exception, where: str) -> StoreError | None:
    """Convert an error of the driver to a StoreError with a remedy; None for any other error. No message contains a
    password."""
    psycopg = sys.modules.get("psycopg")
    if psycopg is None or not isinstance(error, psycopg.Error):
        return None
    reason = " ".join(str(error).split())
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        todo = "the owner of the store gives the right: 'schedlab store grant writer USER' (or reader)"
    elif "password" in reason:
        todo = "put the password into ~/.pgpass (HOST:PORT:DATABASE:USER:PASSWORD, mode 0600) or $PGPASSWORD"
    elif 'role "' in reason:
        todo = "create the user with 'createuser', or correct the URL"
    elif isinstance(error, psycopg.errors.InvalidCatalogName) or "does not exist" in reason:
        todo = "create the database with 'createdb', or correct the URL"
    else:
        todo = "check the URL, the server and its log; 'psql URL' connects in the same way"
    return StoreError(f"cannot be used: {reason}", where=where, todo=todo)


class Rows:
    """The driver's connection; see :class:`schedlab.store.run_rows.Rows`."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def read(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        rows: list[tuple[Any, ...]] = self.connection.execute(query).fetchall()
        return rows

    def has_ended(self, run: int, process: str | None) -> bool:
        """Whether no process holds the lock of a run that was running.

        A run that ended after its row was read has recorded its end before the lock was released.
        """
        return run not in self._running and self.read(f"SELECT state FROM run WHERE id = {run:d}") == [("running",)]

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    @cached_property
    def _running(self) -> set[int]:
        return {number for (number,) in self.read(_RUNNING)}


def open_rows(where: Location) -> Rows:
    """Open a store for its rows of runs; errors as for :func:`schedlab.store.file.open_store`."""
    connection = connect(where)
    try:
        _prepare(connection, where, create=False)
        return Rows(connection)
    except BaseException as error:
        connection.close()
        if isinstance(error, driver().Error):
            raise (explain(error, str(where)) or error) from error
        raise


def exists(where: Location) -> bool:
    """Whether the database contains a table of schedlab."""
    with connect(where) as connection:
        return bool(_columns(connection).keys() & TABLES.keys())


def open_engine(where: Location, *, create: bool) -> Engine:
    """See :func:`schedlab.store.file.open_store`. The database itself must exist."""
    from sqlalchemy import URL, create_engine

    connection = connect(where)
    try:
        _prepare(connection, where, create=create)
    except driver().Error as error:
        raise (explain(error, str(where)) or error) from error
    finally:
        connection.close()
    # The address names the store in messages; the driver gets the URL with all its options. A long trial may outlast an
    # idle connection.
    url = URL.create("postgresql+psycopg", database=str(where))
    return create_engine(url, creator=lambda: connect(where), pool_pre_ping=True)


def _prepare(connection: Any, where: Location, *, create: bool) -> None:
    """Check that the database contains a complete store of this version; with ``create`` make the store in an empty
    schema. An old store is upgraded. All changes are one transaction."""
    columns = _columns(connection)
    if create and not columns:
        with _changed(connection, where) as changed:
            from schedlab.store.schema import create_tables

            if not _columns(connection):  # another process may have made the store meanwhile
                create_tables(changed)
        columns = _columns(connection)
    if ABOUT not in columns:
        if columns:
            todo = "name an empty database, or another schema (?options=-csearch_path%3DNAME)"
            raise refusal(f"contains tables of another program ({', '.join(sorted(columns)[:3])})", str(where), todo)
        raise StoreError(MISSING, where=str(where), todo="make a store with 'schedlab run FILE --store URL'")
    stored = _version(connection)
    if is_old(stored):
        with _changed(connection, where) as changed:
            from schedlab.store.migrations import upgrade

            if is_old(stored := _version(connection)) and stored is not None:
                upgrade(changed, int(str(stored[0])))
        stored, columns = _version(connection), _columns(connection)
    if stored is None or stored[0] != VERSION:
        raise version_refusal(stored, str(where))
    if missing := missing_parts(columns):
        raise refusal(missing, str(where))


def _columns(connection: Any) -> dict[str, set[str]]:
    """Return the columns of each table of the current schema."""
    query = (
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "
        "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT a.attisdropped"
    )
    columns: dict[str, set[str]] = {}
    for table, column in connection.execute(query):
        columns.setdefault(table, set()).add(column)
    return columns


def _version(connection: Any) -> tuple[object, str] | None:
    stored: tuple[object, str] | None = connection.execute(f"SELECT version, written_by FROM {ABOUT}").fetchone()
    return stored


@contextmanager
def _changed(connection: Any, where: Location) -> Iterator[Connection]:
    """Yield SQLAlchemy's connection over a connection of the driver, in a transaction for changes of the tables that no
    other process changes meanwhile."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import StaticPool

    engine = create_engine("postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool)
    try:
        with engine.begin() as changed:
            changed.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION})")
            yield changed
    except DBAPIError as error:
        cause = error.orig if isinstance(error.orig, Exception) else error
        raise (explain(cause, str(where)) or error) from error


def rows_of(connection: Connection) -> Rows:
    """Return the driver's connection of a connection."""
    return Rows(connection.connection.driver_connection)


def connector(engine: Engine) -> Callable[[], Any]:
    """Return a function that connects to the database of an open store, for the tables of other programs."""
    return partial(connect, Location(url=str(engine.url.database)))


def begin_snapshot(connection: Connection) -> None:
    """Let all queries of a connection read the same state. Otherwise each query reads the newest state."""
    connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def begin_alone(connection: Connection) -> None:
    """Wait until no other transaction of this function is open, and keep others waiting until the end."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_KEY})")


def begin_write(connection: Connection) -> None:
    """Nothing: processes get different numbers, and transactions lock the rows that they change."""


def confirm(connection: Connection) -> None:
    """Nothing: the server has confirmed the commit."""


def numbers(connection: Connection, table: str, count: int) -> list[int]:
    """Return new numbers for the column ``id``, ascending. Other processes get other numbers."""
    query = f"SELECT nextval(pg_get_serial_sequence('{table}', 'id')) FROM generate_series(1, {count:d})"
    return sorted(connection.exec_driver_sql(query).scalars())


def faults(connection: Connection) -> list[str]:
    """Nothing: PostgreSQL's check of its files, pg_amcheck, needs a superuser."""
    return []


def description(connection: Connection) -> Description:
    """Return facts about the server, the database's tables, and the connection."""
    tables = ", ".join(f"'{name}'::regclass" for name in TABLES)
    facts = connection.exec_driver_sql(
        "SELECT current_setting('server_version'), current_user, "
        f"(SELECT sum(pg_total_relation_size(t)) FROM unnest(ARRAY[{tables}]) t)::bigint, "
        f"pg_has_role((SELECT relowner FROM pg_class WHERE oid = '{ABOUT}'::regclass), 'USAGE'), "
        "has_table_privilege('run', 'INSERT'), "
        "(SELECT CASE WHEN ssl THEN concat(version, ' ', cipher) END FROM pg_stat_ssl WHERE pid = pg_backend_pid()), "
        "inet_server_addr() IS NULL"
    ).one()
    version, user, size, owns, writes, tls, is_local = facts
    return Description(
        database=f"PostgreSQL {version.split()[0]}",
        size=size,
        user=user,
        rights="owner" if owns else "writer" if writes else "reader",
        tls=tls or ("none (Unix socket)" if is_local else "none"),
    )


def continue_numbers(connection: Connection) -> None:
    """Let new rows get numbers after the rows that were inserted with their numbers."""
    for table, columns in TABLES.items():
        if any(column.name == "id" for column in columns):
            highest = f"(SELECT coalesce(max(id), 0) + 1 FROM {table})"
            connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {highest}, false)")


def grants(connection: Connection, role: Literal["reader", "writer", "owner"], user: str) -> list[str]:
    """Return the statements that give a user exactly the rights of a role.

    Args:
        role: a reader reads; a writer also adds runs, and cannot delete or drop; the owner also upgrades and drops. The
            rights include Optuna's tables, see :mod:`schedlab.execution.studies`.
        user: an existing user of the server.
    """
    from psycopg import sql

    database, space = connection.exec_driver_sql("SELECT current_database(), current_schema()").one()
    words = {
        "user": sql.Identifier(user).as_string(),
        "database": sql.Identifier(database).as_string(),
        "schema": sql.Identifier(space).as_string(),
    }
    others = sorted(_columns(rows_of(connection).connection).keys() - TABLES.keys())
    tables = [*TABLES, *(sql.Identifier(name).as_string() for name in others)]
    data = ", ".join(name for name in tables if name != ABOUT)
    if role == "owner":
        lines = [f"ALTER TABLE {name} OWNER TO {{user}}" for name in tables]
        return [line.format(**words) for line in ("GRANT USAGE, CREATE ON SCHEMA {schema} TO {user}", *lines)]
    future = "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema}"
    lines = [
        "GRANT CONNECT ON DATABASE {database} TO {user}",
        "GRANT USAGE ON SCHEMA {schema} TO {user}",
        "REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {user}",
        "REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {user}",
        f"{future} REVOKE ALL ON TABLES FROM {{user}}",
        f"{future} REVOKE ALL ON SEQUENCES FROM {{user}}",
        "GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {user}",
        f"{future} GRANT SELECT ON TABLES TO {{user}}",
    ]
    if role == "writer":
        lines += [
            f"GRANT INSERT, UPDATE ON {data} TO {{user}}",
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {user}",
            f"{future} GRANT INSERT, UPDATE ON TABLES TO {{user}}",
            f"{future} GRANT USAGE ON SEQUENCES TO {{user}}",
        ]
    return [line.format(**words) for line in lines]


def claim(engine: Engine, run_id: int, state: str, process: str | None) -> bool:
    """Let this process run a run, until :func:`release` or the end of the process; False if another process runs it.

    Whether another process, here or on another machine, runs the run is decided by the lock alone.
    """
    text = str(engine.url.database)
    if text in _claims:
        connection, runs = _claims[text]
        try:
            connection.execute("SELECT 1")
        except driver().Error:  # the server has ended the connection, and with it all locks
            del _claims[text]
        else:
            if run_id in runs:
                return True
    if text not in _claims:
        connection = connect(Location(url=text))
        connection.autocommit = True
        # The server notices within two minutes that the machine of this process is gone (over TCP).
        for setting in ("idle = 60", "interval = 10", "count = 6"):
            connection.execute(f"SET tcp_keepalives_{setting}")
        _claims[text] = connection, set()
    connection, runs = _claims[text]
    is_claimed: bool = connection.execute(f"SELECT pg_try_advisory_lock({_KEY} + {run_id:d})").fetchone()[0]
    if is_claimed:
        runs.add(run_id)
    return is_claimed


def release(engine: Engine, run_id: int) -> None:
    """Give up the claim of this process on a run."""
    connection, runs = _claims.get(str(engine.url.database), (None, set()))
    if run_id in runs:
        runs.remove(run_id)
        with suppress(driver().Error):  # a lost connection has no locks
            connection.execute(f"SELECT pg_advisory_unlock({_KEY} + {run_id:d})")

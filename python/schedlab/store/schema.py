"""The store's tables for SQLAlchemy, made from :mod:`schedlab.store.tables`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    func,
    insert,
    literal_column,
)
from sqlalchemy.pool import StaticPool

from schedlab.store import tables
from schedlab.store.tables import VERSION

metadata = MetaData()

_TYPES = {
    "INTEGER": Integer,
    "BIGINT": BigInteger,
    "FLOAT": Float,
    "VARCHAR": String,
    "TEXT": Text,
    "BLOB": LargeBinary,
}


def _table(name: str, *constraints: UniqueConstraint) -> Table:
    return Table(name, metadata, *map(_column, tables.TABLES[name]), *constraints)


def _column(column: tables.Column) -> Column[Any]:
    parent = [ForeignKey(f"{column.parent}.id", ondelete="CASCADE")] if column.parent else []
    return Column(
        column.name,
        _TYPES[column.type],
        *parent,
        primary_key=column.key,
        nullable=column.nullable,
        default=column.default,
    )


about = _table("schedlab_store")
run = _table("run")
cell = _table("cell")
metric = _table("metric")
trial = _table("trial", UniqueConstraint("cell_id", "iteration", name="trial_once"))
samples = _table("samples")
output = _table("output")
printed = _table("printed")
campaign = _table("campaign")
candidate = _table(
    "candidate",
    UniqueConstraint("campaign_id", "position", name="position_once"),
    UniqueConstraint("campaign_id", "content", name="content_once"),
)

current = cell.c.superseded == literal_column("0")
"""Cells that were not measured again. A literal, because SQLite does not use ``cell_once`` with a bound parameter."""

_key = (cell.c.run_id, cell.c.phase, cell.c.block, cell.c.variant, cell.c.workload)
_once = (
    Index("cell_once", *_key, cell.c.parameters, unique=True).ddl_if("sqlite"),
    # An entry of an index has at most 2,704 bytes in PostgreSQL, and parameters may be longer.
    Index("cell_once", *_key, func.md5(cell.c.parameters), unique=True).ddl_if("postgresql"),
)


@event.listens_for(cell, "before_create")
def _index_current_cells(_table: Table, connection: Connection, **_options: Any) -> None:
    """Restrict ``cell_once`` to current cells. The constructor's ``DIALECT_where`` would import every named dialect."""
    for index in _once:
        index.dialect_options[connection.dialect.name]["where"] = current


def create_tables(connection: Connection) -> None:
    """Create the tables of a store in an empty database, in the transaction of the connection."""
    from importlib.metadata import version  # slow to load, and only a new store records the version

    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(about).values(version=VERSION, written_by=version("schedlab")))


def store_in_memory() -> Engine:
    """Create a store in memory, which ends with the process."""
    # A single connection, because the store also ends with the connection that made it.
    engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        create_tables(connection)
    return engine


def insert_row(connection: Connection, table: Table, values: Mapping[str, Any]) -> int:
    """Insert a row; return its number."""
    key = connection.execute(insert(table), dict(values)).inserted_primary_key
    assert key is not None
    return int(key[0])

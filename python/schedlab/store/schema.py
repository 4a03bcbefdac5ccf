"""The store's tables.

    run 1 ──▶ n cell 1 ──▶ n metric
                     1 ──▶ n trial 1 ──▶ 0..n samples
                                   1 ──▶ 0..1 output
          1 ──▶ n printed (imported runs only)

A cell is a variant in a row within a block. A cell stores conditions, every metric and checksums as arrays with a value
for each iteration, so that a report over a million trials reads and verifies a few thousand rows. The other tables have
a checksum in each row, see :mod:`schedlab.store.checksums`. A failed trial also has a row, with the reason of its
failure. The SQL is portable: no statement depends on SQLite, except in :mod:`schedlab.store.file`.

To change a table: change the definition in this module, raise :data:`VERSION`, and add a script to
``migrations/versions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
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
    event,
    insert,
    literal_column,
)

VERSION = 4
"""Version of these tables, recorded in ``schedlab_store``: 2 added ``printed``, 3 ``cell``, 4 checksums."""

CONDITIONS = ("elapsed", "load", "steal_percent", "other_percent", "mhz_min", "mhz_max")
"""Numbers that ``cell.conditions`` contains for each trial: seconds, and :class:`schedlab.measurement.Conditions`."""

UNCHECKED = {"checked": False}
"""Mark of columns that a row's checksum leaves out: the values change during a run, or number the rows."""

metadata = MetaData()

about = Table(
    "schedlab_store",
    metadata,
    Column("version", Integer, nullable=False),
    Column("written_by", String, nullable=False),
)

run = Table(
    "run",
    metadata,
    Column("id", Integer, primary_key=True, info=UNCHECKED),
    Column("name", String, nullable=False),
    Column("target", String, nullable=False),
    Column("kind", String, nullable=False, doc="origin of the figures, see schedlab.results.kinds"),
    Column("state", String, nullable=False, doc="running, complete, interrupted or refused", info=UNCHECKED),
    Column("seed", String, nullable=False, doc="64 bits, as text"),
    Column("quick", Integer, nullable=False),
    Column("experiment_file", Text, nullable=False, doc="the complete text of the file"),
    Column("experiment_path", Text, nullable=False),
    Column("design", Text, nullable=False, doc="JSON, see schedlab.store.design"),
    Column("planned", Integer, nullable=False, doc="trials in the plan"),
    Column("fingerprint", Text, nullable=False, doc="JSON"),
    Column("fingerprint_hash", String, nullable=False),
    Column("changed", Text, nullable=False, doc="JSON list: parts of the fingerprint that differed at the end"),
    Column("notes", Text, nullable=False, doc="JSON list: data that was not observed, and how to observe the data"),
    Column("started", Float, nullable=False, doc="seconds since 1970, UTC"),
    Column("finished", Float, info=UNCHECKED),
    Column("version", String, nullable=False, doc="version of schedlab"),
    Column("process", String, info=UNCHECKED, doc="the process that runs the run, see schedlab.files.processes"),
    Column("checksum", BigInteger, nullable=False, info=UNCHECKED),
)

cell = Table(
    "cell",
    metadata,
    Column("id", Integer, primary_key=True, info=UNCHECKED),
    Column("run_id", ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False, doc="index in the plan of the cell's first trial"),
    Column("phase", String, nullable=False, doc="warmup or measure"),
    Column("block", Integer, nullable=False),
    Column("variant", String, nullable=False),
    Column("workload", String, nullable=False, doc="the row's label"),
    Column("parameters", Text, nullable=False, doc="canonical JSON"),
    Column("superseded", Integer, nullable=False, default=0, doc="1: the cell was measured again and is not analysed"),
    Column("conditions", LargeBinary, nullable=False, doc="doubles, see CONDITIONS; nan where not observed"),
    Column("clocksources", Text, nullable=False, doc="JSON list: the kernel's clock sources during the trials"),
    Column("checksums", LargeBinary, nullable=False, doc="32 bits for each trial, see schedlab.store.cells"),
    Column("checksum", BigInteger, nullable=False, info=UNCHECKED, doc="over the row and its rows of metric"),
)

metric = Table(
    "metric",
    metadata,
    Column("cell_id", ForeignKey("cell.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("unit", String, primary_key=True),
    Column("direction", String, primary_key=True),
    Column("data", LargeBinary, nullable=False, doc="little-endian doubles by iteration; nan: the trial has no value"),
)

trial = Table(
    "trial",
    metadata,
    Column("id", Integer, primary_key=True, info=UNCHECKED),
    Column("cell_id", ForeignKey("cell.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False, doc="index in the plan"),
    Column("iteration", Integer, nullable=False, doc="index in the cell"),
    Column("state", String, nullable=False, doc="ok, failed or timeout"),
    Column("reason", Text, nullable=False),
    Column("started", Float, nullable=False),
    Column("counters", Text, nullable=False, doc="JSON: counter → its increase during the trial"),
    Column("checksum", BigInteger, nullable=False, info=UNCHECKED),
    UniqueConstraint("cell_id", "iteration", name="trial_once"),
)

samples = Table(
    "samples",
    metadata,
    Column("trial_id", ForeignKey("trial.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True, doc="the metric's name"),
    Column("count", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False, doc="zlib over little-endian doubles"),
    Column("checksum", BigInteger, nullable=False, info=UNCHECKED),
)

output = Table(
    "output",
    metadata,
    Column("trial_id", ForeignKey("trial.id", ondelete="CASCADE"), primary_key=True),
    Column("command", Text, nullable=False),
    Column("stdout", Text, nullable=False),
    Column("stderr", Text, nullable=False),
    Column("checksum", BigInteger, nullable=False, info=UNCHECKED),
)

printed = Table(
    "printed",
    metadata,
    Column("run_id", ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True, doc="index of the table in its source, from 0"),
    Column("layout", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("workload", String, nullable=False),
    Column("body", Text, nullable=False, doc="JSON: columns, rows and cells, see schedlab.results.imported.Table"),
    Column("checksum", BigInteger, nullable=False, info=UNCHECKED),
)

current = cell.c.superseded == literal_column("0")
"""Cells that were not measured again. A literal, because SQLite does not use ``cell_once`` with a bound parameter."""

_key = (cell.c.run_id, cell.c.phase, cell.c.block, cell.c.variant, cell.c.workload, cell.c.parameters)
_once = Index("cell_once", *_key, unique=True)


@event.listens_for(cell, "before_create")
def _index_current_cells(_table: Table, connection: Connection, **_options: Any) -> None:
    """Restrict ``cell_once`` to current cells. The constructor's ``DIALECT_where`` would import every named dialect."""
    _once.dialect_options[connection.dialect.name]["where"] = current


def insert_row(connection: Connection, table: Table, values: Mapping[str, Any]) -> int:
    """Insert a row; return its number."""
    key = connection.execute(insert(table).values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])

"""The columns of the store's tables.

    run 1 ──▶ n cell 1 ──▶ n metric
                     1 ──▶ n trial 1 ──▶ 0..n samples
                                   1 ──▶ 0..1 output
          1 ──▶ n printed (imported runs only)
    campaign 1 ──▶ n candidate 1 ──▶ 0..2 run

A cell is a variant in a row within a block. A cell stores conditions, every metric and checksums as arrays with a value
for each iteration, so that a report over a million trials reads and verifies a few thousand rows. The other tables have
a checksum in each row, see :mod:`schedlab.store.checksums`. A failed trial also has a row, with the reason of its
failure. The SQL is portable: statements of one database are only in :mod:`schedlab.store.sqlite` and
:mod:`schedlab.store.postgres`.

This module imports no library, so that a list of runs is made without SQLAlchemy, which takes a quarter of a second to
load; :mod:`schedlab.store.schema` has the same tables for SQLAlchemy.

To change a table: change the definition in this module, raise :data:`VERSION`, and add a script to
``migrations/versions``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from schedlab.errors import StoreError

ABOUT = "schedlab_store"
"""The table with the version."""

VERSION = 5
"""Version of these tables, recorded in ``schedlab_store``: 5 added ``campaign`` and ``candidate``."""

RELEASED = 4
"""Version of schedlab 0.2.0, the first release. Stores of earlier versions are refused."""

CONDITIONS = ("elapsed", "load", "steal_percent", "other_percent", "mhz_min", "mhz_max")
"""Numbers that ``cell.conditions`` contains for each trial: seconds, and :class:`schedlab.measurement.Conditions`."""

Type = Literal["INTEGER", "BIGINT", "FLOAT", "VARCHAR", "TEXT", "BLOB"]

PYTHON = {"INTEGER": int, "BIGINT": int, "FLOAT": float, "VARCHAR": str, "TEXT": str, "BLOB": bytes}
"""Python's type of each SQL type."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        key: part of the primary key.
        parent: the table whose row this column numbers; the row is deleted with its parent.
        checked: whether the row's checksum covers the value. The checksum leaves out values that change during a run
            and values that number the rows.
    """

    name: str
    type: Type
    key: bool = False
    parent: str = ""
    nullable: bool = False
    default: int | None = None
    checked: bool = True
    doc: str = ""


TABLES: dict[str, tuple[Column, ...]] = {
    "schedlab_store": (
        Column("version", "INTEGER"),
        Column("written_by", "VARCHAR"),
    ),
    "run": (
        Column("id", "INTEGER", key=True, checked=False),
        Column("name", "VARCHAR"),
        Column("target", "VARCHAR"),
        Column("kind", "VARCHAR", doc="origin of the figures, see schedlab.results.kinds"),
        Column("state", "VARCHAR", checked=False, doc="running, complete, interrupted or refused"),
        Column("seed", "VARCHAR", doc="64 bits, as text"),
        Column("quick", "INTEGER"),
        Column("experiment_file", "TEXT", doc="the complete text of the file"),
        Column("experiment_path", "TEXT"),
        Column("design", "TEXT", doc="JSON, see schedlab.store.design"),
        Column("planned", "INTEGER", doc="trials in the plan"),
        Column("fingerprint", "TEXT", doc="JSON"),
        Column("fingerprint_hash", "VARCHAR"),
        Column("changed", "TEXT", doc="JSON list: parts of the fingerprint that differed at the end"),
        Column("notes", "TEXT", doc="JSON list: data that was not observed, and how to observe the data"),
        Column("started", "FLOAT", doc="seconds since 1970, UTC"),
        Column(
            "finished",
            "FLOAT",
            nullable=True,
            checked=False,
            doc="imported: null if the source states 'started', otherwise both are the time of the import",
        ),
        Column("version", "VARCHAR", doc="version of schedlab"),
        Column(
            "process",
            "VARCHAR",
            nullable=True,
            checked=False,
            doc="the process that runs the run, see schedlab.files.processes",
        ),
        Column("checksum", "BIGINT", checked=False),
    ),
    "cell": (
        Column("id", "INTEGER", key=True, checked=False),
        Column("run_id", "INTEGER", parent="run"),
        Column("position", "INTEGER", doc="index in the plan of the cell's first trial"),
        Column("phase", "VARCHAR", doc="warmup or measure"),
        Column("block", "INTEGER"),
        Column("variant", "VARCHAR"),
        Column("workload", "VARCHAR", doc="the row's label"),
        Column("parameters", "TEXT", doc="canonical JSON"),
        Column("superseded", "INTEGER", default=0, doc="1: the cell was measured again and is not analysed"),
        Column("conditions", "BLOB", doc="doubles, see CONDITIONS; nan where not observed"),
        Column("clocksources", "TEXT", doc="JSON list: the kernel's clock sources during the trials"),
        Column("checksums", "BLOB", doc="32 bits for each trial, see schedlab.store.cells"),
        Column("checksum", "BIGINT", checked=False, doc="over the row and its rows of metric"),
    ),
    "metric": (
        Column("cell_id", "INTEGER", parent="cell", key=True),
        Column("name", "VARCHAR", key=True),
        Column("unit", "VARCHAR", key=True),
        Column("direction", "VARCHAR", key=True),
        Column("data", "BLOB", doc="little-endian doubles by iteration; nan: the trial has no value"),
    ),
    "trial": (
        Column("id", "INTEGER", key=True, checked=False),
        Column("cell_id", "INTEGER", parent="cell"),
        Column("position", "INTEGER", doc="index in the plan"),
        Column("iteration", "INTEGER", doc="index in the cell"),
        Column("state", "VARCHAR", doc="ok, failed or timeout"),
        Column("reason", "TEXT"),
        Column("started", "FLOAT"),
        Column("counters", "TEXT", doc="JSON: counter → its increase during the trial"),
        Column("checksum", "BIGINT", checked=False),
    ),
    "samples": (
        Column("trial_id", "INTEGER", parent="trial", key=True),
        Column("name", "VARCHAR", key=True, doc="the metric's name"),
        Column("count", "INTEGER"),
        Column("data", "BLOB", doc="zlib over little-endian doubles"),
        Column("checksum", "BIGINT", checked=False),
    ),
    "output": (
        Column("trial_id", "INTEGER", parent="trial", key=True),
        Column("command", "TEXT"),
        Column("stdout", "TEXT"),
        Column("stderr", "TEXT"),
        Column("checksum", "BIGINT", checked=False),
    ),
    "printed": (
        Column("run_id", "INTEGER", parent="run", key=True),
        Column("position", "INTEGER", key=True, doc="index of the table in its source, from 0"),
        Column("layout", "VARCHAR"),
        Column("title", "TEXT"),
        Column("workload", "VARCHAR"),
        Column("body", "TEXT", doc="JSON: columns, rows and cells, see schedlab.results.imported.Table"),
        Column("checksum", "BIGINT", checked=False),
    ),
    "campaign": (
        Column("id", "INTEGER", key=True, checked=False),
        Column("name", "VARCHAR"),
        Column("alpha", "FLOAT", doc="probability of any false verdict over the whole campaign"),
        Column("delta", "FLOAT", doc="margin of equivalence, relative"),
        Column("blocks", "INTEGER", doc="fresh blocks of a question"),
        Column("experiment_file", "TEXT", doc="the complete text of the file with the baseline"),
        Column("experiment_path", "TEXT"),
        Column("target", "VARCHAR", doc="the target of the command line; empty for the file's target"),
        Column("sysroot", "VARCHAR", doc="the tree of files with the tunables; empty for this machine's"),
        Column("opened", "FLOAT", doc="seconds since 1970, UTC"),
        Column("checksum", "BIGINT", checked=False),
    ),
    "candidate": (
        Column("id", "INTEGER", key=True, checked=False),
        Column("campaign_id", "INTEGER", parent="campaign"),
        Column("position", "INTEGER", doc="from 1, in the order of the first questions; determines the share of alpha"),
        Column("content", "VARCHAR", doc="SHA-256 of the candidate's state"),
        Column("name", "VARCHAR"),
        Column("run_id", "INTEGER", nullable=True, checked=False, doc="the run with the blocks of all questions"),
        Column("holdout_id", "INTEGER", nullable=True, checked=False, doc="the run that confirms the candidate"),
        Column("checksum", "BIGINT", checked=False),
    ),
}
"""The columns of each table."""


def is_old(stored: tuple[object, str] | None) -> bool:
    """Whether the row of ``schedlab_store`` is of an earlier version, which can be upgraded."""
    return stored is not None and isinstance(stored[0], int) and RELEASED <= stored[0] < VERSION


def version_refusal(stored: tuple[object, str] | None, where: str) -> StoreError:
    """Return the error for a store of another version; ``stored`` is its row of ``schedlab_store``."""
    content = "no version" if stored is None else f"version {stored[0]}, written by schedlab {stored[1]}"
    newer = stored is not None and isinstance(stored[0], int) and stored[0] > VERSION
    todo = (
        "use that schedlab or a newer schedlab"
        if newer
        else "keep the store for that schedlab and name a new store here"
    )
    return refusal(f"contains {content}; this schedlab reads version {VERSION}", where, f"{todo} (--store)")


def missing_parts(columns: Mapping[str, Collection[str]]) -> str:
    """Return which tables or columns a store lacks, as the fault of an error; empty if the store is complete.

    Args:
        columns: names of the columns of each table.
    """
    if missing := sorted(TABLES.keys() - columns.keys()):
        return f"is a schedlab store without its tables {', '.join(missing)}"
    lost = sorted(f"{table}.{column.name}" for table in TABLES for column in TABLES[table]
                  if column.name not in columns[table])  # fmt: skip
    return f"is a schedlab store without its columns {', '.join(lost)}" if lost else ""


def refusal(fault: str, where: str, todo: str = "name another store with --store") -> StoreError:
    """Return the error for a database that is not a store of this version."""
    return StoreError(fault, where=where, todo=f"nothing was changed; {todo}")

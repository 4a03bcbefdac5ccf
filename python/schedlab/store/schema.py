"""The store's tables.

    run 1 ──▶ n trial 1 ──▶ n metric 1 ──▶ 0..1 samples
                      1 ──▶ 0..1 output
          1 ──▶ n printed (imported runs only)

A run keeps its experiment file word for word; a trial that failed is a row like any other, with its reason.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    literal_column,
)

VERSION = 2
"""Version of these tables; kept in the file, see :mod:`schedlab.store.file`. 2 added ``printed``."""

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
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("target", String, nullable=False),
    Column("kind", String, nullable=False, doc="real, simulated, scripted, imported: how the figures came to be"),
    Column("state", String, nullable=False, doc="running, complete, interrupted"),
    Column("seed", String, nullable=False, doc="64 bits, as text"),
    Column("quick", Integer, nullable=False),
    Column("experiment_file", Text, nullable=False, doc="word for word"),
    Column("experiment_path", Text, nullable=False),
    Column("design", Text, nullable=False, doc="JSON, see schedlab.store.design"),
    Column("planned", Integer, nullable=False, doc="trials in the plan"),
    Column("fingerprint", Text, nullable=False, doc="JSON"),
    Column("fingerprint_hash", String, nullable=False),
    Column("changed", Text, nullable=False, doc="JSON list: what of the fingerprint was another at the end"),
    Column("notes", Text, nullable=False, doc="JSON list: what could not be observed, and what would turn it on"),
    Column("started", Float, nullable=False, doc="seconds since 1970, UTC"),
    Column("finished", Float),
    Column("version", String, nullable=False, doc="of schedlab"),
)

trial = Table(
    "trial",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False, doc="index in the plan"),
    Column("phase", String, nullable=False, doc="warmup or measure"),
    Column("block", Integer, nullable=False),
    Column("variant", String, nullable=False),
    Column("workload", String, nullable=False, doc="the row's label"),
    Column("parameters", Text, nullable=False, doc="canonical JSON"),
    Column("iteration", Integer, nullable=False),
    Column("state", String, nullable=False, doc="ok, failed or timeout"),
    Column("reason", Text, nullable=False),
    Column("started", Float, nullable=False),
    Column("elapsed", Float, nullable=False, doc="seconds"),
    Column("load", Float, doc="one-minute load average at the start; this and the next null where not watched"),
    Column("steal_percent", Float, doc="of all CPUs' time, taken by the hypervisor"),
    Column("other_percent", Float, doc="of all CPUs' time, used by other processes"),
    Column("mhz_min", Integer),
    Column("mhz_max", Integer),
    Column("clocksource", String),
    Column("counters", Text, nullable=False, doc="JSON: counter → how much it rose during the trial"),
    Column("superseded", Integer, nullable=False, default=0, doc="1: measured again later, not analysed"),
)

metric = Table(
    "metric",
    metadata,
    Column("trial_id", ForeignKey("trial.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("unit", String, nullable=False),
    Column("direction", String, nullable=False),
    Column("value", Float, nullable=False),
    sqlite_with_rowid=False,
)

samples = Table(
    "samples",
    metadata,
    Column("trial_id", ForeignKey("trial.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("count", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False, doc="zlib over little-endian IEEE 754 doubles"),
)

output = Table(
    "output",
    metadata,
    Column("trial_id", ForeignKey("trial.id", ondelete="CASCADE"), primary_key=True),
    Column("command", Text, nullable=False),
    Column("stdout", Text, nullable=False),
    Column("stderr", Text, nullable=False),
)

printed = Table(
    "printed",
    metadata,
    Column("run_id", ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True, doc="of the table in its source, from 0"),
    Column("layout", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("workload", String, nullable=False),
    Column("body", Text, nullable=False, doc="JSON: columns, rows and cells, see schedlab.results.Table"),
    sqlite_with_rowid=False,
)

current = trial.c.superseded == literal_column("0")
"""Trials that were not measured again later. With a parameter for 0 SQLite would look them up behind ``trial_once``."""

Index("trial_once", trial.c.run_id, trial.c.position, unique=True, sqlite_where=current)

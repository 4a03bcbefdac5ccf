"""Version 3: trials belong to cells, and a cell keeps each metric as one array.

Until version 2 a trial repeated its cell's variant, row and block, and each of its values was a row of ``metric``. Only
SQLite stores of that version exist, so this script may use SQL of SQLite.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op

revision, down_revision = "3", "2"

KEY = "run_id, phase, block, variant, workload, parameters, superseded"
CONDITIONS = "load, steal_percent, other_percent, mhz_min, mhz_max, clocksource, counters"


def upgrade() -> None:
    """Replace ``trial`` and ``metric`` by ``cell``, ``trial`` and ``metric``; the numbers of trials stay."""
    connection = op.get_bind()
    op.drop_index("trial_once", "trial")
    op.rename_table("trial", "trial_2")
    op.rename_table("metric", "metric_2")
    _create_tables()
    _copy_trials(connection)
    _copy_values(connection)
    for name in ("cell_of", "metric_2", "trial_2"):
        op.drop_table(name)


def _create_tables() -> None:
    op.create_table(
        "cell",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Integer, sa.ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("phase", sa.String, nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("variant", sa.String, nullable=False),
        sa.Column("workload", sa.String, nullable=False),
        sa.Column("parameters", sa.Text, nullable=False),
        sa.Column("superseded", sa.Integer, nullable=False),
    )
    key = ["run_id", "phase", "block", "variant", "workload", "parameters"]
    op.create_index("cell_once", "cell", key, unique=True, sqlite_where=sa.text("superseded = 0"))
    op.create_table(
        "metric",
        sa.Column("cell_id", sa.Integer, sa.ForeignKey("cell.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("unit", sa.String, primary_key=True),
        sa.Column("direction", sa.String, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "trial",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("cell_id", sa.Integer, sa.ForeignKey("cell.id", ondelete="CASCADE"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("iteration", sa.Integer, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("started", sa.Float, nullable=False),
        sa.Column("elapsed", sa.Float, nullable=False),
        sa.Column("load", sa.Float),
        sa.Column("steal_percent", sa.Float),
        sa.Column("other_percent", sa.Float),
        sa.Column("mhz_min", sa.Integer),
        sa.Column("mhz_max", sa.Integer),
        sa.Column("clocksource", sa.String),
        sa.Column("counters", sa.Text, nullable=False),
        sa.UniqueConstraint("cell_id", "iteration", name="trial_once"),
    )
    op.create_table(
        "cell_of",
        sa.Column("trial_id", sa.Integer, primary_key=True),
        sa.Column("cell_id", sa.Integer, nullable=False),
    )


def _copy_trials(connection: sa.Connection) -> None:
    rows = connection.execute(sa.text(f"SELECT {KEY}, id, position, iteration FROM trial_2 ORDER BY id"))
    cells: list[dict[str, Any]] = []
    pairs: list[dict[str, int]] = []
    latest: dict[tuple[Any, ...], tuple[int, set[int]]] = {}
    for *key, trial, position, iteration in rows:
        cell, iterations = latest.get(tuple(key), (0, set()))
        if not cell or iteration in iterations:
            # An iteration that was superseded several times: a cell has each iteration once.
            names = (name.strip() for name in KEY.split(","))
            cells.append({"id": len(cells) + 1, "position": position, **dict(zip(names, key, strict=True))})
            cell, iterations = latest[tuple(key)] = len(cells), set()
        iterations.add(iteration)
        pairs.append({"trial_id": trial, "cell_id": cell})
    if not pairs:
        return
    connection.execute(
        sa.text(
            f"INSERT INTO cell (id, position, {KEY}) VALUES "
            "(:id, :position, :run_id, :phase, :block, :variant, :workload, :parameters, :superseded)"
        ),
        cells,
    )
    connection.execute(sa.text("INSERT INTO cell_of VALUES (:trial_id, :cell_id)"), pairs)
    connection.execute(
        sa.text(
            f"INSERT INTO trial (id, cell_id, position, iteration, state, reason, started, elapsed, {CONDITIONS}) "
            f"SELECT id, cell_id, position, iteration, state, reason, started, elapsed, {CONDITIONS} "
            "FROM trial_2 JOIN cell_of ON trial_id = id ORDER BY id"
        )
    )


def _copy_values(connection: sa.Connection) -> None:
    query = (
        "SELECT cell_id, name, unit, direction, iteration, value FROM metric_2 JOIN trial ON trial.id = trial_id "
        "ORDER BY cell_id, name, unit, direction, iteration"
    )
    rows = connection.execute(sa.text(query)).yield_per(10_000)
    insert = sa.text("INSERT INTO metric VALUES (:cell_id, :name, :unit, :direction, :data)")
    batch = list(_arrays(rows))
    if batch:
        connection.execute(insert, batch)


def _arrays(rows: sa.CursorResult[Any]) -> Iterator[dict[str, Any]]:
    for (cell, name, unit, direction), group in groupby(rows, key=lambda row: tuple(row[:4])):
        values = {row.iteration: row.value for row in group}
        data = np.full(max(values) + 1, np.nan, "<f8")
        data[list(values)] = list(values.values())
        yield {"cell_id": cell, "name": name, "unit": unit, "direction": direction, "data": data.tobytes()}

"""Version 4: the conditions of a cell's trials are one array, and rows have checksums.

:func:`schedlab.store.migrations.upgrade` computes the checksums. Only SQLite stores of version 3 exist, so this script
may use SQL of SQLite.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op

revision, down_revision = "4", "3"

CONDITIONS = ("elapsed", "load", "steal_percent", "other_percent", "mhz_min", "mhz_max")


def upgrade() -> None:
    """Move the conditions from ``trial`` to ``cell``, and add columns for checksums and the process of a run."""
    op.add_column("run", sa.Column("process", sa.String))
    for table in ("run", "cell", "trial", "samples", "output", "printed"):
        op.add_column(table, sa.Column("checksum", sa.BigInteger, nullable=False, server_default="0"))
    for name, kind, default in (
        ("conditions", sa.LargeBinary, "x''"),
        ("clocksources", sa.Text, "'[]'"),
        ("checksums", sa.LargeBinary, "x''"),
    ):
        op.add_column("cell", sa.Column(name, kind, nullable=False, server_default=sa.text(default)))
    _copy_conditions(op.get_bind())
    for name in (*CONDITIONS, "clocksource"):
        op.drop_column("trial", name)


def _copy_conditions(connection: sa.Connection) -> None:
    columns = ", ".join(CONDITIONS)
    query = f"SELECT cell_id, iteration, clocksource, {columns} FROM trial ORDER BY cell_id, iteration"
    rows = connection.execute(sa.text(query)).yield_per(10_000)
    cells = [_arrays(cell, list(trials)) for cell, trials in groupby(rows, key=lambda row: row.cell_id)]
    if cells:
        statement = "UPDATE cell SET conditions = :conditions, clocksources = :clocksources WHERE id = :id"
        connection.execute(sa.text(statement), cells)


def _arrays(cell: int, trials: list[sa.Row[Any]]) -> dict[str, Any]:
    conditions = np.full((trials[-1].iteration + 1, len(CONDITIONS)), np.nan)
    conditions[[trial.iteration for trial in trials]] = [tuple(trial[3:]) for trial in trials]
    names = sorted({trial.clocksource for trial in trials if trial.clocksource is not None})
    return {"id": cell, "conditions": conditions.astype("<f8").tobytes(), "clocksources": json.dumps(names)}

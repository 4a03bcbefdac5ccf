"""Version 2: printed tables of imported texts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "2", None


def upgrade() -> None:
    """Add the table ``printed``."""
    op.create_table(
        "printed",
        sa.Column("run_id", sa.Integer, sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("layout", sa.String, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("workload", sa.String, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )

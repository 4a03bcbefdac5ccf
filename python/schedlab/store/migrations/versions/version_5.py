"""Version 5: campaigns of ``schedlab judge`` and their candidates."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision, down_revision = "5", None


def upgrade() -> None:
    """Add the tables ``campaign`` and ``candidate``."""
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("alpha", sa.Float, nullable=False),
        sa.Column("delta", sa.Float, nullable=False),
        sa.Column("blocks", sa.Integer, nullable=False),
        sa.Column("experiment_file", sa.Text, nullable=False),
        sa.Column("experiment_path", sa.Text, nullable=False),
        sa.Column("target", sa.String, nullable=False),
        sa.Column("sysroot", sa.String, nullable=False),
        sa.Column("opened", sa.Float, nullable=False),
        sa.Column("checksum", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "candidate",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id", ondelete="CASCADE"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("content", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("run_id", sa.Integer),
        sa.Column("holdout_id", sa.Integer),
        sa.Column("checksum", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("campaign_id", "position", name="position_once"),
        sa.UniqueConstraint("campaign_id", "content", name="content_once"),
    )

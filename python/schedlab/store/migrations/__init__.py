"""Upgrades of stores that earlier versions of schedlab wrote: one alembic script a version, in ``versions``."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from sqlalchemy import Connection, text, update

from schedlab.store.schema import VERSION, about


def upgrade(connection: Connection, stored: int) -> None:
    """Upgrade a store of version ``stored`` in the transaction of ``connection``.

    ``schedlab_store`` records the version, since every schedlab reads it there before anything else. alembic's own
    table exists only while the scripts run.
    """
    from alembic import command  # takes a quarter of a second to load, and most stores need no upgrade
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.stamp(config, "base" if stored == 1 else str(stored), purge=True)
    command.upgrade(config, str(VERSION))
    connection.execute(text("DROP TABLE alembic_version"))
    connection.execute(update(about).values(version=VERSION, written_by=version("schedlab")))

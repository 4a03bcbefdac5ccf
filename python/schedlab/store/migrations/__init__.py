"""Upgrades of stores that earlier versions of schedlab wrote: one alembic script a version, in ``versions``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from schedlab.store.schema import about
from schedlab.store.tables import RELEASED, VERSION

REVISIONS = "schedlab_alembic"
"""The table of alembic."""


def upgrade_file(path: Path) -> None:
    """Upgrade a store in one transaction, while no other process writes to it."""
    engine = create_engine(URL.create("sqlite", database=str(path.absolute())), poolclass=NullPool)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _lock)
    try:
        with engine.begin() as connection:
            stored = connection.execute(select(about.c.version)).scalar()
            # Another process may have upgraded the store while this process waited.
            if isinstance(stored, int) and stored < VERSION:
                upgrade(connection, stored)
    except DBAPIError as error:
        raise (error.orig or error) from error


def _configure(connection: Any, _record: object) -> None:
    # Otherwise the driver commits before each statement that changes a table.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout = 10000")
    # Otherwise renaming a table changes the references of other tables, and dropping a table deletes their rows.
    cursor.execute("PRAGMA foreign_keys = OFF")
    cursor.execute("PRAGMA legacy_alter_table = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _lock(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def upgrade(connection: Connection, stored: int) -> None:
    """Upgrade a store of version ``stored`` in the transaction of ``connection``.

    ``schedlab_store`` records the version, since every schedlab reads this table first. The table of alembic exists
    only while the scripts run, under a name of its own: Optuna's tables in the same database have ``alembic_version``.
    """
    from importlib.metadata import version

    from alembic import command  # takes a quarter of a second to load, and most stores need no upgrade
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes |= {"connection": connection, "version_table": REVISIONS}
    command.stamp(config, "base" if stored == RELEASED else str(stored), purge=True)
    command.upgrade(config, str(VERSION))
    connection.execute(text(f"DROP TABLE {REVISIONS}"))
    connection.execute(update(about).values(version=VERSION, written_by=version("schedlab")))

"""Upgrades of stores that earlier versions of schedlab wrote: one alembic script a version, in ``versions``."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import Connection, bindparam, select, text, update

from schedlab.store import cells, schema
from schedlab.store.checksums import checksum
from schedlab.store.schema import VERSION, about

CHECKSUMS = 4
"""First version whose rows have checksums."""


def upgrade(connection: Connection, stored: int) -> None:
    """Upgrade a store of version ``stored`` in the transaction of ``connection``.

    ``schedlab_store`` records the version, since every schedlab reads this table first. The table of alembic exists
    only while the scripts run.
    """
    from alembic import command  # takes a quarter of a second to load, and most stores need no upgrade
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.stamp(config, "base" if stored == 1 else str(stored), purge=True)
    command.upgrade(config, str(VERSION))
    connection.execute(text("DROP TABLE alembic_version"))
    if stored < CHECKSUMS:
        seal(connection)
    connection.execute(update(about).values(version=VERSION, written_by=version("schedlab")))


def seal(connection: Connection) -> None:
    """Compute the checksums of all rows; rows with values that their column cannot contain are left as damaged."""
    for table in (schema.run, schema.trial, schema.samples, schema.output, schema.printed):
        keys = list(table.primary_key.columns)
        where = (key == bindparam(f"key_{key.name}") for key in keys)
        change = update(table).where(*where).values(checksum=bindparam("new"))
        for rows in connection.execute(select(table)).mappings().partitions(10_000):
            changes = []
            for row in rows:
                with suppress(ValueError):
                    changes.append({f"key_{key.name}": row[key.name] for key in keys} | {"new": checksum(table, row)})
            if changes:
                connection.execute(change, changes)
    for cell_id in connection.execute(select(schema.cell.c.id)).scalars().all():
        with suppress(ValueError, TypeError):
            cells.write(connection, *cells.parse(connection, schema.cell.c.id == cell_id))

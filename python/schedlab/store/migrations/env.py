"""Entry point of alembic: run the scripts on the connection that :func:`schedlab.store.migrations.upgrade` passes."""

from __future__ import annotations

from alembic import context

attributes = context.config.attributes
context.configure(connection=attributes["connection"], version_table=attributes["version_table"])
context.run_migrations()

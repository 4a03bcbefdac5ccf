"""Entry point of alembic: run the scripts on the connection that :func:`schedlab.store.migrations.upgrade` passes."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()

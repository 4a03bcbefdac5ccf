"""A store in memory, for results that are looked at once and not kept."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import StaticPool

from schedlab.results import Import
from schedlab.store import reading
from schedlab.store.importing import record_imports
from schedlab.store.schema import metadata


def held_in_memory(imports: Sequence[Import]) -> tuple[Engine, list[reading.Run]]:
    """A store of these imports that ends with the process, and its runs in their order, baselines first."""
    # One connection for all: a store in memory is gone with the connection that made it.
    engine = create_engine("sqlite://", poolclass=StaticPool)
    metadata.create_all(engine)
    return engine, [reading.run(engine, run_id) for run_id in record_imports(engine, imports)]

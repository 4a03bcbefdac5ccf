"""Opening a store, in a file or in a database, and creating it."""

from __future__ import annotations

from sqlalchemy import Engine

from schedlab.store import backends, location
from schedlab.store.location import Named


def open_store(named: Named, *, create: bool) -> Engine:
    """Open a store; with ``create`` make a missing store, completely or not at all.

    A store of an earlier version is upgraded in one transaction. Without ``create`` a file that cannot be written is
    opened for reading only. Raises StoreError for a missing store (without ``create``), for a damaged store, for a file
    or a database that is not a store, and for an unknown version; nothing is changed then.
    """
    where = location.of(named)
    return backends.at(where).open_engine(where, create=create)

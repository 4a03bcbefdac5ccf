"""Opening and creating a store for SQLAlchemy; :mod:`schedlab.store.sqlite` checks the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import URL, Engine, create_engine, insert
from sqlalchemy.pool import StaticPool

from schedlab.errors import StoreError
from schedlab.files.locks import lock
from schedlab.files.replacement import has_foreign_link, link, new_file
from schedlab.store import sqlite
from schedlab.store.schema import about, metadata
from schedlab.store.tables import VERSION


def open_store(path: Path, *, create: bool) -> Engine:
    """Open the store at ``path``; with ``create`` make a missing file.

    A store of an earlier version is upgraded in one transaction. Without ``create`` a store that cannot be written is
    opened for reading only. Raises StoreError for a missing file (without ``create``), for a file that is damaged or
    not a store, and for an unknown version; the file is not changed. With ``create`` a link of another user is
    refused: in a folder that everybody may write, its owner could choose the file that is written.
    """
    if create and has_foreign_link(path):
        raise StoreError("is a link of another user", where=str(path), todo="name the store's file itself")
    if create and not (path.exists() and path.stat().st_size) and not path.is_dir():
        _create(path)
    sqlite.open_connection(path, create=create).close()
    read_only = sqlite.is_read_only(path, create=create)
    # The address names the store in messages. It is built from parts, because a file name may contain '?' or '%'.
    url = URL.create("sqlite", database=str(path.absolute()))
    return create_engine(url, creator=lambda: sqlite.connect(path, read_only=read_only))


def store_in_memory() -> Engine:
    """Create a store in memory, which ends with the process."""
    from importlib.metadata import version  # slow to load, and only a new store records the version

    # A single connection, because the store also ends with the connection that made it.
    engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        metadata.create_all(connection)
        connection.execute(insert(about).values(version=VERSION, written_by=version("schedlab")))
    return engine


def _create(path: Path) -> None:
    """Create an empty store atomically, even if this process is killed. A store made meanwhile is kept."""
    with store_in_memory().connect() as connection:
        content: bytes = connection.connection.driver_connection.serialize()  # type: ignore[union-attr]
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent) as folder, new_file(path) as (file, name):
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if path.exists() and not path.stat().st_size:
                path.unlink()
            with suppress(FileExistsError):
                link(name, path)
            os.fsync(folder)
    except OSError as error:
        todo = "free space, check the permissions of its folder, or name another file with --store"
        raise StoreError(f"cannot be made: {error.strerror}", where=str(path), todo=todo) from error


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Yield the folder's descriptor with its lock, so that simultaneous runs make a new store only once."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            lock(handle)
        yield handle
    finally:
        os.close(handle)

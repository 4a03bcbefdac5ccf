"""A run's temporary folder: in memory where possible, removed at the end of the run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from schedlab.locks import lock, try_lock

PREFIX = "schedlab-run-"
"""Prefix of the folders' names. A folder of this name whose lock is free belongs to a dead run and is removed."""


def root() -> Path:
    """Return the parent of scratch folders: a memory file system if possible, so that no disk affects the figures."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else Path("/tmp")


@contextmanager
def folder(within: Path | None = None) -> Iterator[Path]:
    """Yield a new folder (default in :func:`root`) and remove it at the exit; first remove folders of killed runs.

    The owner holds the folder's lock. The kernel releases it however the process ends, and it works across containers,
    where process numbers do not.
    """
    place = within or root()
    for other in place.glob(f"{PREFIX}*"):
        _remove_if_dead(other)
    # The hidden name keeps other runs from removing the folder before it is locked.
    new = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=place))
    handle = os.open(new, os.O_RDONLY | os.O_DIRECTORY)
    try:
        lock(handle)
        new = new.rename(new.with_name(new.name.removeprefix(".")))
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)
        os.close(handle)


def _remove_if_dead(folder: Path) -> None:
    """Remove a folder without an owner. Another user's folder cannot be opened and stays."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if try_lock(handle):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)

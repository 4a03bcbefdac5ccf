"""A run's folder for what it needs only while it runs: in memory where there is some, and gone when the run is."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from schedlab.locks import lock, try_lock

PREFIX = "schedlab-run-"
"""Of folders that their owner's lock tells from those of dead runs; nothing else may be called so."""


def root() -> Path:
    """Where scratch folders go: memory if there is some, so that no disk is in the figures."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else Path("/tmp")


@contextmanager
def folder(within: Path | None = None) -> Iterator[Path]:
    """A fresh folder (default in :func:`root`), gone at the exit; those that killed runs left there are removed first.

    A folder is its owner's as long as its lock is held, which ends with the process however it ends, also in
    containers, where process numbers tell nothing.
    """
    place = within or root()
    for left in place.glob(f"{PREFIX}*"):
        _remove_if_dead(left)
    # Under this name nobody takes it for a dead run's before it is locked.
    made = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=place))
    handle = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    try:
        lock(handle)
        made = made.rename(made.with_name(made.name.removeprefix(".")))
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(handle)


def _remove_if_dead(left: Path) -> None:
    """Remove a folder that nobody holds. Other users' cannot be opened and stay, and so does what is being removed."""
    with suppress(OSError):
        handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if try_lock(handle):
                shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(handle)

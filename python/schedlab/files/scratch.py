"""Temporary folders of a run: recorded in a register before they are made, and removed at the end of the run."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

FOLDER = "folder"
"""A folder by its path, with its contents."""

SEGMENT = "segment"
"""A segment of System V shared memory (shmget(2)) by its key."""

GROUP = "group"
"""A control group by its path (cgroups(7))."""

PREFIX = "schedlab-run-"
"""Prefix of the folders' names."""


class Register(Protocol):
    """Register of a run's resources (the journal), which removes the resources of a killed run."""

    def made(self, what: str, name: str) -> None:
        """Record durably that the run is about to make a resource; ``what`` is its kind."""

    def gone(self, what: str, name: str) -> None:
        """Record that the run has removed the resource."""


class NoRegister:
    """Register that records nothing, for places that disappear with the run, such as a guest's file system."""

    def made(self, what: str, name: str) -> None:
        """Do nothing."""

    def gone(self, what: str, name: str) -> None:
        """Do nothing."""


def root() -> Path:
    """Return the parent of scratch folders: a memory file system if possible, so that no disk affects the figures."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else Path("/tmp")


@contextmanager
def folder(register: Register, within: Path | None = None, prefix: str = PREFIX) -> Iterator[Path]:
    """Yield a new folder (default in :func:`root`) that only this user can reach; remove it at the exit."""
    new = (within or root()) / f"{prefix}{secrets.token_hex(8)}"
    register.made(FOLDER, str(new))
    try:
        new.mkdir(mode=0o700)
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if not new.exists():
            register.gone(FOLDER, str(new))

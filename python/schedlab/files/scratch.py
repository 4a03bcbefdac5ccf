"""Temporary folders of a run, removed at the end of the run, and after a kill."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from schedlab.files.folders import LOCKED
from schedlab.files.locks import lock, try_lock

FOLDER = "folder"
"""A folder by its path, with its contents."""

SEGMENT = "segment"
"""A segment of System V shared memory (shmget(2)) by its key."""

GROUP = "group"
"""A control group by its path (cgroups(7))."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

PREFIX = "schedlab-run-"
"""Prefix of the folders' names."""


class Register(Protocol):
    """Register of a run's resources (the journal), which removes the resources of a killed run."""

    def made(self, what: str, name: str) -> None:
        """Record durably that the run is about to make a resource; ``what`` is its kind."""

    def gone(self, what: str, name: str) -> None:
        """Record that the run has removed the resource."""


def root() -> Path:
    """Return the parent of scratch folders: a memory file system if possible, so that no disk affects the figures."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else Path("/tmp")


@contextmanager
def locked_folder(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """Yield a new folder (default in :func:`root`) that only this user can reach; remove it at the exit.

    No register is needed: the folder is locked while its process lives, and the next command of schedlab removes the
    folders of killed processes (:func:`remove_dead`). ``prefix`` begins with ``schedlab-``.
    """
    within = within or root()
    remove_dead(within.glob(f"schedlab-*{LOCKED}"))
    while True:
        new = Path(tempfile.mkdtemp(prefix=prefix, suffix=LOCKED, dir=within))
        file = os.open(new, _FOLDER)
        lock(file)
        if new.exists():
            break
        os.close(file)  # another start has taken the folder for that of a killed process
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)
        os.close(file)


def remove_dead(paths: Iterable[Path]) -> None:
    """Remove each folder that :func:`locked_folder` made for a process that has ended."""
    for path in paths:
        _remove_dead(path)


def _remove_dead(path: Path) -> None:
    """Remove a private folder of this user that no process has locked."""
    try:
        file = os.open(path, _FOLDER)
    except OSError:
        return  # a link, a file, or a folder of another user
    try:
        state = os.fstat(file)
        if state.st_uid == os.geteuid() and not state.st_mode & 0o077 and try_lock(file):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(file)


@contextmanager
def folder(register: Register, within: Path | None = None) -> Iterator[Path]:
    """Yield a new folder (default in :func:`root`) that only this user can reach; remove it at the exit."""
    new = (within or root()) / f"{PREFIX}{secrets.token_hex(8)}"
    register.made(FOLDER, str(new))
    try:
        new.mkdir(mode=0o700)
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if not new.exists():
            register.gone(FOLDER, str(new))

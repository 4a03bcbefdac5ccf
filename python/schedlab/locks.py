"""Advisory locks on open files (flock(2)). The kernel releases a lock when the file is closed or its process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock(file: int, *, shared: bool = False) -> None:
    """Lock an open file; wait until other holders release it. OSError where the file system has no locks."""
    fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def try_lock(file: int) -> bool:
    """Lock an open file exclusively without waiting; False when another open file holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(path: Path, mode: int = 0o666, *, shared: bool = False) -> Iterator[int]:
    """Create the lock file if it is missing and hold its lock; yield its descriptor. The file stays."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    try:
        lock(file, shared=shared)
        yield file
    finally:
        os.close(file)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of this file or folder; False when it does not exist."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(file)
    finally:
        os.close(file)

"""Advisory locks on open files (flock(2)). The kernel releases a lock when the file is closed or its process ends."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A symbolic link could name another file, and opening a named pipe could wait for ever.
_SAFE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def lock(file: int, *, shared: bool = False) -> None:
    """Lock an open file. Wait until other holders release the lock. OSError where the file system has no locks."""
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
    """Create the lock file if the file is missing, lock the file during the block, and yield the descriptor. The file
    stays.

    OSError when the path is not a regular file with a single name.
    """
    while True:
        with _opened(path, mode) as file:
            lock(file, shared=shared)
            if _is_file_of(path, file):
                yield file
                return


def _is_file_of(path: Path, file: int) -> bool:
    """Whether the path is still the name of this open file.

    Somebody may have deleted the file between opening and locking, and another process have locked a new file.
    """
    try:
        return os.path.samestat(path.lstat(), os.fstat(file))
    except FileNotFoundError:
        return False


@contextmanager
def _opened(path: Path, mode: int) -> Iterator[int]:
    """Open a lock file, or create it. OSError for a link, a pipe, a folder, or a file with a second name.

    A holder may write into the lock file. With a second name (a link), another user could choose the file that changes.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | _SAFE, mode)
    try:
        state = os.fstat(file)
        if not stat.S_ISREG(state.st_mode):
            raise PermissionError(1, "is not a regular file", str(path))
        if state.st_nlink > 1:
            raise PermissionError(1, "has a second name (a hard link)", str(path))
        yield file
    finally:
        os.close(file)

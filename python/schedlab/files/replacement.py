"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MOST_LINKS = 40
"""Symbolic links that are followed to one file, as many as the kernel follows (MAXSYMLINKS, linux/namei.h)."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` in one step at the end; an exception removes it.

    A symbolic link is followed if the link and its target both belong to this user. Any other link is replaced: in a
    folder that everybody may write, its owner could choose the file that is overwritten. A device or a pipe
    (``/dev/stdout``) is written directly. OSError when ``path`` is a folder or another user's named pipe, or when its
    folder cannot be written.
    """
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise IsADirectoryError(21, "is a folder", str(path))
        _refuse_named_pipe_of_others(path)
        yield path
        return
    path = _followed(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _followed(path: Path) -> Path:
    """Follow symbolic links from this user's links to this user's files. A target that does not exist is the user's."""
    for _ in range(_MOST_LINKS):
        state = _state(path)
        if state is None or not stat.S_ISLNK(state.st_mode) or not _trusts(path, state):
            return path
        target = path.parent / path.readlink()
        if (state := _state(target)) is not None and not _trusts(target, state):
            return path
        path = target
    return path


def _trusts(path: Path, state: os.stat_result) -> bool:
    """Whether the user or the system (a link of root in a folder that only root can write: /dev/stdout) owns this."""
    if state.st_uid == os.geteuid():
        return True
    folder = path.parent.stat()
    return stat.S_ISLNK(state.st_mode) and state.st_uid == folder.st_uid == 0 and not folder.st_mode & 0o022


def _refuse_named_pipe_of_others(path: Path) -> None:
    """Raise PermissionError for another user's FIFO: its owner would read the file, or let the writer wait for ever."""
    state = _state(path)
    if state is not None and stat.S_ISFIFO(state.st_mode) and state.st_uid != os.geteuid():
        raise PermissionError(1, "is a named pipe of another user", str(path))


def _mode(path: Path) -> int:
    """Mode of the replaced file if it is this user's, else 0666 & ~umask."""
    state = _state(path)
    if state is not None and stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid():
        return state.st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _state(path: Path) -> os.stat_result | None:
    """Return the state of the link or file itself; None when it does not exist."""
    try:
        return path.lstat()
    except FileNotFoundError:
        return None

"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_MOST_LINKS = 40
"""Maximum number of symbolic links that are followed to a file, as in the kernel (MAXSYMLINKS, linux/namei.h)."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of an empty file, which replaces ``path`` in one step at the end of the block, but not after an
    exception.

    A symbolic link is followed if the link and its target both belong to this user. Any other link is replaced: in a
    folder that everybody may write, its owner could choose the file that is overwritten. A device or a pipe
    (``/dev/stdout``) is written directly, also through links of this user. OSError when ``path`` is a folder or another
    user's named pipe, or when its folder cannot be written.
    """
    if path.exists() and not path.is_file() and not has_foreign_link(path):
        if path.is_dir():
            raise IsADirectoryError(21, "is a folder", str(path))
        _refuse_named_pipe_of_others(path)
        yield path
        return
    path = _followed(path)
    with new_file(path) as (file, name):
        yield Path(name)
        os.fchmod(file.fileno(), _mode(path))
        _move(name, path)


@contextmanager
def new_file(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """Yield a file in the folder of ``path`` that only the owner can read, and a name for the file. The end of the
    block removes the name.

    The file has no name in its folder if the file system supports such files (not NFS and FAT): a killed process leaves
    no file. :func:`link` gives the file a name.
    """
    try:
        handle = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    else:
        name = f"/proc/{os.getpid()}/fd/{handle}"
    with os.fdopen(handle, "wb") as file:
        try:
            yield file, name
        finally:
            if not _is_unnamed(name):
                Path(name).unlink(missing_ok=True)


def link(name: str, path: Path) -> None:
    """Give a new file the name ``path`` beside ``name``; FileExistsError when the path exists."""
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        # A folder's descriptor makes Python call linkat(2), which follows the link that an unnamed file has in /proc.
        os.link(name, path, src_dir_fd=root, follow_symlinks=True)
    finally:
        os.close(root)


def _move(name: str, path: Path) -> None:
    """Put a new file in the place of ``path`` in one step. A kill between link and rename leaves a complete file."""
    if not _is_unnamed(name):
        os.replace(name, path)
        return
    with suppress(FileExistsError):
        link(name, path)
        return
    second = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    link(name, second)
    try:
        os.replace(second, path)
    except BaseException:
        second.unlink(missing_ok=True)
        raise


def _is_unnamed(name: str) -> bool:
    return name.startswith("/proc/")


def has_foreign_link(path: Path) -> bool:
    """Whether the path is a symbolic link of another user, or leads to such a link."""
    end = _links_end(path)
    return end.is_symlink() and not _trusts(end, end.lstat())


def _links_end(path: Path) -> Path:
    """Follow symbolic links of this user and of the system. The end may be a foreign link, and need not exist."""
    for _ in range(_MOST_LINKS):
        state = _state(path)
        if state is None or not stat.S_ISLNK(state.st_mode) or not _trusts(path, state):
            return path
        path = path.parent / path.readlink()
    return path


def _followed(path: Path) -> Path:
    """Follow symbolic links of this user to files of this user. A missing file counts as a file of this user."""
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
    """Whether the user or the system (a link of root in a folder that only root can write: /dev/stdout) owns this
    file or link."""
    if state.st_uid == os.geteuid():
        return True
    folder = path.parent.stat()
    return stat.S_ISLNK(state.st_mode) and state.st_uid == folder.st_uid == 0 and not folder.st_mode & 0o022


def _refuse_named_pipe_of_others(path: Path) -> None:
    """Raise PermissionError for another user's FIFO: its owner would read the file, or let the writer wait for ever."""
    state = _state(_links_end(path))  # None for an anonymous pipe, whose link in /proc leads to no path
    if state is not None and stat.S_ISFIFO(state.st_mode) and state.st_uid != os.geteuid():
        raise PermissionError(1, "is a named pipe of another user", str(path))


def _mode(path: Path) -> int:
    """Mode of the replaced file if this user owns the file, otherwise 0666 & ~umask."""
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

"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from schedlab.files.destination import Destination, Use, destination, is_private

TEMPORARY = ".schedlab-"
"""Prefix of the names of files that are not complete. With the name of the file, a prefix could be too long."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of an empty file, which replaces ``path`` in one step at the end of the block, but not after an
    exception.

    The new content is on the disk before the old content is lost. A device, a named pipe or an open descriptor gets the
    content at the end of the block. OSError (:class:`.Unsuitable`) when ``path`` cannot be written; see
    :mod:`schedlab.files.destination`.
    """
    place = destination(path, Use.OUTPUT)
    if place.stream:
        with tempfile.NamedTemporaryFile(prefix="schedlab-") as copy:
            yield Path(copy.name)
            with Path(copy.name).open("rb") as content, _opened(place.path) as stream:
                shutil.copyfileobj(content, stream)
        return
    with new_file(place.path) as (file, name):
        yield Path(name)
        _take_over(file.fileno(), place)
        os.fsync(file.fileno())
        _move(name, place.path)


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
        handle, name = tempfile.mkstemp(prefix=TEMPORARY, dir=path.parent)
    else:
        name = f"{_unnamed()}/{handle}"
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
    second = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    link(name, second)
    try:
        os.replace(second, path)
    except BaseException:
        second.unlink(missing_ok=True)
        raise


def _unnamed() -> str:
    """Return the folder of the links to files without names."""
    return f"/proc/{os.getpid()}/fd"


def _is_unnamed(name: str) -> bool:
    # A path through an open folder (/proc/self/fd/N/name) has a name.
    return os.path.dirname(name) == _unnamed()


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a device, a pipe, or a descriptor of this process (``/proc/self/fd/1``). What is there already stays."""
    if path.parent.name == "fd" and path.parent.samefile("/proc/self/fd"):
        # A redirection keeps its position, and a socket can only be used through its descriptor.
        handle = os.dup(int(path.name))
    else:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "wb") as stream:
        yield stream


def _take_over(file: int, place: Destination) -> None:
    """Give a new file the owner, group, mode and attributes of the file that it replaces.

    A file of another user counts only in a private folder: elsewhere that user could choose who reads the content.
    Without such a file the mode is 0666 & ~umask.
    """
    state = place.state
    if state is None or not stat.S_ISREG(state.st_mode) or not _counts(place.path, state):
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(file, 0o666 & ~mask)
        return
    mode = state.st_mode & 0o777
    try:
        os.fchown(file, state.st_uid, state.st_gid)
    except OSError:
        mode &= ~0o070 | (mode & 0o007) << 3  # the rights of that group are not for another group
    os.fchmod(file, mode)
    with suppress(OSError):  # a file system without attributes
        for name in os.listxattr(place.path, follow_symlinks=False):
            if name.startswith("user.") or name == "system.posix_acl_access":
                os.setxattr(file, name, os.getxattr(place.path, name, follow_symlinks=False))


def _counts(path: Path, state: os.stat_result) -> bool:
    return state.st_uid == os.geteuid() or is_private(path.parent, state.st_uid)

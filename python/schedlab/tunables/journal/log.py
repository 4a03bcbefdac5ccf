"""The journal's file while its run is alive: created whole, locked, appended to."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from schedlab.locks import lock
from schedlab.tunables.errors import JournalError

from .records import Opened, Record, encode

SUFFIX = ".jsonl"
UNBORN = ".unborn"
"""Ending of a journal that is not yet whole; one that stays like this told of no write."""


class Log:
    """An append-only file that its process holds locked until it closes it or dies."""

    def __init__(self, directory: Path, opened: Opened) -> None:
        """Create `directory`/RUN.PID.jsonl with its first record, durably. JournalError when that fails."""
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path = _free_name(directory, f"{opened.run}.{opened.pid}")
            unborn = self.path.with_suffix(UNBORN)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            self._handle = os.open(unborn, flags, 0o600)
            # Locked before it has its name: nobody may find a live run's journal unlocked.
            lock(self._handle)
            self.append([opened], durable=True)
            os.rename(unborn, self.path)
            sync_directory(directory)
        except OSError as error:
            reason = error.strerror or str(error)
            raise JournalError(f"cannot keep a journal in {directory}: {reason}; nothing was changed") from error

    def append(self, records: list[Record], *, durable: bool) -> None:
        """Add records whole or not at all; with `durable`, they are on disk on return. OSError when that fails."""
        data = b"".join(encode(record) for record in records)
        before = os.fstat(self._handle).st_size
        try:
            if os.write(self._handle, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            os.ftruncate(self._handle, before)
            raise
        if durable:
            os.fsync(self._handle)

    def close(self) -> None:
        """Give the lock back; the file stays."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def append_to_dead(path: Path, record: Record) -> None:
    """Add a record to the journal of a dead run, in place of a line that it left unfinished."""
    with path.open("r+b") as file:
        file.truncate(file.read().rfind(b"\n") + 1)
        file.seek(0, os.SEEK_END)
        file.write(encode(record))


def remove(path: Path) -> None:
    """Delete a journal that has nothing left to undo, durably."""
    with suppress(FileNotFoundError):  # the whole directory may be gone by now
        path.unlink()
        sync_directory(path.parent)


def set_aside(path: Path) -> Path:
    """Move a journal that named values somebody else changed to `left-alone/`; gives its new place.

    It has nothing left to undo and must not be looked at again: a value that later happens to look like one of
    ours would be taken for it. Its originals stay on record for whoever wonders.
    """
    folder = path.parent / "left-alone"
    folder.mkdir(exist_ok=True, mode=0o700)
    target = folder / path.name
    path.rename(target)
    sync_directory(folder)
    sync_directory(path.parent)
    return target


def sync_directory(path: Path) -> None:
    """Make names in a directory durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _free_name(directory: Path, stem: str) -> Path:
    for suffix in ("", *(f".{n}" for n in range(2, 1000))):
        path = directory / f"{stem}{suffix}{SUFFIX}"
        if not path.exists():
            return path
    raise FileExistsError(errno.EEXIST, "too many journals of one name", str(directory))

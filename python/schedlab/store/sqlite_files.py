"""The files of a store in SQLite: which files may be a store, the files that SQLite makes beside a store, and a store
whose file is deleted while a command writes to it."""

from __future__ import annotations

import grp
import os
import pwd
import sqlite3
import stat
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path

from schedlab.errors import StoreError
from schedlab.files.destination import Exposed, Use, destination, state_of
from schedlab.files.replacement import link, new_file

JOURNAL = "-journal"
COMPANIONS = ("-wal", "-shm", JOURNAL)
"""Endings of the files that SQLite reads and writes beside a database (https://www.sqlite.org/tempfiles.html)."""


class StoreConnection(sqlite3.Connection):
    """Connection that knows which file it has opened."""

    opened: Path
    identity: tuple[int, int] | None = None
    saved: Path | None = None
    """Copy of a deleted store."""

    def mark(self, path: Path) -> None:
        """Note the file that the path leads to now."""
        self.opened, self.identity = path, _identity(path)

    def require_file(self) -> None:
        """Raise StoreError if the path no longer leads to the open file, after saving the content under a new name."""
        if self.identity is None or _identity(self.opened) == self.identity:
            return
        self.saved = self.saved or _saved(self, self.opened)
        todo = "run the command again"
        if self.saved is not None:
            todo = f"the results until now are in {self.saved}: name this file with --store, or rename it"
        raise StoreError("was deleted or replaced while this command wrote to it", where=str(self.opened), todo=todo)


def require_usable(path: Path, *, create: bool) -> None:
    """Raise StoreError unless the path is a regular file, or absent, and other users cannot change what SQLite reads.

    Args:
        path: of the store.
        create: whether this process may create and write the store. Links and files of other users, and folders in
            which other users can create files, are refused then.
    """
    try:
        file = destination(path, Use.NEW_STORE if create else Use.STORE)
    except OSError as error:
        todo = "name a regular file in an existing folder; commands that measure keep nothing with --no-store"
        if isinstance(error, NotADirectoryError):
            todo = "give a path in a folder: a part of this path is a file"
        if isinstance(error, Exposed):
            todo = "name a store in a folder that only you can write; 'chmod go-w' removes the rights of others"
        raise StoreError(f"cannot be a store: {error.strerror}", where=str(path), todo=todo) from error
    for ending in COMPANIONS:
        companion = file.path.with_name(f"{file.path.name}{ending}")
        if (state := state_of(companion)) is None or not (fault := _fault(ending, state, file.state)):
            continue
        if file.state is None and state_of(file.path) is not None:  # another process has made the store meanwhile
            require_usable(path, create=create)
            return
        todo = "remove this file if no command of its owner uses the store, or keep the store in a private folder"
        raise StoreError(f"SQLite would use this file with the store, but it {fault}", where=str(companion), todo=todo)


def is_writable(path: Path) -> bool:
    """Whether no other user could change what this process writes into a store."""
    try:
        destination(path, Use.NEW_STORE)
    except OSError:
        return False
    return True


def _fault(ending: str, state: os.stat_result, store: os.stat_result | None) -> str:
    """Return why SQLite must not use a file beside a store; empty if SQLite may use the file."""
    if not stat.S_ISREG(state.st_mode):
        return "is not a regular file"
    if state.st_nlink > 1:
        return "has a second name (a hard link)"
    # A journal may name a further file, which SQLite deletes (https://www.sqlite.org/fileformat2.html, section 3).
    if state.st_uid != os.geteuid() and (ending == JOURNAL or store is None or not _may_write(state.st_uid, store)):
        return "belongs to another user"
    # SQLite would write the rows of the deleted store into the new store.
    return "" if store is not None and store.st_size else "is of a store that was deleted"


def _may_write(user: int, store: os.stat_result) -> bool:
    """Whether the store's mode lets a user write the store."""
    if user == store.st_uid or store.st_mode & stat.S_IWOTH:
        return True
    if not store.st_mode & stat.S_IWGRP:
        return False
    with suppress(KeyError, OSError):
        entry = pwd.getpwuid(user)
        return entry.pw_gid == store.st_gid or entry.pw_name in grp.getgrgid(store.st_gid).gr_mem
    return False


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None when the file does not exist."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _saved(connection: sqlite3.Connection, path: Path) -> Path | None:
    """Save the content of a deleted store in its folder, the working folder, or the folder of temporary files; None
    where that fails."""
    for folder in (path.parent, Path(), Path(tempfile.gettempdir())):
        with suppress(OSError, sqlite3.Error, MemoryError), new_file(folder / path.name) as (file, name):
            file.write(connection.serialize())
            file.flush()
            os.fsync(file.fileno())
            for number in count(1):
                saved = folder / f"{path.stem}-saved-{number}{path.suffix}"
                with suppress(FileExistsError):
                    link(name, saved)
                    return saved.absolute()
    return None

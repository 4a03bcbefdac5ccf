"""The folder of a site, which stays open with its sub-folders while the site is written.

Another user who can change the folder could replace a sub-folder by a link at any time. Links in the place of
sub-folders are refused, and files are then reached through the open folders (proc_pid_fd(5)), whatever their paths lead
to meanwhile.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from schedlab.files.destination import state_of
from schedlab.files.output_file import OutputError, write_whole

_TODO = "name a folder that you can write"
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class SiteFolder:
    """An open folder. Names of files and sub-folders are relative to the folder, such as ``run/1.html``."""

    def __init__(self, path: Path) -> None:
        """Make and open the folder; OutputError when that fails."""
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._handles = {"": os.open(path, _FOLDER)}
        except (FileExistsError, NotADirectoryError) as error:
            raise OutputError("is not a folder", where=str(path), todo=_TODO) from error
        except OSError as error:
            raise OutputError(f"cannot be made: {error.strerror}", where=str(path), todo=_TODO) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for handle in self._handles.values():
            os.close(handle)

    def make(self, name: str) -> None:
        """Make and open a sub-folder of an open folder; OutputError when that fails, or when it is a link."""
        path = self._open_path(name)
        try:
            path.mkdir(exist_ok=True)
            self._handles[name] = os.open(path, _FOLDER | os.O_NOFOLLOW)
        except OSError as error:
            where = str(self.path / name)
            if path.is_symlink():
                raise OutputError("is a symbolic link", where=where, todo="remove the link") from error
            raise OutputError(f"cannot be made: {error.strerror}", where=where, todo=_TODO) from error

    def require_unchanged(self) -> None:
        """Raise OutputError if another folder or a link is in the place of an open sub-folder."""
        for name in filter(None, self._handles):
            state = state_of(self._open_path(name))
            if state is None or not os.path.samestat(state, os.fstat(self._handles[name])):
                todo = "remove what replaced this folder, and run the command again"
                raise OutputError("was replaced while the site was written", where=str(self.path / name), todo=todo)

    def names(self) -> list[str]:
        """Return the names of the files and sub-folders, without the content of sub-folders."""
        return os.listdir(self._open_path("."))

    def read(self, name: str, most: int) -> bytes | None:
        """Return the content of a file; None when the file does not exist.

        OutputError for a file that cannot be read, or is not a regular file of at most ``most`` bytes.
        """
        try:
            content = _content(self._open_path(name), most)
        except FileNotFoundError:
            return None
        except OSError as error:
            fault = f"cannot be read: {error.strerror}"
            raise OutputError(fault, where=str(self.path / name), todo="name another folder") from error
        if content is None:
            fault, todo = (
                f"is not a regular file of at most {most >> 20} MiB",
                "name another folder, or remove this file",
            )
            raise OutputError(fault, where=str(self.path / name), todo=todo)
        return content

    def write(self, name: str, text: str) -> None:
        """Write a file in one step; OutputError when that fails."""
        try:
            write_whole(self._open_path(name), text, _TODO)
        except OutputError as error:
            raise OutputError(error.what, where=str(self.path / name), todo=_TODO) from error

    def remove(self, name: str) -> None:
        """Remove a file, if it exists; OutputError when that fails."""
        try:
            self._open_path(name).unlink(missing_ok=True)
        except OSError as error:
            fault = f"cannot be removed: {error.strerror}"
            raise OutputError(fault, where=str(self.path / name), todo=_TODO) from error

    def _open_path(self, name: str) -> Path:
        """Return a path through the open folder that contains a file."""
        folder, _, last = name.rpartition("/")
        return Path(f"/proc/self/fd/{self._handles[folder]}") / last


def _content(path: Path, most: int) -> bytes | None:
    """Return the content of a regular file of at most ``most`` bytes; None for another file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        if path.is_symlink():
            return None
        raise
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or state.st_size > most:
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        os.close(handle)
    return content if len(content) <= most else None

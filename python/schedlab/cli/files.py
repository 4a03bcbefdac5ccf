"""Writing what was asked for to a file: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from schedlab.errors import SchedlabError


class OutputError(SchedlabError):
    """A file that cannot be written."""


def write_whole(path: Path, data: str | bytes) -> None:
    """Put data at ``path`` in one step, so that a reader never sees half of it; OutputError when it cannot be.

    What is there before stays until then. A device or a pipe (``/dev/stdout``) is written to as it is.
    """
    raw = data.encode() if isinstance(data, str) else data
    try:
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise OutputError("is a folder", where=str(path), todo="name a file with --output")
            path.write_bytes(raw)
        else:
            _replace(path.resolve(), raw)
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror or error}",
            where=str(path),
            todo="name a file in a folder that exists and may be written to, with --output",
        ) from error


def _replace(path: Path, raw: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _rights(path))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _rights(path: Path) -> int:
    """Those of the file that is replaced, else what the process gives to new files."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

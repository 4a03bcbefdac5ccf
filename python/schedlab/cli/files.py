"""Writing what was asked for to a file: whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.whole import replacing


class OutputError(SchedlabError):
    """A file that cannot be written."""


def write_whole(path: Path, data: str | bytes) -> None:
    """Put data at ``path`` in one step, so that a reader never sees half of it; OutputError when it cannot be.

    What is there before stays until then. A device or a pipe (``/dev/stdout``) is written to as it is.
    """
    raw = data.encode() if isinstance(data, str) else data
    with output(path, "--output") as file, file.open("wb") as stream:
        stream.write(raw)
        stream.flush()
        if file != path:
            os.fsync(stream.fileno())


@contextmanager
def output(path: Path, option: str) -> Iterator[Path]:
    """As :func:`schedlab.whole.replacing`; OutputError, which names the option, when the file cannot be written."""
    try:
        with replacing(path) as file:
            yield file
    except OSError as error:
        folder = isinstance(error, IsADirectoryError)
        raise OutputError(
            "is a folder" if folder else f"cannot be written: {error.strerror or error}",
            where=str(path),
            todo=f"name a file with {option}"
            if folder
            else f"name a file in a folder that exists and may be written to, with {option}",
        ) from error

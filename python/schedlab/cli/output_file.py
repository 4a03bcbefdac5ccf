"""Writing an output file, completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.files.destination import Unsuitable
from schedlab.files.replacement import replacing


class OutputError(SchedlabError):
    """A file that cannot be written."""


def write_whole(path: Path, data: str | bytes) -> None:
    """Write data to ``path`` in one step, so that a reader never sees half of it; OutputError when that fails.

    An existing file stays until then. A device or a pipe (``/dev/stdout``) gets the data.
    """
    with output(path, "--output") as file:
        # Names of files that are not UTF-8 are printed in the same way.
        file.write_bytes(data.encode(errors="backslashreplace") if isinstance(data, str) else data)


def require_new(path: Path, option: str) -> None:
    """Refuse a path that exists; OutputError."""
    if os.path.lexists(path):
        raise OutputError("exists already", where=str(path), todo=f"name a new file with {option}, or remove this file")


def write_new(path: Path, text: str, option: str) -> None:
    """Write a file that does not exist yet; OutputError when the file exists. ``option`` names the file in messages."""
    require_new(path, option)
    with output(path, option) as file:
        file.write_text(text, encoding="utf-8")


@contextmanager
def output(path: Path, option: str) -> Iterator[Path]:
    """Like :func:`.replacing`; OutputError names the option when the file cannot be written."""
    try:
        with replacing(path) as file:
            yield file
    except OSError as error:
        reason = error.strerror or str(error)
        fault = reason if isinstance(error, Unsuitable) else f"cannot be written: {reason}"
        todo = f"name a file in an existing, writable folder with {option}"
        raise OutputError(fault, where=str(path), todo=todo) from error

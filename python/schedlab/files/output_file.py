"""Writing an output file, completely or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.files.destination import Unsuitable
from schedlab.files.replacement import replacing


class OutputError(SchedlabError):
    """A file that cannot be written."""


def refuse_terminal(form: str, output: Path | None) -> None:
    """Refuse to print a page on a terminal, and Parquet, which is binary, without a file. OutputError."""
    if output is None and (form == "parquet" or (form == "html" and sys.stdout.isatty())):
        reader = "a browser" if form == "html" else "programs, and is binary"
        raise OutputError(f"is for {reader}", where=f"--format {form}", todo="name a file with -o FILE")


def remedy(option: str) -> str:
    """Return what to do when the file of an option cannot be written."""
    return f"name a file in an existing, writable folder with {option}"


def write_whole(path: Path, data: str | bytes, todo: str) -> None:
    """Write data to ``path`` in one step, so that a reader never sees half of it; OutputError with ``todo`` when that
    fails.

    An existing file stays until then. A device or a pipe (``/dev/stdout``) gets the data.
    """
    with output(path, todo) as file:
        # Names of files that are not UTF-8 are printed in the same way.
        file.write_bytes(data.encode(errors="backslashreplace") if isinstance(data, str) else data)


def require_new(path: Path, option: str) -> None:
    """Refuse a path that exists; OutputError."""
    if os.path.lexists(path):
        raise OutputError("exists already", where=str(path), todo=f"name a new file with {option}, or remove this file")


def write_new(path: Path, text: str, option: str) -> None:
    """Write a file that does not exist yet; OutputError when the file exists. ``option`` names the file in messages."""
    require_new(path, option)
    with output(path, remedy(option)) as file:
        file.write_text(text, encoding="utf-8")


@contextmanager
def output(path: Path, todo: str) -> Iterator[Path]:
    """Like :func:`.replacing`; OutputError with ``todo`` when the file cannot be written."""
    try:
        with replacing(path) as file:
            yield file
    except OSError as error:
        reason = error.strerror or str(error)
        fault = reason if isinstance(error, Unsuitable) else f"cannot be written: {reason}"
        raise OutputError(fault, where=str(path), todo=todo) from error

"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write to, which is put at ``path`` in one step at the end, and is gone after an exception.

    What is at ``path`` before stays until then. A device or a pipe (``/dev/stdout``) is written to as it is. OSError
    when ``path`` is a folder, or in none that may be written to.
    """
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise IsADirectoryError(21, "is a folder", str(path))
        yield path
        return
    path = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
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

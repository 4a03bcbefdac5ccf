"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` in one step at the end; an exception removes it.

    A device or a pipe (``/dev/stdout``) is written directly. OSError when ``path`` is a folder, or when its folder
    cannot be written.
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
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _mode(path: Path) -> int:
    """Mode of the replaced file, else 0666 & ~umask."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

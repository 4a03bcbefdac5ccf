"""The cache folder, and the creation of folders in it. Everything in the cache can be made again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from schedlab.files.locks import locked


def folder() -> Path:
    """Return ``$XDG_CACHE_HOME/schedlab``, by default ``~/.cache/schedlab``."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "schedlab"


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return the folder. If it does not exist, ``make`` fills a temporary folder, which is renamed when complete.

    Processes that call this function at the same time wait for the first process. After an exception of ``make`` no
    folder remains.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(f".{folder.name}.lock")):
        if not folder.is_dir():
            part = folder.with_name(f".{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            try:
                make(part)
                part.rename(folder)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    return folder

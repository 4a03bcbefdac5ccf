"""The cache: where it is, and making a folder of it once, whoever asks for it and however often."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from schedlab.locks import locked


def folder() -> Path:
    """``$XDG_CACHE_HOME/schedlab``, by default ``~/.cache/schedlab``; what is in it can be made again."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "schedlab"


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder; if it is not there yet, ``make`` fills another one, which gets its name only when it is whole.

    Processes that ask at the same time wait for the first. What ``make`` raises goes through; nothing is left then.
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

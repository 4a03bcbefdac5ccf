"""Folders in the cache. Everything in the cache can be made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from schedlab.files import folders, scratch
from schedlab.files.folders import cache as folder
from schedlab.files.locks import locked

__all__ = ["folder", "made_once"]


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return the folder. If it does not exist, ``make`` fills a temporary folder, which is renamed when complete.

    Processes that call this function at the same time wait for the first process. After an exception of ``make`` no
    folder remains; the next command removes the temporary folder of a killed process.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(f".{folder.name}.lock")):
        if not folder.is_dir():
            with scratch.locked_folder("schedlab-part-", _parts(folder)) as private:
                part = private / folder.name
                part.mkdir()
                make(part)
                part.rename(folder)
    return folder


def _parts(folder: Path) -> Path:
    """Return the folder for an incomplete folder: in the cache, where each command removes the folders of killed
    processes, or beside a folder on another file system, from where the folder can be renamed."""
    parts = folders.parts()
    parts.mkdir(parents=True, exist_ok=True)
    return parts if parts.stat().st_dev == folder.parent.stat().st_dev else folder.parent

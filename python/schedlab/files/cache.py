"""Files and folders in the cache. Everything in the cache can be made again.

New content is on the disk before its name exists, so that a power loss leaves the old content or the new content. A
damaged file (of an earlier version, a faulty disk or an incomplete copy) is made again, not reported.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from schedlab.files import folders, scratch
from schedlab.files.folders import cache as folder
from schedlab.files.locks import locked
from schedlab.files.replacement import replacing

_MOST_FILES = 1_000
"""Number of files in a new folder that are synced one by one; for more files, all file systems are synced once."""

__all__ = ["folder", "made_once", "write"]


def write(path: Path, text: str) -> None:
    """Write a file completely or not at all; make its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as new:
        new.write_text(text)


def made_once(
    folder: Path, make: Callable[[Path], None], is_whole: Callable[[Path], bool] = lambda folder: True
) -> Path:
    """Return the folder. If it does not exist or is not whole, ``make`` fills a temporary folder, which is renamed when
    complete.

    Processes that call this function at the same time wait for the first process. After an exception of ``make`` an
    existing folder stays, and no other folder remains; the next command removes the temporary folder of a killed
    process.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(f".{folder.name}.lock")):
        if not (folder.is_dir() and is_whole(folder)):
            with scratch.locked_folder("schedlab-part-", _parts(folder)) as private:
                part = private / folder.name
                part.mkdir()
                make(part)
                _sync(part)
                shutil.rmtree(folder, ignore_errors=True)
                part.rename(folder)
    return folder


def _parts(folder: Path) -> Path:
    """Return the folder for an incomplete folder: in the cache, where each command removes the folders of killed
    processes, or beside a folder on another file system, from where the folder can be renamed."""
    parts = folders.parts()
    parts.mkdir(parents=True, exist_ok=True)
    return parts if parts.stat().st_dev == folder.parent.stat().st_dev else folder.parent


def _sync(folder: Path) -> None:
    """Write all files and folders below a folder to the disk."""
    paths = list(islice(folder.rglob("*"), _MOST_FILES + 1))
    if len(paths) > _MOST_FILES:
        os.sync()
        return
    for path in (*paths, folder):
        if not path.is_symlink() and (path.is_file() or path.is_dir()):
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(file)
            finally:
                os.close(file)

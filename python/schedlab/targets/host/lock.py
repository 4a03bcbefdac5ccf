"""One run at a time on a machine: two would measure each other, and take each other's tunables for the originals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.locks import try_lock

PLACE = Path("/tmp/schedlab-host.lock")
"""Every user must find the same file, also those who may write nowhere else."""

BUSY = "another run is measuring on this machine"
WAIT = "wait for it: two runs at once would measure each other"


@contextmanager
def machine_lock(place: Path = PLACE) -> Iterator[None]:
    """Hold the machine for a run; CannotRunHere names the process that holds it already.

    The lock goes with the process, however it ends; the file stays.
    """
    handle = _open(place)
    try:
        if not try_lock(handle):
            raise CannotRunHere(f"{BUSY} (process {_holder(place)})", todo=WAIT)
        _sign(place)
        yield
    finally:
        os.close(handle)


def holder(place: Path = PLACE) -> str | None:
    """The process that holds the machine now, as text; None when nobody does."""
    handle = _open(place)
    try:
        return None if try_lock(handle) else _holder(place)
    finally:
        os.close(handle)


def _holder(place: Path) -> str:
    return place.read_text(errors="replace").strip() or "unknown"


def _open(place: Path) -> int:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(place, flags)
    except FileNotFoundError:
        before = os.umask(0)
        try:
            return os.open(place, flags | os.O_CREAT, 0o666)
        finally:
            os.umask(before)


def _sign(place: Path) -> None:
    """Leave the holder's process number for others to read; in another user's file that is not possible."""
    try:
        place.write_text(f"{os.getpid()}\n")
    except PermissionError:
        return

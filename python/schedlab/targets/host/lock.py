"""A lock that allows one run at a time on a machine. Two runs would disturb each other's trials and tunables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.locks import try_lock

PLACE = Path("/tmp/schedlab-host.lock")
"""The lock file. Every user must be able to open it, also a user who may write nowhere else."""

BUSY = "another run is measuring on this machine"
WAIT = "wait for it: two runs at once would measure each other"


@contextmanager
def machine_lock(place: Path = PLACE) -> Iterator[None]:
    """Lock the machine for a run; CannotRunHere names the process that holds the lock.

    The kernel releases the lock when the process ends. The file stays.
    """
    handle = _open(place)
    try:
        if not try_lock(handle):
            raise CannotRunHere(f"{BUSY} (process {_holder(place)})", todo=WAIT)
        _write_pid(place)
        yield
    finally:
        os.close(handle)


def holder(place: Path = PLACE) -> str | None:
    """Return the number of the process that holds the lock; None when the machine is free."""
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


def _write_pid(place: Path) -> None:
    """Write this process's number for other processes to read; not possible in another user's file."""
    try:
        place.write_text(f"{os.getpid()}\n")
    except PermissionError:
        return

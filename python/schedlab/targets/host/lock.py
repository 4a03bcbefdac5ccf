"""A lock that allows one run at a time on a machine. Two runs would disturb each other's trials and tunables.

The lock has two parts, and a run holds both:

- A name of the kernel: an abstract Unix socket (unix(7)). The name is not a file, so nobody can delete or replace it.
  All users of a machine share it, but a container with its own network does not see it.
- A locked file in a folder that only its owner can write. Containers that share the folder see it.

The kernel releases both when the process ends.
"""

from __future__ import annotations

import errno
import os
import pwd
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.files import folders
from schedlab.files.locks import try_locked

NAME = "schedlab-machine"
"""The name of the abstract socket, without the leading zero byte."""

FILE = "machine.lock"

BUSY = "another run is measuring on this machine"
WAIT = "wait for it: two runs at once would measure each other"

_WAITING = 4096
"""Pending connections of other processes that ask for the lock's owner; the owner never accepts them."""


@contextmanager
def machine_lock(folder: Path | None = None, name: str = NAME) -> Iterator[None]:
    """Lock the machine for a run; CannotRunHere names the process that holds the lock, or a folder that is not private.

    ``folder`` is the folder of the lock file, by default :func:`schedlab.files.folders.locks`. The file stays.
    """
    with ExitStack() as stack:
        claim = stack.enter_context(socket.socket(socket.AF_UNIX))
        if not _claimed(claim, name):
            raise CannotRunHere(f"{BUSY} ({_owner_of(name)})", todo=WAIT)
        claim.listen(_WAITING)
        with _explained(path := _path(folder)):
            folders.private(path.parent)
            file = stack.enter_context(try_locked(path))
            if file is not None:
                _require_own(path, file)
                os.ftruncate(file, 0)
                os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        if file is None:
            raise CannotRunHere(f"{BUSY} (process {_written(path)})", todo=WAIT)
        yield


def holder(folder: Path | None = None, name: str = NAME) -> str | None:
    """Return who holds the lock (``process 17 of user root``), and None when the machine is free. Creates nothing."""
    with socket.socket(socket.AF_UNIX) as probe:
        if not _claimed(probe, name):
            return _owner_of(name)
    with _explained(path := _path(folder)), ExitStack() as stack:
        if not os.path.lexists(path):
            return None
        folders.private(path.parent)
        file = stack.enter_context(try_locked(path))
        return None if file is not None else f"process {_written(path)}"


def _path(folder: Path | None) -> Path:
    return (folders.locks() if folder is None else folder) / FILE


def _claimed(claim: socket.socket, name: str) -> bool:
    """Give the socket its name; False when another process has the name."""
    try:
        claim.bind(f"\0{name}")
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    return True


def _owner_of(name: str) -> str:
    """Name the process that listens at the socket, as the kernel reports it."""
    with socket.socket(socket.AF_UNIX) as question, suppress(OSError):
        question.setblocking(False)
        question.connect(f"\0{name}")
        # struct ucred of unix(7): pid, uid, gid
        pid, uid, _ = struct.unpack("iII", question.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        try:
            user = pwd.getpwuid(uid).pw_name
        except KeyError:
            user = str(uid)
        return f"process {pid} of user {user}" if pid else f"a process of user {user} in another container"
    return "a process that does not answer"


def _require_own(path: Path, file: int) -> None:
    if os.fstat(file).st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "belongs to another user", str(path))


def _written(path: Path) -> str:
    """Return the process number in the lock file of a live run."""
    with suppress(OSError):
        return path.read_text(errors="replace").strip()[:20] or "unknown"
    return "unknown"


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an OSError into CannotRunHere."""
    try:
        yield
    except OSError as error:
        raise CannotRunHere(
            f"cannot be the lock of this machine: {error.strerror or error}",
            where=str(error.filename or path),
            todo="remove it, or let XDG_RUNTIME_DIR name a folder that only you can write",
        ) from error

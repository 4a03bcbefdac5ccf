"""Resources that a run makes on the machine, and removal of the resources of a dead run.

A journal names each resource before the run makes the resource. Resources that end with their process (processes under
the launcher, namespaces, sockets in a folder of the run) are not recorded.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from schedlab.files.locks import is_locked

from .journal_file import Gone, Made, Record

FOLDER = "folder"
"""A folder by its path, with its contents."""

SEGMENT = "segment"
"""A segment of System V shared memory (shmget(2)) by its key."""

GROUP = "group"
"""A control group by its path (cgroups(7))."""

LOST_AT_BOOT = frozenset({SEGMENT, GROUP})
"""Kinds that a reboot removes. Another resource of the same name belongs to another process."""

_SEGMENTS = Path("/proc/sysvipc/shm")
_IPC_RMID = 0
_KEY_BITS = 0xFFFFFFFF
"""Keys are numbers of 32 bits, which /proc shows with their sign."""

_ENDING_SECONDS = 5.0


@dataclass(frozen=True)
class Removed:
    """A removed resource; `was_there` is False when another process, or a reboot, had already removed it."""

    what: str
    name: str
    was_there: bool

    def __str__(self) -> str:
        return f"{self.what} {self.name} {'removed' if self.was_there else 'no longer exists'}"


@dataclass(frozen=True)
class NotRemoved:
    """A resource that could not be removed. The journal stays, and the next start tries again."""

    what: str
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.what} {self.name} could not be removed: {self.reason}"


def left(records: Iterable[Record]) -> list[Made]:
    """Return the resources that the records announce as made and not as removed, last first."""
    resources: dict[tuple[str, str], Made] = {}
    for record in records:
        match record:
            case Made(what, name):
                resources[what, name] = record
            case Gone(what, name):
                resources.pop((what, name), None)
    return list(reversed(resources.values()))


def remove(resource: Made) -> Removed | NotRemoved:
    """Remove a resource of a run that has ended. Another user's folder, and segments and groups in use, stay."""
    what, name = resource.what, resource.name
    try:
        if what == FOLDER:
            was_there = _remove_folder(Path(name))
        elif what == SEGMENT:
            was_there = _remove_segments(int(name))
        elif what == GROUP:
            was_there = remove_group(Path(name))
        else:
            return NotRemoved(what, name, "this program does not support this kind")
    except OSError as error:
        return NotRemoved(what, name, error.strerror or str(error))
    return Removed(what, name, was_there)


def _remove_folder(path: Path) -> bool:
    """Remove the folder; False when there is no such folder of this user.

    After a reboot another user may have made a folder of this name below /dev/shm or /tmp. A locked folder belongs to a
    live run, which now uses the folder.
    """
    try:
        state = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or is_locked(path):
        return False
    shutil.rmtree(path)
    return True


def remove_group(path: Path) -> bool:
    """Remove a control group; False if there is no such group. OSError while the group contains processes or groups.

    A process leaves its group a moment after its end was reported.
    """
    deadline = time.monotonic() + _ENDING_SECONDS
    while True:
        try:
            path.rmdir()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return True


def _remove_segments(key: int) -> bool:
    """Remove the segments of the key; False if there is no such segment. OSError while a process uses a segment.

    The launcher kills the processes of a dead run, which takes a moment.
    """
    deadline = time.monotonic() + _ENDING_SECONDS
    segments = _segments(key)
    while any(segment.in_use for segment in segments):
        if time.monotonic() > deadline:
            users = ", ".join(f"process {segment.creator} made the resource" for segment in segments if segment.in_use)
            raise OSError(f"the resource is still in use ({users})")
        time.sleep(0.05)
        segments = _segments(key)
    libc = ctypes.CDLL(None, use_errno=True)
    for segment in segments:
        if libc.shmctl(segment.number, _IPC_RMID, None) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return bool(segments)


@dataclass(frozen=True)
class _Segment:
    number: int
    creator: int
    attached: int

    @property
    def in_use(self) -> bool:
        return self.attached > 0 or Path(f"/proc/{self.creator}").exists()


def _segments(key: int) -> list[_Segment]:
    """Return the segments with the key (proc(5): key shmid perms size cpid lpid nattch …)."""
    rows = [[int(field) for field in line.split()[:7]] for line in _SEGMENTS.read_text().splitlines()[1:]]
    return [_Segment(row[1], row[4], row[6]) for row in rows if row[0] & _KEY_BITS == key & _KEY_BITS]

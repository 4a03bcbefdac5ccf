"""Mounting debugfs while a run needs it, and unmounting debugfs after a killed run.

Several runs may need debugfs at once. Each run keeps a shared lock on one file meanwhile. Only a run that can convert
its lock to an exclusive lock unmounts. Mounts of schedlab have the source `schedlab`, which identifies them even after
their run was killed.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedlab.files.locks import locked, try_lock

SOURCE = "schedlab"
DEBUGFS = Path("/sys/kernel/debug")
LOCK = Path("/run/schedlab-debugfs.lock")

# From the kernel's uapi linux/mount.h and linux/fs.h; Python's os has no mount(2).
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_UMOUNT_NOFOLLOW = 8

MOUNTS = Path("/proc/self/mounts")


def source() -> str | None:
    """Return the source of the debugfs at its usual place (`schedlab` for our mount); None when debugfs is not
    mounted."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) > 2 and fields[1] == str(DEBUGFS) and fields[2] == "debugfs":
            return fields[0]
    return None


@contextmanager
def debugfs() -> Iterator[Path]:
    """Mount debugfs for the block, and yield the mount point. Needs root.

    An existing mount is used. At the end a mount of schedlab is unmounted, unless another process uses the mount.
    OSError when the kernel refuses the mount (a container, or a boot with debugfs=off).
    """
    with locked(LOCK, 0o600, shared=True) as handle:
        if source() is None:
            _mount()
        try:
            yield DEBUGFS
        finally:
            _unmount_ours(handle)


def unmount_leftover() -> None:
    """Unmount a debugfs that a killed run mounted, unless another process uses the mount."""
    if source() != SOURCE:
        return
    try:
        handle = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return
    try:
        _unmount_ours(handle)
    finally:
        os.close(handle)


def _unmount_ours(handle: int) -> None:
    if not try_lock(handle):
        return  # another run needs the mount, and will unmount debugfs
    if source() == SOURCE:
        # An error means that the mount is in use, or that the user lacks the right. The next start tries again.
        ctypes.CDLL(None).umount2(os.fsencode(DEBUGFS), _UMOUNT_NOFOLLOW)


def _mount() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    if libc.mount(SOURCE.encode(), os.fsencode(DEBUGFS), b"debugfs", flags, None) != 0:
        failure = ctypes.get_errno() or errno.EIO
        raise OSError(failure, os.strerror(failure), str(DEBUGFS))

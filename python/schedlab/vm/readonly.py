"""Starts a program in a mount namespace of its own in which every file system of this machine is read-only.

A script on the standard library alone: ``python readonly.py PROGRAM ARGUMENTS…``. Whatever the program does, it cannot
write to this machine's files; the mounts that everybody else sees stay as they are. Without the right to make a mount
namespace it makes a user namespace first, in which this user is root. Exit status 125 and a line where it cannot.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
"""unshare(2), linux/sched.h."""
SYS_MOUNT_SETATTR = 442
"""mount_setattr(2), since Linux 5.12; the number is the same on all architectures."""
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
"""linux/fcntl.h."""
MOUNT_ATTR_RDONLY, MS_PRIVATE = 0x1, 1 << 18
"""linux/mount.h."""
FAILED = 125
"""As of env(1) and timeout(1): the starter itself failed."""

_libc = ctypes.CDLL(None, use_errno=True)


def _check(status: int, what: str) -> None:
    if status != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def seal() -> None:
    """Move this process to such a namespace; OSError says what the kernel refused."""
    if _libc.unshare(CLONE_NEWNS) != 0:
        user, group = os.geteuid(), os.getegid()
        _check(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "a user namespace cannot be made")
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"0 {user} 1")
        (own / "gid_map").write_text(f"0 {group} 1")
    # struct mount_attr: what is set, what is cleared, how mounts spread, a user namespace.
    wanted = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY, 0, MS_PRIVATE, 0)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    done = _libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, ctypes.byref(wanted), size)
    _check(done, "mounts cannot be made read-only, which takes Linux 5.12")


def main() -> None:
    """Seal, allow as many open files as this user may have, and become the program."""
    try:
        seal()
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        os.execv(sys.argv[1], sys.argv[1:])
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{where}{error.strerror}", file=sys.stderr)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()

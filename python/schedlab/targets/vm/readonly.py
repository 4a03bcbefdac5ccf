"""Start a program in a mount namespace in which every file system of this machine is read-only.

A script that needs only the standard library: ``python readonly.py PROGRAM ARGUMENTS…``. The program cannot write to
this machine's files; the mounts of other processes do not change. Without the privilege to make a mount namespace, the
script first makes a user namespace in which this user is root. On failure the script prints a line and exits with 125.
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
"""Exit status when this script itself fails, as in env(1) and timeout(1)."""

_libc = ctypes.CDLL(None, use_errno=True)


def _check(status: int, failure: str) -> None:
    if status != 0:
        raise OSError(ctypes.get_errno(), f"{failure}: {os.strerror(ctypes.get_errno())}")


def seal() -> None:
    """Move this process to a read-only mount namespace; OSError names the refused operation."""
    if _libc.unshare(CLONE_NEWNS) != 0:
        user, group = os.geteuid(), os.getegid()
        _check(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "a user namespace cannot be made")
        proc = Path("/proc/self")
        (proc / "setgroups").write_text("deny")
        (proc / "uid_map").write_text(f"0 {user} 1")
        (proc / "gid_map").write_text(f"0 {group} 1")
    # struct mount_attr: attributes to set and to clear, propagation, user namespace.
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY, 0, MS_PRIVATE, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    status = _libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, ctypes.byref(attributes), size)
    _check(status, "mounts cannot be made read-only, which takes Linux 5.12")


def main() -> None:
    """Make the namespace, raise the limit of open files to its maximum, and execute the program."""
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

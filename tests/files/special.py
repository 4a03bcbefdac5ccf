"""Places that are not simply a file: devices, pipes, sockets, links and files of the kernel, in a test's folder."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

UNUSED_MAJOR = 240
"""First major number of devices for local use (Documentation/admin-guide/devices.txt), which no driver has."""


def _char(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))


def _block(path: Path) -> None:
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(UNUSED_MAJOR, 7))


def _socket(path: Path) -> None:
    # The address of a socket has at most 108 bytes, so the name is relative.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


def _link_to_device(path: Path) -> None:
    path.symlink_to("/dev/null")


def _chain(path: Path) -> None:
    path.with_name("second").symlink_to("/dev/null")
    path.with_name("first").symlink_to("second")
    path.symlink_to("first")


def _loop(path: Path) -> None:
    path.with_name("back").symlink_to(path.name)
    path.symlink_to("back")


PLACES: dict[str, Callable[[Path], object]] = {
    "character device": _char,
    "block device": _block,
    "named pipe": os.mkfifo,
    "socket": _socket,
    "link to a device": _link_to_device,
    "chain of links to a device": _chain,
    "file in /proc": lambda path: path.symlink_to("/proc/sys/kernel/ostype"),
    "file in /sys": lambda path: path.symlink_to("/sys/kernel/notes"),
    "folder": Path.mkdir,
    "loop of links": _loop,
    "link into a missing folder": lambda path: path.symlink_to("missing/file"),
    "file that is not a store": lambda path: path.write_text("text\n" * 100),
}
"""Function that makes each place."""

DEVICES = ("character device", "block device")
"""Places that need the right to make devices."""

REASONS = {
    "character device": "is a character device",
    "block device": "is a block device",
    "named pipe": "is a named pipe",
    "socket": "is a socket",
    "link to a device": "is a character device",
    "chain of links to a device": "is a character device",
    "file in /proc": "is in a file system of the kernel (proc)",
    "file in /sys": "is in a file system of the kernel (sysfs)",
    "folder": "is a folder",
    "loop of links": "is a loop of symbolic links",
    "link into a missing folder": "missing does not exist",
}
"""Why each place cannot be a store."""


def state_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return type, device, inode and content of everything in a folder."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.iterdir()):
        state = path.lstat()
        content: object = None
        if stat.S_ISLNK(state.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(state.st_mode):
            content = path.read_bytes()
        elif stat.S_ISDIR(state.st_mode):
            content = sorted(os.listdir(path))
        found[path.name] = stat.S_IFMT(state.st_mode), state.st_rdev, state.st_ino, content
    return found

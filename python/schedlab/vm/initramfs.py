"""The guest's first file system: cpio archives in the kernel's "newc" format.

Format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel. Several archives may follow each
other, each compressed by itself; a plain one behind a compressed one is not found by all kernels, so both are gzipped.
The same files give the same bytes: no times, owners or inode numbers of this machine are in them.
"""

from __future__ import annotations

import gzip
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_MAGIC = b"070701"
_END = "TRAILER!!!"


@dataclass(frozen=True)
class Entry:
    """A file of the guest: contents of a regular file, target of a link; ``mode`` says which it is."""

    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def executable(data: bytes) -> Entry:
    """A program."""
    return Entry(stat.S_IFREG | 0o755, data)


def regular(data: bytes) -> Entry:
    """A file that is only read."""
    return Entry(stat.S_IFREG | 0o644, data)


def link(target: str) -> Entry:
    """A symbolic link."""
    return Entry(stat.S_IFLNK | 0o777, target.encode())


def folder() -> Entry:
    """An empty folder, for something to be mounted on; folders that hold files come by themselves."""
    return Entry(stat.S_IFDIR | 0o755)


CONSOLE = Entry(stat.S_IFCHR | 0o600, device=(5, 1))
"""Number of /dev/console (Documentation/admin-guide/devices.txt)."""


def archive(files: Mapping[str, Entry]) -> bytes:
    """A gzipped archive of files by their absolute path in the guest."""
    whole = dict(files)
    for path in files:
        for parent in PurePosixPath(path).parents:
            if str(parent) != "/":
                whole.setdefault(str(parent), folder())
    entries = [(path.strip("/"), whole[path]) for path in sorted(whole)]
    plain = b"".join(_entries([*entries, (_END, Entry(0))]))
    return gzip.compress(plain, compresslevel=1, mtime=0)


def _entries(entries: Iterable[tuple[str, Entry]]) -> Iterable[bytes]:
    for number, (name, entry) in enumerate(entries, start=1):
        links = 2 if stat.S_ISDIR(entry.mode) else 1
        fields = (number, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.device, len(name.encode()) + 1, 0)
        head = _MAGIC + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        yield _padded(head)
        yield _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)

"""The guest's initial file system: busybox, schedload, init, and programs of this machine, in cpio archives.

Format "newc": Documentation/driver-api/early-userspace/buffer-format.rst of the kernel. Several archives may follow
each other, each compressed separately. Some kernels do not find an uncompressed archive after a compressed archive, so
all archives are gzipped. Equal files give equal bytes: times, owners and inode numbers of this machine are left out.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files as package_files
from pathlib import Path, PurePosixPath

from schedlab.errors import CannotRunHere
from schedlab.workloads.tools import SCHEDLOAD, find

BUSYBOX_PACKAGE = "busybox-static"
GUEST_SCHEDLOAD = "/bin/schedload"

SEE_FILES = "set host_files = true in [target], so that trials see this machine's files"
"""Remedy for a command that needs files of this machine."""

_MAGIC = b"070701"
_END = "TRAILER!!!"
_ELF = b"\x7fELF"
_LIBRARY = re.compile(r"^\s*(?:(\S+) => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_ABSENT = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)


class NotPackable(CannotRunHere):
    """A program that cannot be copied into a guest."""


@dataclass(frozen=True)
class Entry:
    """A file of the guest. ``data`` is the content of a regular file or the target of a link, depending on ``mode``."""

    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def executable(data: bytes) -> Entry:
    """Return the entry of a program."""
    return Entry(stat.S_IFREG | 0o755, data)


def regular(data: bytes) -> Entry:
    """Return the entry of a file without execute permission."""
    return Entry(stat.S_IFREG | 0o644, data)


def link(target: str) -> Entry:
    """Return the entry of a symbolic link."""
    return Entry(stat.S_IFLNK | 0o777, target.encode())


def folder() -> Entry:
    """Return the entry of an empty folder for a mount. :func:`archive` adds the parent folders of files."""
    return Entry(stat.S_IFDIR | 0o755)


CONSOLE = Entry(stat.S_IFCHR | 0o600, device=(5, 1))
"""Number of /dev/console (Documentation/admin-guide/devices.txt)."""


def archive(files: Mapping[str, Entry], present: Collection[str] = ()) -> bytes:
    """Return a gzipped archive of files by their absolute path in the guest.

    The archive has entries for all parent folders, except for folders that are ``present`` in an earlier archive: an
    earlier link to a folder stays a link.
    """
    entries = dict(files)
    for path in files:
        for parent in PurePosixPath(path).parents:
            if str(parent) not in {"/", *present}:
                entries.setdefault(str(parent), folder())
    ordered = [(path.strip("/"), entries[path]) for path in sorted(entries)]
    plain = b"".join(_cpio([*ordered, (_END, Entry(0))]))
    return gzip.compress(plain, compresslevel=1, mtime=0)


def _cpio(entries: Iterable[tuple[str, Entry]]) -> Iterable[bytes]:
    for number, (name, entry) in enumerate(entries, start=1):
        links = 2 if stat.S_ISDIR(entry.mode) else 1
        fields = (number, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.device, len(name.encode()) + 1, 0)
        head = _MAGIC + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        yield _padded(head)
        yield _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def busybox() -> Path | None:
    """Return the path of a static busybox; None if no static busybox is installed."""
    path = shutil.which("busybox")
    return Path(path) if path and not _libraries(Path(path)) else None


def base(programs: Iterable[Path] = ()) -> bytes:
    """Return the archive for all boots. ``programs`` and their libraries keep their paths on this machine.

    Raises CannotRunHere where busybox or schedload is missing, NotPackable for a program that
    cannot be copied.
    """
    shell, load = busybox(), find(SCHEDLOAD)
    if shell is None:
        raise CannotRunHere("there is no static busybox", todo=f"apt-get install {BUSYBOX_PACKAGE}")
    if load is None:
        raise CannotRunHere("schedload is missing", todo=SCHEDLOAD.package)
    if _libraries(load):
        raise NotPackable("schedload is not a static program", where=str(load), todo=SCHEDLOAD.package)
    contents: dict[str, Entry] = {
        "/init": executable((package_files("schedlab.targets.vm") / "init.sh").read_bytes()),
        "/bin/busybox": executable(shell.read_bytes()),
        "/bin/sh": link("busybox"),
        GUEST_SCHEDLOAD: executable(load.read_bytes()),
        "/dev/console": CONSOLE,
        "/etc/passwd": regular(b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"),
        "/etc/group": regular(b"root:x:0:\nnogroup:x:65534:\n"),
        "/etc/hosts": regular(b"127.0.0.1 localhost\n"),
    }
    contents |= {place: folder() for place in ("/proc", "/sys", "/tmp", "/run", "/jobs", "/host")}
    for program in programs:
        contents |= packed(program)
    return archive(contents)


def packed(program: Path) -> Mapping[str, Entry]:
    """Return a program and its linked libraries by their paths; NotPackable states why a program cannot be copied."""
    try:
        head = program.read_bytes()[: len(_ELF)]
    except OSError as error:
        raise NotPackable(
            f"cannot be read: {error.strerror}", where=str(program), todo="check the path and its permissions"
        ) from error
    if head != _ELF:
        raise NotPackable(
            "is a script, and the only interpreter in a guest is the shell of busybox",
            where=str(program),
            todo=f"name the program that the script starts, or {SEE_FILES}",
        )
    return {str(path): executable(path.read_bytes()) for path in [program, *_libraries(program)]}


def _libraries(program: Path) -> list[Path]:
    """Return the libraries that the dynamic linker would load (ldd(1)); none for a static program."""
    environment = os.environ | {"LC_ALL": "C"}  # ldd translates "not found"
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, env=environment, check=False)
    if absent := _ABSENT.search(listed.stdout):
        raise NotPackable(f"the library {absent[1]} is missing", where=str(program), todo="install its package here")
    return [Path(path) for _, path in _LIBRARY.findall(listed.stdout)]

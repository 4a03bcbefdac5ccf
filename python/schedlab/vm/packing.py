"""What a guest's first file system holds: busybox, schedload, the first process, and programs of this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from importlib.resources import files as package_files
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.vm.initramfs import CONSOLE, Entry, archive, executable, folder, link, regular
from schedlab.workloads.tools import SCHEDLOAD, find

BUSYBOX_PACKAGE = "busybox-static"
GUEST_SCHEDLOAD = "/bin/schedload"

SEE_FILES = "let trials see this machine's files by host_files = true in [target]"

_ELF = b"\x7fELF"
_LIBRARY = re.compile(r"^\s*(?:(\S+) => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_ABSENT = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)


class NotPackable(CannotRunHere):
    """A program that cannot be taken into a guest."""


def busybox() -> Path | None:
    """A busybox without libraries; None where there is none."""
    found = shutil.which("busybox")
    return Path(found) if found and not _libraries(Path(found)) else None


def base(programs: Iterable[Path] = ()) -> bytes:
    """The archive that all boots share. ``programs`` come with their libraries, at the places they have here.

    CannotRunHere where busybox or schedload is missing, NotPackable for a program that is none.
    """
    shell, load = busybox(), find(SCHEDLOAD)
    if shell is None:
        raise CannotRunHere("there is no static busybox", todo=f"apt-get install {BUSYBOX_PACKAGE}")
    if load is None:
        raise CannotRunHere("schedload is not built", todo="make build")
    if _libraries(load):
        raise NotPackable("schedload is not a static program", where=str(load), todo="make build")
    contents: dict[str, Entry] = {
        "/init": executable((package_files("schedlab.vm.guest") / "init").read_bytes()),
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
    """A program and the libraries that it is linked with, by their paths here; NotPackable says why it cannot be."""
    try:
        head = program.read_bytes()[: len(_ELF)]
    except OSError as error:
        raise NotPackable(f"cannot be read: {error.strerror}", where=str(program)) from error
    if head != _ELF:
        raise NotPackable(
            "is a script: a guest has no interpreter for it but busybox' shell",
            where=str(program),
            todo=f"name the program that it starts, or {SEE_FILES}",
        )
    return {str(path): executable(path.read_bytes()) for path in [program, *_libraries(program)]}


def _libraries(program: Path) -> list[Path]:
    """What the dynamic linker says that it would load (ldd(1)); nothing for a static program."""
    told = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    if absent := _ABSENT.search(told.stdout):
        raise NotPackable(f"its library {absent[1]} is not installed", where=str(program))
    return [Path(path) for _, path in _LIBRARY.findall(told.stdout)]

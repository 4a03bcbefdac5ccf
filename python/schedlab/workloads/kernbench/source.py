"""Kernel source: a tree that the user names, or the distribution's tree, unpacked once into the cache."""

from __future__ import annotations

import platform
import re
import shutil
from glob import glob
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.files.cache import made_once
from schedlab.workloads import launcher

TARBALLS = "/usr/src/linux-source-*.tar.*"
"""Files of Debian's and Ubuntu's package ``linux-source``."""

UNPACKED_BYTES = 2 << 30
"""Room for an unpacked tree: Linux 6.1 to 6.12 take 1.3 to 1.6 GiB."""

_ARCHITECTURES = {"aarch64": "arm64", "ppc64le": "powerpc", "s390x": "s390", "riscv64": "riscv"}
"""The kernel's ``ARCH`` by the machine of uname(1), where the names differ (``SUBARCH`` in scripts/subarch.include)."""


def architecture() -> str:
    """Return ``ARCH`` for make. Without this setting, tinyconfig chooses a 32-bit kernel on x86-64."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def tarball() -> Path | None:
    """Return the newest source tarball of the distribution; None where the package is missing."""
    tarballs = sorted(glob(TARBALLS), key=lambda path: [int(number) for number in re.findall(r"\d+", path)])
    return Path(tarballs[-1]) if tarballs else None


def problem(tree: Path) -> str | None:
    """Return why this folder cannot be built with its output elsewhere; None when the tree can be built."""
    if not (tree / "Kconfig").is_file() or not (tree / "Makefile").is_file():
        return f"{tree} is not a kernel tree (no Kconfig and Makefile)"
    if (tree / ".config").exists() or (tree / "include" / "config").exists():
        return f"{tree} has been built in place: 'make -C {tree} mrproper' cleans the tree (and deletes its .config)"
    return None


def unpacked(cache: Path) -> Path:
    """Return the distribution's tree, unpacked into the cache the first time; CannotRunHere when that fails."""
    archive = tarball()
    if archive is None:
        raise CannotRunHere("there is no kernel source", where=TARBALLS, todo="apt-get install linux-source")
    state = archive.stat()
    name = archive.name.partition(".tar")[0]
    # Each version of the package has a separate folder.
    folder = cache / "kernel-source" / f"{name}-{state.st_size}-{int(state.st_mtime)}"

    def unpack(part: Path) -> None:
        if shutil.disk_usage(part).free < UNPACKED_BYTES:
            raise CannotRunHere(
                "no room to unpack the kernel source (2 GiB)", where=str(cache), todo=("free space in this file system")
            )
        argv = ["tar", "--extract", "--strip-components=1", f"--file={archive}", f"--directory={part}"]
        if error := launcher.error_of(argv):
            raise CannotRunHere(
                f"cannot be unpacked: {error}", where=str(archive), todo="apt-get install --reinstall linux-source"
            )

    return made_once(folder, unpack)

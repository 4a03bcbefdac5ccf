"""Source and build folder of a kernel tree: a tree that the user names, or the distribution's tree, unpacked once."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.files import scratch
from schedlab.files.cache import made_once
from schedlab.workloads import launcher
from schedlab.workloads.base import Place, Tool
from schedlab.workloads.tools import need

MAKE = Tool("make", "make")
COMPILES = (
    *(Tool(program, program) for program in ("gcc", "flex", "bison", "bc")),
    Tool("libelf.h", "libelf-dev", ("/usr/include/libelf.h", "/usr/include/*/libelf.h")),
)
"""Tools that a kernel build needs apart from a shell and make (Documentation/process/changes.rst)."""
LIBSSL = Tool(
    "openssl/opensslv.h", "libssl-dev", ("/usr/include/openssl/opensslv.h", "/usr/include/*/openssl/opensslv.h")
)
"""Library that is needed to sign modules and keys."""

ENVIRONMENT = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "schedlab",
    "LC_ALL": "C",
}
"""Environment of make. Without the first two, version strings and objects would differ from build to build."""

_ROOM_GIB = {"tinyconfig": 0.5, "allnoconfig": 0.5, "defconfig": 3.0, "allmodconfig": 40.0}
"""Upper bound of a complete build's output in GiB: Linux 6.1 on x86-64; estimated for allmodconfig."""

TARBALLS = "/usr/src/linux-source-*.tar.*"
"""Files of Debian's and Ubuntu's package ``linux-source``."""

UNPACKED_BYTES = 2 << 30
"""Room for an unpacked tree: Linux 6.1 to 6.12 take 1.3 to 1.6 GiB."""

_ARCHITECTURES = {"aarch64": "arm64", "ppc64le": "powerpc", "s390x": "s390", "riscv64": "riscv"}
"""The kernel's ``ARCH`` by the machine of uname(1), where the names differ (``SUBARCH`` in scripts/subarch.include)."""

_CONFIGURED = "source-tree"
"""Link in the output folder to the source, made when the folder is ready."""


@dataclass(frozen=True)
class Build:
    """One tree in one configuration, shared by all rows of a run with the same tree and configuration.

    ``tree`` is a folder, or empty for the distribution's source.
    """

    tree: str
    config: str
    place: Place

    @contextmanager
    def ready(self, jobs: int) -> Iterator[None]:
        """Unpack and configure the source and make the build programs; CannotRunHere names the step that failed."""
        if self._out.is_symlink():
            yield
            return
        tree = Path(self.tree).absolute() if self.tree else unpacked(self.place.cache)
        if problem := tree_problem(tree):
            raise CannotRunHere(problem, where="kernbench", todo="name a clean tree, or no tree for linux-source")
        with self._folder() as folder:
            self._out.symlink_to(folder)
            try:
                (folder / _CONFIGURED).symlink_to(tree)
                for goal in (self.config, "prepare"):
                    if error := self.run(goal, f"-j{jobs}"):
                        raise CannotRunHere(
                            f"make {goal} failed: {error}",
                            where=str(tree),
                            todo="name a tree that this compiler can build",
                        )
                yield
            finally:
                self._out.unlink(missing_ok=True)

    def make(self, *words: str) -> tuple[str, ...]:
        """Return the command line of a silent make with these arguments."""
        out = self._out.resolve()
        tree = (out / _CONFIGURED).resolve()
        return (need(MAKE), "-s", "-C", str(tree), f"O={out}", f"ARCH={architecture()}", *words)

    def empty(self, folder: str) -> None:
        """Remove the build output of one folder of the tree; make then builds this folder only."""
        shutil.rmtree(self._out.resolve() / folder, ignore_errors=True)

    def run(self, *words: str) -> str:
        """Run make, untimed. Return an empty text on success, otherwise the end of the error output."""
        return launcher.error_of(self.make(*words), ENVIRONMENT)

    @property
    def _out(self) -> Path:
        """Link to the output folder, which may be in the scratch folder or in the cache."""
        return self.place.scratch / f"kernbench-{self.tree.replace('/', '_')}-{self.config}"

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """Make a folder in the run's scratch folder, which may be in memory, or in the cache if the scratch folder
        is too small."""
        memory, cache = self.place.scratch, self.place.cache
        is_roomy = shutil.disk_usage(memory).free > 2 * _ROOM_GIB[self.config] * (1 << 30)
        within = memory if is_roomy else cache
        within.mkdir(parents=True, exist_ok=True)
        with scratch.folder(self.place.register, within, "kernel-build-") as folder:
            yield folder


def architecture() -> str:
    """Return ``ARCH`` for make. Without this setting, tinyconfig chooses a 32-bit kernel on x86-64."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def tarball() -> Path | None:
    """Return the newest source tarball of the distribution; None where the package is missing."""
    tarballs = sorted(glob(TARBALLS), key=lambda path: [int(number) for number in re.findall(r"\d+", path)])
    return Path(tarballs[-1]) if tarballs else None


def tree_problem(tree: Path) -> str | None:
    """Return why this folder cannot be built with its output elsewhere; None when the tree can be built."""
    if not (tree / "Kconfig").is_file() or not (tree / "Makefile").is_file():
        return f"{tree} is not a kernel tree (no Kconfig and Makefile)"
    if (tree / ".config").exists() or (tree / "include" / "config").exists():
        return f"{tree} has been built in place: 'make -C {tree} mrproper' cleans the tree (and deletes its .config)"
    return None


def place(cache: Path) -> tuple[Path, Path]:
    """Return the distribution's tarball, and its folder in the cache; CannotRunHere without a tarball."""
    archive = tarball()
    if archive is None:
        raise CannotRunHere("there is no kernel source", where=TARBALLS, todo="apt-get install linux-source")
    state = archive.stat()
    name = archive.name.partition(".tar")[0]
    # Each version of the package has a separate folder.
    return archive, cache / "kernel-source" / f"{name}-{state.st_size}-{int(state.st_mtime)}"


def unpacked(cache: Path) -> Path:
    """Return the distribution's tree, unpacked into the cache the first time; CannotRunHere when that fails."""
    archive, folder = place(cache)

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

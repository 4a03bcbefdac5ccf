"""Build folder of a kernel tree in a run, and the make command lines that use it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.files import scratch
from schedlab.workloads import launcher
from schedlab.workloads.base import Place, Tool
from schedlab.workloads.kernbench import source
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
        tree = Path(self.tree).absolute() if self.tree else source.unpacked(self.place.cache)
        if problem := source.problem(tree):
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
        return (need(MAKE), "-s", "-C", str(tree), f"O={out}", f"ARCH={source.architecture()}", *words)

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

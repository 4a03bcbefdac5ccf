"""Source and build folder of a kernel tree: a tree that the user names, or the distribution's tree, unpacked once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.files.scratch import FOLDER
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.base import Command, Place, Resource, Step, Tool
from schedlab.workloads.machine import Machine
from schedlab.workloads.preparation import carry_out, place_of

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


@dataclass(frozen=True)
class Build:
    """One tree in one configuration, shared by all rows of a run with the same tree and configuration.

    ``tree`` is a folder of the machine, or empty for the distribution's source.
    """

    tree: str
    config: str
    place: Place

    @property
    def key(self) -> str:
        """Name of the build."""
        return f"kernbench-{self.tree.replace('/', '_')}-{self.config}"

    @property
    def room_bytes(self) -> int:
        """Room for the build's output, twice the bound: files of a build come and go."""
        return int(2 * _ROOM_GIB[self.config] * (1 << 30))

    def steps(self, jobs: int) -> Iterator[Step | Resource]:
        """Unpack and configure the source and make the build programs; CannotRunHere for an unusable tree."""
        if not self.tree:
            yield from unpacking(self.place)
        if problem := tree_problem(self._source, self.place.machine):
            raise CannotRunHere(problem, where="kernbench", todo="name a clean tree, or no tree for linux-source")
        for goal in (self.config, "prepare"):
            yield self.step(goal, "name a tree that this compiler can build", f"-j{jobs}")

    def step(self, goal: str, todo: str, *words: str) -> Step:
        """Return an untimed make."""
        return Step(f"make {goal}", Command(self.make(goal, *words), environment=ENVIRONMENT), todo)

    def make(self, *words: str) -> tuple[str, ...]:
        """Return the command line of a silent make with these arguments."""
        machine = self.place.machine.agent.facts.machine
        arch = f"ARCH={_ARCHITECTURES.get(machine, machine)}"
        return (self.place.machine.program(MAKE), "-s", "-C", str(self._source), f"O={self._out}", arch, *words)

    def emptying(self, folder: str) -> Step:
        """Return the removal of the build output of one folder of the tree; make then builds this folder only."""
        argv = ("rm", "-rf", str(self._out / folder))
        return Step(f"the removal of the output of {folder}", Command(argv))

    @property
    def _out(self) -> Path:
        return self.place.folder(self.key, self.room_bytes)

    @property
    def _source(self) -> Path:
        # A path may be relative to the folder of trials.
        folder = self.place.machine.agent.folder
        return Path(os.path.normpath(os.path.join(folder, self.tree))) if self.tree else source(self.place)[1]

    def missing_requirements(self) -> list[str]:
        """Return why the build is not possible: the tree, no source, or too little room."""
        try:
            folder = self._source
        except CannotRunHere as error:
            return [f"{error.what}: {error.todo}"]
        problem = tree_problem(folder, self.place.machine) if self.tree else None
        return [problem] if problem else self.place.missing_room(f"a build of {self.config}", self.room_bytes)


def tree_problem(tree: Path, machine: Machine) -> str | None:
    """Return why this folder cannot be built with its output elsewhere; None when the tree can be built."""
    present = machine.existing(str(tree / name) for name in ("Kconfig", "Makefile", ".config", "include/config"))
    if f"{tree}/Kconfig" not in present or f"{tree}/Makefile" not in present:
        return f"{tree} is not a kernel tree (no Kconfig and Makefile)"
    if len(present) > 2:
        return f"{tree} has been built in place: 'make -C {tree} mrproper' cleans the tree (and deletes its .config)"
    return None


def source(place: Place) -> tuple[Path, Path]:
    """Return the newest tarball of the distribution, and its folder in the cache; CannotRunHere without a tarball."""
    newest = 'f=$(ls -1v $1 2>/dev/null | tail -n 1); [ -z "$f" ] || stat -Lc "%n/%s-%Y" "$f"'
    archive, _, version = place.machine.fact(newest, TARBALLS).rpartition("/")
    if not archive:
        todo = "apt-get install linux-source, or name a tree"
        raise CannotRunHere("there is no kernel source", where=TARBALLS, todo=todo)
    name = Path(archive).name.partition(".tar")[0]
    # Each version of the package has a separate folder.
    return Path(archive), place.cache / "kernel-source" / f"{name}-{version}"


def unpacking(place: Place) -> Iterator[Step | Resource]:
    """Unpack the distribution's tree into the machine's cache, unless the tree is there; CannotRunHere without room."""
    archive, folder = source(place)
    if place.machine.existing([str(folder)]):
        return
    if place.machine.free_bytes(folder) < UNPACKED_BYTES:
        raise CannotRunHere(
            "no room to unpack the kernel source (2 GiB)", where=str(place.cache), todo="free space in this file system"
        )
    part = folder.with_name(f".{place.scratch.name}")
    # The tree is on the disk before its name exists: a power loss leaves no incomplete tree.
    script = (
        'mkdir -p "$3" && tar --extract --strip-components=1 --file="$1" --directory="$3" && sync -f "$3" && '
        'if ! mv -T "$3" "$2"; then rm -rf "$3"; [ -d "$2" ]; fi'
    )
    argv = ("sh", "-c", script, "sh", str(archive), str(folder), str(part))
    yield Resource(FOLDER, str(part))
    yield Step(f"the unpacking of {archive}", Command(argv), "apt-get install --reinstall linux-source")


def source_here(cache: Path, *, unpack: bool = False) -> tuple[Path, Path]:
    """Return :func:`source` for a cache of this machine, and unpack the tree if wanted; CannotRunHere."""
    with closing(LocalAgent()) as agent:
        place = replace(place_of(agent), cache=cache)
        archive, folder = source(place)
        if unpack:
            agent.begin(f"unpacking-{os.getpid()}")
            carry_out(agent, unpacking(place))
            agent.end()
        return archive, folder

"""Runs of make with a time limit and a log. No process remains after a run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.kernels.config import Recipe
from schedlab.workloads import launcher
from schedlab.workloads.base import Command
from schedlab.workloads.kernbench.build import COMPILES, ENVIRONMENT, MAKE
from schedlab.workloads.tools import SCHEDLOAD, find, install_line, need

ARCHITECTURE = "x86_64"
"""The guests' architecture. Without this setting tinyconfig would choose a 32-bit kernel."""

_ERROR = re.compile(r"(?:\berror: |fatal error|undefined reference|No rule to make|recipe for target|\*\*\* )")
_PASSING = ("No space left on device", "Killed signal terminated program", "Cannot allocate memory", "Disk quota")
"""Errors of the building machine, after which another build may succeed."""

_LONGEST_REASON = 240

_ENVIRONMENT = ENVIRONMENT | {"KBUILD_BUILD_HOST": "schedlab"}
"""Environment that makes images reproducible."""


class MakeFailed(Exception):
    """A failed run of make. ``lasting``: whether another run would fail in the same way."""

    def __init__(self, reason: str, *, lasting: bool) -> None:
        super().__init__(reason)
        self.lasting = lasting


@dataclass
class Maker:
    """Runner of make from a source folder into a build folder.

    ``timeout`` is in seconds, for each run of make; ``nice`` is the niceness of all its processes.
    """

    source: Path
    out: Path
    log: Path
    jobs: int
    timeout: float
    nice: int | None
    local_version: str = ""
    watch: Callable[[str], object] = lambda progress: None
    """Function that is called about once a second with the goal and the last line of make's output."""

    def configure(self, recipe: Recipe) -> None:
        """Write the configuration. An unchanged file keeps its time, so that make does not rebuild all objects."""
        path = self.out / ".config"
        before = (path.read_bytes(), path.stat()) if path.is_file() else None
        if recipe.target:
            self.make(recipe.target)
        else:
            path.write_text(recipe.base)
        path.write_text(recipe.merged(path.read_text()))
        self.make("olddefconfig")
        if before and path.read_bytes() == before[0]:
            os.utime(path, ns=(before[1].st_atime_ns, before[1].st_mtime_ns))

    def clean(self) -> None:
        """Remove the results of a build inside the source folder. With such results, make refuses another folder."""
        if (self.source / ".config").exists() or (self.source / "include/config").exists():
            self._run("mrproper", (f"ARCH={ARCHITECTURE}",))

    def make(self, goal: str) -> None:
        """Make a goal in the build folder; MakeFailed has the reason of a failure."""
        options = (f"O={self.out}", f"ARCH={ARCHITECTURE}", *_compilers(), f"LOCALVERSION={self.local_version}")
        self._run(goal, options)

    def _run(self, goal: str, options: tuple[str, ...]) -> None:
        words = (need(MAKE), f"-j{self.jobs}", "-C", str(self.source), *options, goal)
        with self.log.open("a") as log:
            log.write(f"$ {shlex.join(words)}\n")
        begin = self.log.stat().st_size
        # One file for both outputs, so that an error follows the line of its file.
        command = Command(("/bin/sh", "-c", 'exec "$@" >>"$0" 2>&1', str(self.log), *words), (), _ENVIRONMENT)
        nice = () if self.nice is None else (f"--nice={self.nice}",)
        launched = launcher.run(command, self.timeout, nice, lambda: self.watch(f"make {goal}: {self._last(begin)}"))
        output = self.log.read_bytes()[begin:].decode(errors="replace")
        if launched.report is None:
            raise MakeFailed(f"make could not be started: {launched.stderr.strip()[-200:]}", lasting=False)
        if launched.report.timed_out:
            at = repr(self._last(begin) or "nothing")
            raise MakeFailed(f"make {goal} hung or is slow: ended after {self.timeout:g} s, at {at}", lasting=False)
        if launched.status != 0:
            lasting = not any(words in output for words in _PASSING)
            raise MakeFailed(f"make {goal} failed: {self._first_error(output)}", lasting=lasting)

    def _last(self, begin: int) -> str:
        """Return the last line of the log after this many bytes."""
        with self.log.open("rb") as log:
            log.seek(max(begin, self.log.stat().st_size - 4096))
            lines = log.read().decode(errors="replace").strip().splitlines()
        return " ".join(lines[-1].split()) if lines else ""

    def _first_error(self, output: str) -> str:
        lines = [line.strip() for line in output.splitlines()]
        error = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "make printed nothing")
        return error.replace(f"{self.source}/", "").replace(f"{self.out}/", "")[:_LONGEST_REASON]


def require_tools() -> None:
    """Raise CannotRunHere when a program or a header for kernel builds is missing."""
    missing = [tool for tool in (SCHEDLOAD, MAKE, *COMPILES) if find(tool) is None]
    if missing:
        names = ", ".join(tool.program for tool in missing)
        raise CannotRunHere(f"a kernel cannot be built here: no {names}", todo=install_line(missing))


def compiler() -> str:
    """Return the compiler's name and version, which are part of an image's key."""
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def _compilers() -> tuple[str, ...]:
    """Use ccache where ccache is installed."""
    return ("CC=ccache gcc", "HOSTCC=ccache gcc") if shutil.which("ccache") else ()

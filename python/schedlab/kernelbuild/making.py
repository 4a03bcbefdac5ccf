"""make under a watchdog: every run has a limit, an account in the log, and leaves no process behind."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.experiment.model import Variant
from schedlab.kernelbuild.config import Recipe
from schedlab.targets.host.launch import launch
from schedlab.workloads.base import Command
from schedlab.workloads.kernbench.build import COMPILES, ENVIRONMENT, MAKE
from schedlab.workloads.tools import SCHEDLOAD, find, install_line, need

ARCHITECTURE = "x86_64"
"""What the guests are; said aloud because tinyconfig would else choose a 32-bit kernel."""

_ERROR = re.compile(r"(?:\berror: |fatal error|undefined reference|No rule to make|recipe for target|\*\*\* )")
_PASSING = ("No space left on device", "Killed signal terminated program", "Cannot allocate memory", "Disk quota")
"""Ends of a build that say something of the machine, and nothing of the kernel."""

_LONGEST_REASON = 240

_ENVIRONMENT = ENVIRONMENT | {"KBUILD_BUILD_HOST": "schedlab"}
"""The same image from the same source, whenever and wherever it is built."""


class MakeFailed(Exception):
    """make did not do what it was to do. ``lasting`` says whether it would fail again."""

    def __init__(self, reason: str, *, lasting: bool) -> None:
        super().__init__(reason)
        self.lasting = lasting


@dataclass
class Maker:
    """Runs make from a source folder into a build folder.

    ``timeout`` is in seconds, for each run of make; ``nice`` is the niceness of all that it starts.
    """

    source: Path
    out: Path
    log: Path
    jobs: int
    timeout: float
    nice: int | None
    local_version: str = ""

    def configure(self, recipe: Recipe) -> None:
        """Make the configuration anew. Where nothing changed its file keeps its time, so that make does nothing."""
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
        """Remove what a build in the source folder itself left: make refuses to build elsewhere while it is there."""
        if (self.source / ".config").exists() or (self.source / "include/config").exists():
            self._run("mrproper", (f"ARCH={ARCHITECTURE}",))

    def make(self, goal: str) -> None:
        """Make a goal in the build folder; MakeFailed says why it did not end well."""
        options = (f"O={self.out}", f"ARCH={ARCHITECTURE}", *_compilers(), f"LOCALVERSION={self.local_version}")
        self._run(goal, options)

    def _run(self, goal: str, options: tuple[str, ...]) -> None:
        words = (need(MAKE), f"-j{self.jobs}", "-C", str(self.source), *options, goal)
        # One stream, so that an error stands behind the file that it is of.
        command = Command(("/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *words), (), _ENVIRONMENT)
        launched = launch(command, Variant(name="build", nice=self.nice), self.timeout)
        with self.log.open("a") as log:
            log.write(f"$ {shlex.join(words)}\n{launched.stdout}{launched.stderr}\n")
        if launched.report is None:
            raise MakeFailed(f"make could not be started: {launched.stderr.strip()[-200:]}", lasting=False)
        if launched.report["timed_out"]:
            last = (launched.stdout.strip().splitlines() or ["nothing"])[-1].strip()
            raise MakeFailed(f"make {goal} hung or is slow: ended after {self.timeout:g} s, at {last!r}", lasting=False)
        if launched.status != 0:
            lasting = not any(words in launched.stdout for words in _PASSING)
            raise MakeFailed(f"make {goal} failed: {self._first_error(launched.stdout)}", lasting=lasting)

    def _first_error(self, output: str) -> str:
        lines = [line.strip() for line in output.splitlines()]
        found = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "it said nothing")
        return found.replace(f"{self.source}/", "").replace(f"{self.out}/", "")[:_LONGEST_REASON]


def require_tools() -> None:
    """CannotRunHere when a program or a header that a build needs is missing."""
    lacking = [tool for tool in (SCHEDLOAD, MAKE, *COMPILES) if find(tool) is None]
    if lacking:
        names = ", ".join(tool.program for tool in lacking)
        raise CannotRunHere(f"a kernel cannot be built here: no {names}", todo=install_line(lacking))


def compiler() -> str:
    """The compiler and its version, of which an image is made as well."""
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def _compilers() -> tuple[str, ...]:
    """With ccache in front where it is installed."""
    return ("CC=ccache gcc", "HOSTCC=ccache gcc") if shutil.which("ccache") else ()

"""kernbench: ``make -j N`` of a kernel tree, timed as a whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from schedlab.errors import CannotRunHere, TrialFailure
from schedlab.workloads import kernel_tree
from schedlab.workloads.base import Adapter, Command, Metric, Output, Parameters, Place, Tool
from schedlab.workloads.command import METRICS, times
from schedlab.workloads.tools import find, need

_MAKE = Tool("make", "make")
_HEADERS = (
    Tool("libelf.h", "libelf-dev", ("/usr/include/libelf.h", "/usr/include/*/libelf.h")),
    Tool("openssl/opensslv.h", "libssl-dev", ("/usr/include/openssl/opensslv.h", "/usr/include/*/openssl/opensslv.h")),
)
_ROOM_GIB = {"tinyconfig": 0.5, "allnoconfig": 0.5, "defconfig": 3.0, "allmodconfig": 40.0}
"""GiB of output that a whole build leaves, rounded up; measured with Linux 6.1 on x86-64, estimated for allmodconfig."""

_SECONDS = {"tinyconfig": 90.0, "allnoconfig": 120.0, "defconfig": 1100.0, "allmodconfig": 12_000.0}
"""CPU seconds of a whole build, about, on a 3 GHz core."""

# Without these two, version strings and with them the objects would differ from build to build.
_ENVIRONMENT = {"KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970", "KBUILD_BUILD_USER": "schedlab", "LC_ALL": "C"}


class KernbenchParameters(Parameters):
    """``target`` is make's: ``vmlinux``, ``bzImage``, or a folder such as ``kernel/sched/``."""

    jobs_per_cpu: Annotated[int, Field(ge=1, le=1024, description="-j is this times the CPUs of this process")] = 2
    config: Literal["tinyconfig", "allnoconfig", "defconfig", "allmodconfig"] = "tinyconfig"
    target: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*$")] = "vmlinux"
    tree: Annotated[str, Field(description="a clean kernel tree; empty: the package linux-source")] = ""

    @property
    def jobs(self) -> int:
        """make's ``-j``."""
        return self.jobs_per_cpu * len(os.sched_getaffinity(0))


class Kernbench(Adapter[KernbenchParameters]):
    """Each trial builds from a cleaned tree; source, configuration and cleaning are never timed."""

    name = "kernbench"
    summary = "make -j N of a kernel tree: elapsed, user, system, CPU %"
    parameters = KernbenchParameters
    metrics = METRICS
    tools = (
        _MAKE,
        *(Tool(program, program) for program in ("gcc", "flex", "bison", "bc")),
        *_HEADERS,
    )
    note = "comparable only between builds of one source, configuration, target and compiler"

    @contextmanager
    def prepared(self, parameters: KernbenchParameters, place: Place) -> Iterator[None]:
        """Source unpacked and configured, the host programs of the build made."""
        link = _link(parameters, place)
        if link.is_symlink():
            yield
            return
        tree = Path(parameters.tree).absolute() if parameters.tree else kernel_tree.unpacked(place.cache)
        if problem := kernel_tree.problem(tree):
            raise CannotRunHere(problem, where="kernbench", todo="name a clean tree, or none for linux-source")
        with _output_folder(parameters, place) as out:
            link.symlink_to(out)
            try:
                (out / "source-tree").symlink_to(tree)
                for goal in (parameters.config, "prepare"):
                    if words := _run(parameters, place, "-s", goal, f"-j{parameters.jobs}"):
                        raise CannotRunHere(
                            f"make {goal} failed: {words}", where=str(tree), todo="a tree and compiler that fit"
                        )
                yield
            finally:
                link.unlink(missing_ok=True)

    def before_trial(self, parameters: KernbenchParameters, place: Place) -> None:
        """``make clean``: the configuration and the build's own programs stay."""
        if words := _run(parameters, place, "-s", "clean"):
            raise TrialFailure(f"make clean failed: {words}")

    def command(self, parameters: KernbenchParameters, place: Place) -> Command:
        """``make -s -j N TARGET``, output in its own folder."""
        return Command((*_make(parameters, place), "-s", f"-j{parameters.jobs}", parameters.target), (), _ENVIRONMENT)

    def parse(self, parameters: KernbenchParameters, output: Output) -> list[Metric]:
        """The launcher's times."""
        return times(output)

    def seconds(self, parameters: KernbenchParameters) -> float:
        """For whole kernels; a folder is taken for a twentieth of one."""
        share = 0.05 if parameters.target.endswith("/") else 1.0
        return 3 + share * _SECONDS[parameters.config] / min(parameters.jobs, len(os.sched_getaffinity(0)))

    def obstacles(self, parameters: KernbenchParameters) -> list[str]:
        """A tree that cannot be used, or none at all."""
        if parameters.tree:
            problem = kernel_tree.problem(Path(parameters.tree).absolute())
            return [problem] if problem else []
        if kernel_tree.tarball() is None:
            return ["there is no kernel source: apt-get install linux-source, or name a tree"]
        return []


def _link(parameters: KernbenchParameters, place: Place) -> Path:
    """What stands for the output folder of a tree and configuration, for all rows that share it."""
    tree = parameters.tree.replace("/", "_") or "linux-source"
    return place.scratch / f"kernbench-{tree}-{parameters.config}"


@contextmanager
def _output_folder(parameters: KernbenchParameters, place: Place) -> Iterator[Path]:
    """In the run's scratch folder, which is in memory where there is some; in the cache when that has no room."""
    room = _ROOM_GIB[parameters.config] * (1 << 30)
    within = place.scratch if shutil.disk_usage(place.scratch).free > 2 * room else place.cache
    within.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kernbench-", dir=within) as folder:
        yield Path(folder)


def _make(parameters: KernbenchParameters, place: Place) -> tuple[str, ...]:
    out = _link(parameters, place).resolve()
    tree = (out / "source-tree").resolve()
    return (need(_MAKE), "-C", str(tree), f"O={out}", f"ARCH={kernel_tree.architecture()}")


def _run(parameters: KernbenchParameters, place: Place, *words: str) -> str:
    """Run make, untimed; empty when it went well, else its last words."""
    done = subprocess.run(
        [*_make(parameters, place), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | _ENVIRONMENT,
        check=False,
    )
    return "" if done.returncode == 0 else (done.stderr.strip()[-300:] or f"status {done.returncode}")

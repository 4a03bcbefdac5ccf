"""kernbench as ``schedload`` runs it: a tree of short processes that fork, execute, fill memory and compute."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import Field

from schedlab.workloads.base import Parameters
from schedlab.workloads.command.adapter import METRICS
from schedlab.workloads.native import Nanoseconds, Native, Tasks, words


class KernbenchNativeParameters(Parameters):
    """A build of ``directories`` × ``files`` compilations and a link at the end."""

    jobs_per_cpu: Annotated[int, Field(ge=1, le=1024, description="jobs at a time, times the CPUs of this process")] = 2
    directories: Tasks = 20
    files: Annotated[Tasks, Field(description="in each directory")] = 12
    compile_time: Nanoseconds = 8_000_000
    memory: Annotated[int, Field(ge=1, le=1 << 24, description="KiB that a compilation fills")] = 16_384
    link_time: Nanoseconds = 30_000_000

    @property
    def jobs(self) -> int:
        """``make``'s -j."""
        return self.jobs_per_cpu * len(os.sched_getaffinity(0))


class KernbenchNative(Native[KernbenchNativeParameters]):
    """The native kernbench, with the real one's metrics."""

    name = "kernbench-native"
    summary = "a build like make -j N, of processes that only behave like compilers"
    parameters = KernbenchNativeParameters
    metrics = METRICS
    note = "shares kernbench's shape (fork, exec, memory, CPU, wait, a job server), not its figures"

    def options(self, parameters: KernbenchNativeParameters) -> list[str]:
        """The options of ``schedload kernbench``, for the CPUs of this process."""
        return self.options_on(parameters, len(os.sched_getaffinity(0)))

    def options_on(self, parameters: KernbenchNativeParameters, cpus: int) -> list[str]:
        """``--jobs`` is the number for so many CPUs."""
        own = {
            "--jobs": parameters.jobs_per_cpu * cpus,
            "--directories": parameters.directories,
            "--files": parameters.files,
            "--compile-time": f"{parameters.compile_time}ns",
            "--memory": parameters.memory,
            "--link-time": f"{parameters.link_time}ns",
        }
        return ["kernbench", *words(own)]

    def seconds(self, parameters: KernbenchNativeParameters) -> float:
        """Computation, and 0.4 ms for each MiB that is filled (page faults), over the CPUs."""
        files = parameters.directories * parameters.files
        each = parameters.compile_time * 1.05e-9 + parameters.memory / 1024 * 0.4e-3
        return files * each / min(parameters.jobs, os.cpu_count() or 1) + parameters.link_time * 1e-9

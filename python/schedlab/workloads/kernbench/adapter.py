"""kernbench: ``make -j N`` of a kernel tree, with the time of the complete build."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from pydantic import Field

from schedlab.results.metrics import Metric
from schedlab.workloads.base import Adapter, Command, Equivalent, Output, Parameters, Place, Preparation
from schedlab.workloads.command.adapter import METRICS, times
from schedlab.workloads.kernbench.build import (
    COMPILES,
    ENVIRONMENT,
    LIBSSL,
    MAKE,
    Build,
)

_CPU_SECONDS = {"tinyconfig": 110.0, "allnoconfig": 140.0, "defconfig": 1500.0, "allmodconfig": 16_000.0}
"""Approximate CPU seconds of a complete build of Linux 6.1 on a 3 GHz core."""


class KernbenchParameters(Parameters):
    """Parameters of kernbench. ``target`` is a target of make, such as ``vmlinux`` or a folder (``kernel/sched/``)."""

    jobs_per_cpu: Annotated[int, Field(ge=1, le=1024, description="jobs (make's -j) for each CPU of the trial")] = 2
    config: Literal["tinyconfig", "allnoconfig", "defconfig", "allmodconfig"] = "tinyconfig"
    target: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[a-z]+)?(/[A-Za-z0-9_-]+)*/?$")] = "vmlinux"
    tree: Annotated[str, Field(description="a clean kernel tree; empty: the package linux-source")] = ""

    def jobs(self, cpus: int) -> int:
        """make's ``-j`` on so many CPUs."""
        return self.jobs_per_cpu * cpus

    def build(self, place: Place) -> Build:
        """Return the build folder of these parameters."""
        return Build(self.tree, self.config, place)


class Kernbench(Adapter[KernbenchParameters]):
    """Each trial builds from a cleaned tree; unpacking, configuring and cleaning are never timed."""

    name = "kernbench"
    summary = "make -j N of a kernel tree: elapsed, user, system, CPU %"
    parameters = KernbenchParameters
    metrics = METRICS
    tools = (MAKE, *COMPILES, LIBSSL)
    note = "comparable only between builds of one source, configuration, target and compiler"
    prepares = "an unpacked and configured kernel tree"

    def preparation(self, parameters: KernbenchParameters, place: Place) -> Preparation:
        """Unpack and configure the source. Before each trial run ``make clean``; for a folder, delete its build output.
        Configuration and host programs stay."""
        build, target = parameters.build(place), parameters.target
        steps = build.steps(parameters.jobs(place.machine.cpus))
        clean = build.emptying(target) if target.endswith("/") else build.step("clean", "")
        return Preparation(build.key, steps, (clean,))

    def command(self, parameters: KernbenchParameters, place: Place) -> Command:
        """``make -s -j N TARGET``, with the output in a separate folder."""
        words = f"-j{parameters.jobs(place.machine.cpus)}", parameters.target
        return Command(parameters.build(place).make(*words), (), ENVIRONMENT)

    def parse(self, parameters: KernbenchParameters, output: Output) -> list[Metric]:
        """The launcher's times."""
        return times(output)

    def seconds(self, parameters: KernbenchParameters) -> float:
        """Estimate: a folder takes a thirtieth of a kernel's time; cleaning a kernel takes some seconds."""
        is_folder = parameters.target.endswith("/")
        cpu = _CPU_SECONDS[parameters.config] / (30 if is_folder else 1)
        return (0.5 if is_folder else 4.0) + cpu / min(parameters.jobs(cpus := os.cpu_count() or 1), cpus)

    def missing_requirements(self, parameters: KernbenchParameters, place: Place) -> list[str]:
        """Report a tree that cannot be used, a missing kernel source, or too little room."""
        return parameters.build(place).missing_requirements()

    def equivalent(self, parameters: KernbenchParameters) -> Equivalent:
        """The native kernbench with as many jobs; its files do not depend on the configuration and the target."""
        same = {spec.name: spec.name for spec in self.metrics}
        return Equivalent("kernbench-native", {"jobs_per_cpu": parameters.jobs_per_cpu}, same)

"""schedbench as ``schedload`` runs it: processes that each allocate memory and walk it hard."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import Field

from schedlab.workloads.base import MetricSpec, Parameters
from schedlab.workloads.native import Native, Tasks, words


class SchedbenchParameters(Parameters):
    """Pages come from the node on which a process first touches them; who is moved away from them pays."""

    processes: Tasks = 4
    memory: Annotated[int, Field(ge=1, le=1 << 20, description="MiB of each process")] = 32
    walks: Annotated[int, Field(ge=1, le=1_000_000, description="over it, in order and at random in turn")] = 40


class Schedbench(Native[SchedbenchParameters]):
    """The NUMA schedbench of the 2.5 kernels, whose source nobody kept, by its description and its columns."""

    name = "schedbench"
    summary = "processes that walk memory of their own hard (NUMA schedbench)"
    parameters = SchedbenchParameters
    metrics = (
        MetricSpec("Elapsed", "s", "lower"),
        MetricSpec("AvgUser", "s", "lower", judged=False),
        MetricSpec("TotalUser", "s", "lower"),
        MetricSpec("TotalSys", "s", "lower", judged=False),
    )
    note = "the columns of the reports of 2003; comparable among its own runs only"

    def options(self, parameters: SchedbenchParameters) -> list[str]:
        """The options of ``schedload schedbench``."""
        sizes = {"--processes": parameters.processes, "--memory": parameters.memory, "--walks": parameters.walks}
        return ["schedbench", *words(sizes)]

    def seconds(self, parameters: SchedbenchParameters) -> float:
        """About 0.22 ms for a walk over a MiB, in order and at random taken together."""
        cpu = parameters.processes * parameters.memory * (parameters.walks * 0.22e-3 + 0.4e-3)
        return 0.1 + cpu / min(parameters.processes, os.cpu_count() or 1)

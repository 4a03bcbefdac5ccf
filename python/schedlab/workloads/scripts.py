"""scripts as ``schedload`` runs it: streams of short UNIX command scripts, as a time-sharing system has them."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import Field

from schedlab.workloads.base import MetricSpec, Parameters
from schedlab.workloads.native import Native, Tasks


class ScriptsParameters(Parameters):
    """``streams`` at once, each runs ``scripts`` one after the other."""

    streams: Tasks = 4
    scripts: Annotated[int, Field(ge=1, le=1_000_000, description="of each stream")] = 50


class Scripts(Native[ScriptsParameters]):
    """A mix of sort, grep, cp, cat and their like: fork, exec, small files, pipes, exit."""

    name = "scripts"
    summary = "streams of short UNIX command scripts: scripts/hour"
    parameters = ScriptsParameters
    metrics = (
        MetricSpec("throughput", "scripts/hour", "higher"),
        MetricSpec("script", "ms", "lower", judged=False),
        MetricSpec("script-p5", "ms", "lower", judged=False),
        MetricSpec("script-p50", "ms", "lower", judged=False),
        MetricSpec("script-p95", "ms", "lower", judged=False),
    )
    note = "neither SPEC's SDET nor comparable to it: other scripts, other commands, other files"

    def options(self, parameters: ScriptsParameters) -> list[str]:
        """The options of ``schedload scripts``."""
        return ["scripts", "--streams", str(parameters.streams), "--scripts", str(parameters.scripts)]

    def seconds(self, parameters: ScriptsParameters) -> float:
        """About 5 ms of CPU time a script."""
        return 0.1 + parameters.streams * parameters.scripts * 5e-3 / min(parameters.streams, os.cpu_count() or 1)

"""cyclictest of the rt-tests package: latency of timer wake-ups."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schedlab.workloads.base import Command, Equivalent, OutputAdapter, Parameters, Place, Tool
from schedlab.workloads.cyclictest.output import METRICS, MICROSECONDS

_TOOL = Tool("cyclictest", "rt-tests")
_SPAN_US = 2_000
"""Range of the histogram in microseconds, with a line for each; a larger latency counts as an overflow."""
_REALTIME = ("fifo", "rr")
"""Policies with a priority."""


class CyclictestParameters(Parameters):
    """``threads`` timers that fire every ``interval`` µs, for ``duration`` seconds."""

    threads: Annotated[int, Field(ge=1, le=4096)] = 1
    interval: Annotated[int, Field(ge=100, le=1_000_000, description="microseconds")] = 1000
    policy: Literal["other", "batch", "fifo", "rr"] = "other"
    priority: Annotated[int, Field(ge=1, le=99, description="of policy fifo and rr")] = 80
    duration: Annotated[int, Field(ge=1, le=86_400, description="seconds")] = 10


class Cyclictest(OutputAdapter[CyclictestParameters]):
    """cyclictest, with percentiles over the sum of all threads' histograms."""

    name = "cyclictest"
    summary = "cyclictest of the rt-tests package: timer wake-up latency"
    parameters = CyclictestParameters
    metrics = METRICS
    reader = MICROSECONDS
    tools = (_TOOL,)
    note = "cyclictest sets its threads' policy, so a variant's policy does not affect the threads"

    def command(self, parameters: CyclictestParameters, place: Place) -> Command:
        """``cyclictest`` with ``--default-system``, which leaves the idle states to the variant."""
        realtime = [f"--priority={parameters.priority}"] if parameters.policy in _REALTIME else []
        return Command((
            place.machine.program(_TOOL), "--quiet", "--default-system", f"--histogram={_SPAN_US}",
            f"--threads={parameters.threads}",
            f"--interval={parameters.interval}", f"--policy={parameters.policy}", *realtime,
            f"--duration={parameters.duration}",
        ))  # fmt: skip

    def equivalent(self, parameters: CyclictestParameters) -> Equivalent:
        """cyclic without a warm-up. cyclictest's threads have equal intervals when it makes a histogram."""
        timing = {"interval": f"{parameters.interval}us", "distance": "0us", "warmup": 0}
        return Equivalent(
            "cyclic",
            {"threads": parameters.threads, "duration": parameters.duration, **timing},
            {spec.name: spec.name for spec in METRICS},
            policy=parameters.policy,
            priority=parameters.priority if parameters.policy in _REALTIME else None,
        )

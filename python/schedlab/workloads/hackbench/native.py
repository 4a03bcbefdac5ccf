"""hackbench as ``schedload`` runs it: groups of senders and receivers that pass small messages."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schedlab.workloads.base import Parameters
from schedlab.workloads.hackbench.log import TIME
from schedlab.workloads.native import Native

Count = Annotated[int, Field(ge=1, le=1_000_000)]


class HackbenchParameters(Parameters):
    """The known tool's options, by their long names and with its defaults (hackbench(8))."""

    groups: Count = 10
    fds: Count = 20
    loops: Count = 100
    size: Annotated[int, Field(ge=1, le=1 << 20, description="bytes per message")] = 100
    mode: Literal["process", "thread"] = "process"
    ipc: Literal["socket", "pipe"] = "socket"

    def options(self) -> list[str]:
        """The options that rt-tests' hackbench and ``schedload hackbench`` share."""
        options = ["-g", self.groups, "-f", self.fds, "-l", self.loops, "-s", self.size]
        flags = ["-T" if self.mode == "thread" else "-P", *(["-p"] if self.ipc == "pipe" else [])]
        return [*map(str, options), *flags]

    def seconds(self) -> float:
        """Duration guessed from messages passed: about 1.5 µs each plus 60 µs per task on a 3 GHz core."""
        messages = self.groups * self.fds**2 * self.loops
        return messages * 1.5e-6 + self.groups * self.fds * 2 * 60e-6


class Hackbench(Native[HackbenchParameters]):
    """The native hackbench; within a few per cent of rt-tests' (see the fidelity table)."""

    name = "hackbench"
    summary = "groups of senders and receivers pass messages over sockets or pipes"
    parameters = HackbenchParameters
    metrics = (TIME,)

    def options(self, parameters: HackbenchParameters) -> list[str]:
        """See :meth:`HackbenchParameters.options`."""
        return ["hackbench", *parameters.options()]

    def seconds(self, parameters: HackbenchParameters) -> float:
        """See :meth:`HackbenchParameters.seconds`."""
        return parameters.seconds()

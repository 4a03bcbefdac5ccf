"""hackbench of the rt-tests package, the reference that kernel developers run."""

from __future__ import annotations

import re

from schedlab.workloads.base import Adapter, Command, Equivalent, Metric, NotUnderstood, Output, Place, Tool
from schedlab.workloads.hackbench import TIME, HackbenchParameters
from schedlab.workloads.tools import need

_TOOL = Tool("hackbench", "rt-tests")
TIME_LINE = re.compile(r"^Time:[ \t]*([0-9]{1,12}(?:\.[0-9]{1,9})?)[ \t]*$", re.MULTILINE)
"""What a run ends with: its seconds."""


class HackbenchRtTests(Adapter[HackbenchParameters]):
    """rt-tests' hackbench, with the same parameters as the native one."""

    name = "hackbench-rt-tests"
    summary = "hackbench of the rt-tests package"
    parameters = HackbenchParameters
    metrics = (TIME,)
    tools = (_TOOL,)

    def command(self, parameters: HackbenchParameters, place: Place) -> Command:
        """``hackbench`` with the shared options."""
        return Command((need(_TOOL), *parameters.options()))

    def parse(self, parameters: HackbenchParameters, output: Output) -> list[Metric]:
        """The seconds behind ``Time:``."""
        match = TIME_LINE.search(output.stdout)
        if match is None:
            raise NotUnderstood('hackbench printed no line "Time: SECONDS"')
        return [Metric(TIME, float(match[1]))]

    def seconds(self, parameters: HackbenchParameters) -> float:
        """See :meth:`HackbenchParameters.seconds`."""
        return parameters.seconds()

    def equivalent(self, parameters: HackbenchParameters) -> Equivalent:
        """The native hackbench."""
        return Equivalent("hackbench", parameters.model_dump(exclude_unset=True), {"time": "time"})

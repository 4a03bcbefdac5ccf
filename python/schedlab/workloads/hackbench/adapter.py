"""hackbench of the rt-tests package, the reference that kernel developers run."""

from __future__ import annotations

from schedlab.workloads.base import Adapter, Command, Equivalent, Output, Place, Tool
from schedlab.workloads.hackbench.log import TIME, TIME_LINE
from schedlab.workloads.hackbench.native import HackbenchParameters
from schedlab.workloads.metrics import Metric, NotUnderstood
from schedlab.workloads.tools import need

_TOOL = Tool("hackbench", "rt-tests")


class HackbenchRtTests(Adapter[HackbenchParameters]):
    """hackbench of rt-tests, with the parameters of the native one."""

    name = "hackbench-rt-tests"
    summary = "hackbench of the rt-tests package"
    parameters = HackbenchParameters
    metrics = (TIME,)
    tools = (_TOOL,)

    def command(self, parameters: HackbenchParameters, place: Place) -> Command:
        """``hackbench`` with the options that both programs share."""
        return Command((need(_TOOL), *parameters.options()))

    def parse(self, parameters: HackbenchParameters, output: Output) -> list[Metric]:
        """The seconds after ``Time:``."""
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

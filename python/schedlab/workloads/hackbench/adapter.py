"""hackbench of the rt-tests package, the reference that kernel developers run."""

from __future__ import annotations

from schedlab.workloads import native
from schedlab.workloads.base import Command, Equivalent, OutputAdapter, Place, Tool
from schedlab.workloads.hackbench.output import READER, TIME
from schedlab.workloads.native import NativeParameters

_TOOL = Tool("hackbench", "rt-tests")


class HackbenchRtTests(OutputAdapter[NativeParameters]):
    """hackbench of rt-tests, with the parameters of the native hackbench."""

    name = "hackbench-rt-tests"
    summary = "hackbench of the rt-tests package"
    parameters = native.parameters_of_tool(
        "hackbench", without=frozenset({"main_mappings", "main_pages", "written_pages"})
    )
    metrics = (TIME,)
    reader = READER
    tools = (_TOOL,)

    def command(self, parameters: NativeParameters, place: Place) -> Command:
        """``hackbench`` with the options that both programs share."""
        options = parameters.model_dump()
        numbers = {"-g": "groups", "-f": "fds", "-l": "loops", "-s": "size"}
        words = [word for option, name in numbers.items() for word in (option, str(options[name]))]
        words.append("-T" if options["mode"] == "thread" else "-P")
        words += {"pipe": ["-p"], "inet": ["-i"]}.get(options["ipc"], [])
        return Command((place.machine.program(_TOOL), *words, *(["-F"] if options["fifo"] else [])))

    def seconds(self, parameters: NativeParameters) -> float:
        """Return the native hackbench's estimate."""
        return native.adapter("hackbench").seconds(parameters)

    def equivalent(self, parameters: NativeParameters) -> Equivalent:
        """The native hackbench."""
        return Equivalent("hackbench", parameters.model_dump(exclude_unset=True), {"time": "time"})

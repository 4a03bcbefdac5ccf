"""Elapsed and CPU time of any command line, measured as by ``perf stat --null`` and ``time``."""

from __future__ import annotations

import shlex
from typing import Annotated

from pydantic import Field, field_validator

from schedlab.results.metrics import Metric, MetricSpec, NotUnderstood
from schedlab.workloads.base import Adapter, Command, Output, Parameters, Place
from schedlab.workloads.tools import SCHEDLOAD

METRICS = (
    MetricSpec("elapsed", "s", "lower"),
    MetricSpec("user", "s", "lower", judged=False),
    MetricSpec("system", "s", "lower", judged=False),
    MetricSpec("cpu", "%", "higher", judged=False),
)
"""Times of a process tree. ``cpu`` is user + system over elapsed, as GNU time's ``%P``."""


def times(output: Output) -> list[Metric]:
    """Return :data:`METRICS` as the launcher measured them; NotUnderstood without an elapsed time."""
    if output.elapsed <= 0:
        raise NotUnderstood("the launcher measured no time")
    share = 100 * (output.user + output.system) / output.elapsed
    values = (output.elapsed, output.user, output.system, share)
    return [Metric(spec, value) for spec, value in zip(METRICS, values, strict=True)]


class RunParameters(Parameters):
    """A command line. ``run`` is split into words as by a shell; to run it in a shell, write ``sh -c '…'``."""

    run: Annotated[str, Field(min_length=1)]

    @field_validator("run")
    @classmethod
    def _require_command(cls, run: str) -> str:
        if not shlex.split(run) or "\0" in run:
            raise ValueError("contains no command, or a NUL byte")
        return run


class CommandParameters(RunParameters):
    """A command line and the exit code of a good trial."""

    success: Annotated[int, Field(ge=0, le=255, description="the exit code of a good trial")] = 0


class CommandLine(Adapter[CommandParameters]):
    """Any program, timed."""

    name = "command"
    summary = "any command line: elapsed, user, system, CPU %"
    parameters = CommandParameters
    metrics = METRICS
    tools = (SCHEDLOAD,)

    def command(self, parameters: CommandParameters, place: Place) -> Command:
        """The words of ``run``."""
        return Command(tuple(shlex.split(parameters.run)))

    def parse(self, parameters: CommandParameters, output: Output) -> list[Metric]:
        """Return the launcher's times. The output of the command is ignored."""
        return times(output)

    def good_exit(self, parameters: CommandParameters) -> int:
        """The exit code in ``success``."""
        return parameters.success

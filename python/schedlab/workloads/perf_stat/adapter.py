"""``perf stat`` around any command: elapsed time, software counters, and the hardware counters of the machine."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from schedlab.results.imported import ImportProblem
from schedlab.results.metrics import Metric, MetricSpec, NotUnderstood
from schedlab.workloads.base import Adapter, Command, Equivalent, Output, Place
from schedlab.workloads.command.adapter import RunParameters, shell_words
from schedlab.workloads.log_reader import Lines, Log
from schedlab.workloads.perf_bench.adapter import PERF, PerfSchedMessaging, messaging_parameters
from schedlab.workloads.perf_stat import output as perf_output
from schedlab.workloads.perf_stat.people import counts_for_people

SOFTWARE = ("task-clock", "context-switches", "cpu-migrations", "page-faults")
HARDWARE = ("cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses")
"""perf's generic names (perf-list(1))."""

_ELAPSED = MetricSpec("elapsed", "s", "lower")
_ERROR = MetricSpec("elapsed-error", "%", "lower", judged=False)

_SEPARATOR = ";"


class PerfstatParameters(RunParameters):
    """A command line, its repetitions, and the counters."""

    repeat: Annotated[int, Field(ge=1, le=1000, description="runs of the command in one trial, as perf's --repeat")] = 1
    counters: Annotated[
        Literal["none", "software", "all"], Field(description="empty for perf's --null, which disturbs least")
    ] = "all"


class Perfstat(Adapter[PerfstatParameters]):
    """Means over ``repeat`` runs, and perf's relative standard error of the elapsed time."""

    name = "perfstat"
    summary = "any command under perf stat: elapsed time with its standard error, counters"
    parameters = PerfstatParameters
    metrics = (
        _ELAPSED,
        _ERROR,
        *(MetricSpec(name, perf_output.unit_of(name), "lower", judged=False) for name in (*SOFTWARE, *HARDWARE)),
    )
    tools = (PERF,)
    # The measured command keeps its other settings: sort(1), for instance, is several times as fast in the locale C.
    # Where the user's LC_ALL overrides LC_NUMERIC, the readers know decimal commas.
    locale: ClassVar[Mapping[str, str]] = {"LC_NUMERIC": "C"}
    note = (
        "counters that the machine does not have are absent from the results, not 0; the raw output names "
        "these counters"
    )

    def command(self, parameters: PerfstatParameters, place: Place) -> Command:
        """``perf stat --null`` without counters, otherwise the events as separated values on standard error."""
        events = {"none": [], "software": list(SOFTWARE), "all": [*SOFTWARE, *HARDWARE]}[parameters.counters]
        how = ["-x", _SEPARATOR, "-e", ",".join(["duration_time", *events])] if events else ["--null"]
        repeat = ["--repeat", str(parameters.repeat)] if parameters.repeat > 1 else []
        return Command((place.machine.program(PERF), "stat", *how, *repeat, "--", *shlex.split(parameters.run)))

    def parse(self, parameters: PerfstatParameters, output: Output) -> list[Metric]:
        """Parse perf's lines in standard error, which may also contain lines of the command."""
        try:
            values = dict(_values(output.stderr, separated=parameters.counters != "none"))
        except ImportProblem as problem:
            raise NotUnderstood(f"perf stat: {problem.what}") from problem
        if values.get("elapsed", 0) <= 0:
            raise NotUnderstood("perf stat printed no elapsed time")
        return self.measured(values)

    def missing_requirements(self, parameters: PerfstatParameters, place: Place) -> list[str]:
        """perf's error for ``true``, where this user may not count (``kernel.perf_event_paranoid``)."""
        perf, events = place.machine.program(PERF), ",".join(["duration_time", *SOFTWARE])
        script = '"$1" stat -x "$2" -e "$3" -- true 2>&1 >/dev/null && echo counted'
        lines = place.machine.fact(script, perf, _SEPARATOR, events).splitlines() or ["no reason given"]
        if lines[-1] == "counted":
            return []
        return [f"perf cannot count here ({lines[0]}): run as root or lower kernel.perf_event_paranoid"]

    def doubts(self, parameters: PerfstatParameters) -> list[str]:
        """See :func:`shell_words`."""
        return shell_words(parameters.run)

    def equivalent(self, parameters: PerfstatParameters) -> Equivalent | None:
        """Equivalent of one run of ``perf bench sched messaging`` without counters, for any ``repeat``."""
        messaging = messaging_parameters(shlex.split(parameters.run))
        if messaging is None or parameters.counters != "none":
            return None
        same = PerfSchedMessaging().equivalent(messaging)
        return Equivalent(same.use, same.parameters, {"elapsed": same.metrics["time"]})


def _values(text: str, *, separated: bool) -> Iterator[tuple[str, float]]:
    """Yield the value of each counter that the machine has; the elapsed time has an error when runs were repeated."""
    counts = (
        perf_output.separated(Log("output", f"{text}\n"))[1]
        if separated
        else counts_for_people(enumerate(Lines(text), 1))
    )
    for count in counts:
        if count.value is None:
            continue
        # An unprivileged user gets the user-space share only, which perf marks with ":u".
        yield count.metric.name.partition(":")[0], count.value
        if count.metric.name == "elapsed" and count.error_percent is not None:
            yield "elapsed-error", count.error_percent

"""Workload adapters: typed parameters in, a command line out, its output back in as metrics.

An adapter describes one benchmark and does not depend on variants. The target starts the command (and its servers)
under the variant's attributes, and kills processes that remain. Everything runs on the machine under test.

    parameters ──preparation()──▶ steps ──target──▶ the state that trials need
    parameters ──command()──▶ Command ──target──▶ Output ──parse()──▶ list[Metric]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from schedlab.results.metrics import Metric, MetricSpec
from schedlab.workloads.machine import Machine
from schedlab.workloads.tools import Tool as Tool  # noqa: PLC0414 - adapters import Tool from here

if TYPE_CHECKING:
    from schedlab.workloads.command.figures import Figure
    from schedlab.workloads.log_reader import Reader


class Parameters(BaseModel):
    """Base of every adapter's parameters: unknown keys are errors, values are not coerced."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True)
class Server:
    """A process that must be ready before the timed command starts. The launcher starts the process, waits until it is
    ready, and kills it.

    ``ready`` is ``tcp:PORT``, ``unix:PATH`` or ``exec:COMMAND``.
    """

    argv: tuple[str, ...]
    ready: str


@dataclass(frozen=True)
class Command:
    """The processes of a trial: the timed command, its servers, extra environment, a working folder."""

    argv: tuple[str, ...]
    servers: tuple[Server, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    repeat: int = 1
    """Runs of the command, one after another; a run that fails is the last run."""
    groups: tuple[Path, ...] = ()
    """Control groups that the command makes, parents first. The launcher removes the groups that the command leaves."""


@dataclass(frozen=True)
class Output:
    """Output of a trial's command: its streams, and the launcher's times of the complete process tree.

    Times are seconds; ``user`` and ``system`` include every child that was waited for.
    """

    stdout: str
    stderr: str
    elapsed: float
    user: float
    system: float
    exit_code: int
    runs: Sequence[tuple[float, float, float]] = ()
    """Elapsed, user and system time of each run of a repeated command."""


@dataclass(frozen=True)
class Place:
    """The machine under test, and the folders there for an adapter's files.

    Attributes:
        cache: folder that is kept between runs.
        scratch: folder of the run, in memory where that is possible; other users can reach its folders by name.
        disk: folder of the run for files that are too large for memory.
        machine: facts about the machine.
    """

    cache: Path
    scratch: Path
    disk: Path = Path("/var/tmp")
    machine: Machine = field(default_factory=Machine)
    _chosen: dict[str, Path] = field(default_factory=dict, repr=False, compare=False)

    def folder(self, name: str, wanted_bytes: int) -> Path:
        """Return the run's folder of this name for files of this size: in memory if there is room, otherwise on the
        disk. The preparation makes the folder."""
        if name not in self._chosen:
            fits = self.machine.free_bytes(self.scratch.parent) > wanted_bytes
            self._chosen[name] = (self.scratch if fits else self.disk) / name
        return self._chosen[name]

    def missing_room(self, what: str, wanted_bytes: int) -> list[str]:
        """Return that neither memory nor disk has this room; empty when one of them has."""
        folders = (self.scratch.parent, self.disk.parent)
        free = max(map(self.machine.free_bytes, folders))
        if free >= wanted_bytes:
            return []
        return [f"{what} needs {wanted_bytes / (1 << 30):.1f} GiB in {folders[0]} or {folders[1]}, which have "
                f"{free / (1 << 30):.1f} GiB"]  # fmt: skip


@dataclass(frozen=True)
class Step:
    """A command that prepares trials, or removes what they leave. A step that fails ends the run.

    Attributes:
        name: the subject of the message about a failure.
        command: the command with its servers.
        todo: the remedy for a failure.
        leaves: whether processes that the command leaves continue.
    """

    name: str
    command: Command
    todo: str = "run the command by hand, and mend what it reports"
    leaves: bool = False


@dataclass(frozen=True)
class Resource:
    """A resource that later steps or trials make. The journal's agent removes the resource after the run, also after a
    kill.

    ``what`` is FOLDER, SEGMENT or GROUP of :mod:`schedlab.files.scratch`, ``name`` the name there. The folders
    :attr:`Place.scratch` and :attr:`Place.disk` need no entry.
    """

    what: str
    name: str


@dataclass(frozen=True)
class Preparation:
    """The untimed work around the trials of a row, none of it under a variant.

    Attributes:
        key: rows of one workload with the same key share the state that ``steps`` make.
        steps: steps before the first trial. A generator may look at the machine between its steps.
        before_trial: steps that restore the state before each trial of the row.
        at_end: steps after the last trial, also when a step or a trial failed.
    """

    key: str
    steps: Iterable[Step | Resource] = ()
    before_trial: Sequence[Step] = ()
    at_end: Sequence[Step] = ()


@dataclass(frozen=True)
class Equivalent:
    """A native program with the behaviour of a tool, for targets that cannot run tools.

    Attributes:
        use: name of the native workload.
        parameters: parameters of the native workload.
        metrics: metrics of the native workload by the tool's metrics, of the same unit and direction. Other metrics of
            the tool have no counterpart.
        watches: whether the simulator derives the tool's output from the interruptions of the CPU under test. Then
            all metrics have a counterpart.
        policy, priority: policy that the tool sets for its tasks, with the priority of fifo and rr; None leaves the
            variant's policy in effect.
    """

    use: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, str]
    watches: bool = False
    policy: str | None = None
    priority: int | None = None


class Adapter(ABC, Generic[P]):
    """One benchmark. Subclasses set the class variables and define ``command`` and ``parse``."""

    name: ClassVar[str]
    """The name after ``use =`` in an experiment file."""
    summary: ClassVar[str]
    """One line for ``schedlab workloads``."""
    parameters: ClassVar[type[Parameters]]
    prepares: ClassVar[str] = ""
    """The state that trials need, apart from programs; a guest does not have this state."""
    metrics: tuple[MetricSpec, ...]
    tools: ClassVar[tuple[Tool, ...]] = ()
    note: ClassVar[str] = ""
    """A limit of the figures that readers must know (for instance: not comparable with a similar tool)."""
    surroundings: ClassVar[frozenset[str]] = frozenset()
    """Parameters of the commands around trials. These parameters do not name a row, and a list of their values does
    not make several rows."""
    locale: ClassVar[Mapping[str, str]] = {"LC_ALL": "C"}
    """Environment of the command that selects its locale. Tools print ``30,5`` for 30.5 in many locales. A workload
    that runs a command of the user keeps the user's locale, which may change the times of the command."""
    overhead: ClassVar[float] = 0.1
    """Seconds of a trial in addition to the parameter ``duration``: start and stop of servers and clients."""

    @abstractmethod
    def command(self, parameters: P, place: Place) -> Command:
        """Return the command line for these parameters."""

    def trial_command(self, parameters: P, place: Place) -> Command:
        """Return the command of a trial, in the workload's locale."""
        command = self.command(parameters, place)
        return replace(command, environment={**self.locale, **command.environment})

    @abstractmethod
    def parse(self, parameters: P, output: Output) -> list[Metric]:
        """Return the metrics in this output; raises NotUnderstood when the output has another shape."""

    def with_figures(self, figures: Sequence[Figure]) -> Adapter[P]:
        """Return this workload with metrics that an experiment declares; ValueError when the workload takes no
        metrics."""
        raise ValueError(f'{self.name!r} has fixed metrics: give only names, or write use = "command"')

    def needs_state(self, parameters: P) -> bool:
        """Return whether trials need more than programs."""
        return bool(self.prepares)

    def seconds(self, parameters: P) -> float:
        """Estimate one trial's duration, for a plan without an earlier run."""
        return float(getattr(parameters, "duration", 0.9)) + self.overhead

    def good_exit(self, parameters: P) -> int:
        """Return the exit code of a good trial; a trial with any other exit code fails."""
        return 0

    def missing_requirements(self, parameters: P, place: Place) -> list[str]:
        """Return why these parameters cannot run on the machine and the remedy, apart from missing tools."""
        return []

    def doubts(self, parameters: P) -> list[str]:
        """Return warnings about parameters that can run, and may not do what their author intends."""
        return []

    def preparation(self, parameters: P, place: Place) -> Preparation | None:
        """Return the work that must not be timed (unpack, initdb, ``make clean``); None without such work."""
        return None

    def equivalent(self, parameters: P) -> Equivalent | None:
        """Return the native program with the same behaviour, or None."""
        return None

    def judged(self, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the metrics that get a verdict in a row with these parameters, as written in the file,
        unless the experiment names metrics."""
        return tuple(spec.name for spec in self.metrics if spec.judged)

    def spec(self, name: str) -> MetricSpec:
        """Return the metric of this name; KeyError when the adapter has no such metric."""
        for spec in self.metrics:
            if spec.name == name:
                return spec
        raise KeyError(name)

    def measured(self, values: Mapping[str, float]) -> list[Metric]:
        """Return the metrics that have a value, in the order of ``metrics``."""
        return [Metric(spec, values[spec.name]) for spec in self.metrics if spec.name in values]


class OutputAdapter(Adapter[P]):
    """A benchmark whose output has a reader: a trial has the figures that an import of its output has."""

    reader: ClassVar[Reader]
    complete: ClassVar[bool] = False
    """Whether every trial has all metrics, not only the judged ones."""

    def text(self, output: Output) -> str:
        """Return the text that the reader reads."""
        return output.stdout

    def parse(self, parameters: P, output: Output) -> list[Metric]:
        """Return the metrics that the reader finds."""
        from schedlab.workloads.log_reader import parsed

        return parsed(self.reader, self.text(output), self.metrics, complete=self.complete)


AnyAdapter = Adapter[Parameters]

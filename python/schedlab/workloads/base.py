"""Workload adapters: typed parameters in, a command line out, its output back in as metrics.

An adapter describes one benchmark and does not depend on variants. The target starts the command (and its servers)
under the variant's attributes, and kills processes that remain.

    parameters ──command()──▶ Command ──target──▶ Output ──parse()──▶ list[Metric]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from schedlab.files.scratch import NoRegister, Register
from schedlab.results.metrics import Metric, MetricSpec

if TYPE_CHECKING:
    from schedlab.workloads.command.figures import Figure
    from schedlab.workloads.log_reader import Reader


class Parameters(BaseModel):
    """Base of every adapter's parameters: unknown keys are errors, values are not coerced."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True)
class Tool:
    """A program that an adapter needs, and the Debian package (or command) that installs it."""

    program: str
    package: str
    paths: tuple[str, ...] = ()
    """Places apart from ``$PATH``, with ``*`` as a wildcard. The program may also be a header or another file."""
    source: str = ""
    """Source of the program where Debian's main archive does not have the package."""


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
    """Folders for an adapter's files: ``cache`` is kept between runs, ``scratch`` is deleted after the run.

    If an adapter makes a resource elsewhere, the adapter first names the resource in ``register``: after a kill, the
    journal's agent, or the next start of schedlab, removes the resource.
    """

    cache: Path
    scratch: Path
    register: Register = field(default_factory=NoRegister)
    cpus: int | None = None
    """CPUs for the trials on another machine; None for the CPUs that this process may use."""


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
    """The resources that ``prepared`` and ``before_trial`` make on this machine; empty without these methods."""
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

    def makes_files(self, parameters: P) -> bool:
        """Return whether the workload prepares files on this machine, which a guest would not have."""
        kind = type(self)
        return kind.prepared is not Adapter.prepared or kind.before_trial is not Adapter.before_trial

    def seconds(self, parameters: P) -> float:
        """Estimate one trial's duration, for a plan without an earlier run."""
        return float(getattr(parameters, "duration", 0.9)) + self.overhead

    def good_exit(self, parameters: P) -> int:
        """Return the exit code of a good trial; a trial with any other exit code fails."""
        return 0

    def missing_requirements(self, parameters: P) -> list[str]:
        """Return why these parameters cannot run on this machine and the remedy, apart from missing tools."""
        return []

    def doubts(self, parameters: P) -> list[str]:
        """Return warnings about parameters that can run, and may not do what their author intends."""
        return []

    @contextmanager
    def prepared(self, parameters: P, place: Place) -> Iterator[None]:
        """Context of all trials of one row in a run: slow steps that must not be timed (unpack, initdb, warm)."""
        yield

    def before_trial(self, parameters: P, place: Place) -> None:
        """Restore the state that every iteration needs (``make clean``); runs before each trial, untimed."""
        return

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

"""What a workload adapter is: typed parameters in, a command line out, its output back in as metrics.

An adapter knows one benchmark and nothing of variants: it never asks under which scheduler setting it runs. The
target starts its command (and its servers) under the variant's attributes, and kills what is left over.

    parameters ──command()──▶ Command ──target──▶ Output ──parse()──▶ list[Metric]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from schedlab.workloads.metrics import Metric, MetricSpec, NotUnderstood

__all__ = [
    "Adapter", "AnyAdapter", "Command", "Equivalent", "Metric", "MetricSpec", "NotUnderstood", "Output", "P",
    "Parameters", "Place", "Server", "Tool",
]  # fmt: skip


class Parameters(BaseModel):
    """Base of every adapter's parameters: unknown keys are errors, values are not coerced."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True)
class Tool:
    """A program that an adapter needs, and the Debian package (or command) that brings it."""

    program: str
    package: str
    paths: tuple[str, ...] = ()
    """Places beside ``$PATH`` where distributions put it; may hold ``*``. A library's header or a file counts too."""
    source: str = ""
    """Where it is had when Debian's main archive does not have the package."""


@dataclass(frozen=True)
class Server:
    """A process that must be up before the timed command starts; the launcher starts it, waits, and kills it.

    ``ready`` is ``tcp:PORT``, ``unix:PATH`` or ``exec:COMMAND``.
    """

    argv: tuple[str, ...]
    ready: str


@dataclass(frozen=True)
class Command:
    """What a trial starts: the timed command, its servers, extra environment, a working folder."""

    argv: tuple[str, ...]
    servers: tuple[Server, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None


@dataclass(frozen=True)
class Output:
    """What a trial's command left: its streams, and the launcher's account of the whole process tree.

    Times are seconds; ``user`` and ``system`` include every child that was waited for.
    """

    stdout: str
    stderr: str
    elapsed: float
    user: float
    system: float
    exit_code: int


@dataclass(frozen=True)
class Place:
    """Where an adapter may put files: ``cache`` is kept between runs, ``scratch`` goes with the run."""

    cache: Path
    scratch: Path


@dataclass(frozen=True)
class Equivalent:
    """A native program that does what a tool does, for targets that run programs and no tools.

    ``parameters`` are those of the workload ``use``; ``metrics`` maps the tool's metrics to the native one's, of the
    same unit and direction. What is not named there has no counterpart.
    """

    use: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, str]


class Adapter(ABC, Generic[P]):
    """One benchmark. Subclasses set the class variables and write ``command`` and ``parse``."""

    name: ClassVar[str]
    """What an experiment file writes after ``use =``."""
    summary: ClassVar[str]
    """One line for ``schedlab workloads``."""
    parameters: ClassVar[type[Parameters]]
    prepares: ClassVar[str] = ""
    """What ``prepared`` and ``before_trial`` make on this machine, in a few words; set where one of them is."""
    metrics: ClassVar[tuple[MetricSpec, ...]]
    tools: ClassVar[tuple[Tool, ...]] = ()
    note: ClassVar[str] = ""
    """What a reader of the figures must know (for instance: not comparable with the tool it resembles)."""

    @abstractmethod
    def command(self, parameters: P, place: Place) -> Command:
        """The command line for these parameters."""

    @abstractmethod
    def parse(self, parameters: P, output: Output) -> list[Metric]:
        """The metrics in this output; raises :class:`NotUnderstood` when it has another shape."""

    def seconds(self, parameters: P) -> float:
        """A guess at one trial's duration, for the plan's estimate when no earlier run is known."""
        return 1.0

    def good_exit(self, parameters: P) -> int:
        """The exit code that a trial must end with; any other is a failed trial."""
        return 0

    def obstacles(self, parameters: P) -> list[str]:
        """Why these parameters cannot run on this machine, beyond missing tools (each with what to do)."""
        return []

    @contextmanager
    def prepared(self, parameters: P, place: Place) -> Iterator[None]:
        """Around all of a run's trials of one row: what is slow and must not be timed (unpack, initdb, warm)."""
        yield

    def before_trial(self, parameters: P, place: Place) -> None:
        """Before each trial, untimed: what every iteration needs fresh (``make clean``)."""
        return

    def equivalent(self, parameters: P) -> Equivalent | None:
        """The native program with the same behaviour; None where there is none that deserves the name."""
        return None

    def spec(self, name: str) -> MetricSpec:
        """The metric of this name; KeyError when the adapter has none."""
        for spec in self.metrics:
            if spec.name == name:
                return spec
        raise KeyError(name)


AnyAdapter = Adapter[Parameters]

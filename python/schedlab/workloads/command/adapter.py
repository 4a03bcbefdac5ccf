"""Elapsed and CPU time of any command line, measured as by ``perf stat --null`` and ``time``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Annotated, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from schedlab.files.scratch import GROUP
from schedlab.results.metrics import Metric, MetricSpec, NotUnderstood
from schedlab.workloads.base import Adapter, Command, Output, Parameters, Place, Preparation, Resource, Step
from schedlab.workloads.command import task_groups
from schedlab.workloads.command.figures import Figure, read_all
from schedlab.workloads.tools import SCHEDLOAD

METRICS = (
    MetricSpec("elapsed", "s", "lower"),
    MetricSpec("user", "s", "lower", judged=False),
    MetricSpec("system", "s", "lower", judged=False),
    MetricSpec("cpu", "%", "higher", judged=False),
)
"""Times of a process tree. ``cpu`` is user + system over elapsed, as GNU time's ``%P``."""


def times(output: Output) -> list[Metric]:
    """Return :data:`METRICS` with the launcher's values; NotUnderstood without an elapsed time.

    A repeated command has the mean over its runs, and a sample for each run.
    """
    runs = output.runs or [(output.elapsed, output.user, output.system)]
    if any(elapsed <= 0 for elapsed, _, _ in runs):
        raise NotUnderstood("the launcher measured no time")
    columns = [*zip(*runs, strict=True), [100 * (user + system) / elapsed for elapsed, user, system in runs]]
    return [
        Metric(spec, fsum(values) / len(values), list(values) if len(values) > 1 else None)
        for spec, values in zip(METRICS, columns, strict=True)
    ]


class RunParameters(Parameters):
    """A command line. ``run`` is split into arguments by the rules of a shell. To run the command in a shell, write
    ``sh -c '…'``."""

    run: Annotated[str, Field(min_length=1)]

    @field_validator("run")
    @classmethod
    def _require_command(cls, run: str) -> str:
        if not shlex.split(run) or "\0" in run:
            raise ValueError("contains no command, or a NUL byte")
        return run


_SHELL_WORD = re.compile(r"[|&;]+|\d*(?:<|>>?)(?:&\d|&-|[\w./-]*)|.*(?:\$[({A-Za-z_]|`).*")
"""An unquoted word with a meaning for a shell: operators, redirections and expansions (POSIX.1-2017, XCU 2)."""


def shell_words(run: str) -> list[str]:
    """Return a warning about words that only a shell would interpret; a quoted or escaped word is meant as an argument.

    A shell as the command gets such words within quotes.
    """
    lexer = shlex.shlex(run, posix=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        found = [word for word in lexer if not set("\\'\"") & set(word) and _SHELL_WORD.fullmatch(word)]
    except ValueError:  # a quote that only the rules of a shell close
        return []
    if not found:
        return []
    words = " ".join(dict.fromkeys(found))
    return [f"no shell interprets {words} of run, which is passed to the program: write sh -c '…' to use a shell"]


class CommandParameters(RunParameters):
    """A command line, the exit code of a good trial, repetitions, and commands around the trials."""

    success: Annotated[int, Field(ge=0, le=255, description="the exit code of a good trial")] = 0
    repeat: Annotated[
        int, Field(ge=1, le=100_000, description="runs of the command in a trial; each is a sample of the times")
    ] = 1
    setup: Annotated[
        str | None,
        Field(
            min_length=1,
            description=("a shell command before the first trial of the row; a failure of this command ends the run"),
        ),
    ] = None
    cleanup: Annotated[
        str | None,
        Field(
            min_length=1,
            description="a shell command after the last trial, also when setup or a trial failed, or after Ctrl-C",
        ),
    ] = None

    @model_validator(mode="after")
    def _repeat_good_runs(self) -> Self:
        if self.repeat > 1 and self.success:
            raise ValueError("repeat ends at a run with another exit code than 0: remove success")
        return self


class CommandLine(Adapter[CommandParameters]):
    """Any program: its times, and the figures that the program prints."""

    name = "command"
    summary = "any command line: elapsed, user, system, CPU %, and the figures that the command prints"
    parameters = CommandParameters
    metrics: tuple[MetricSpec, ...] = METRICS
    tools = (SCHEDLOAD,)
    surroundings = frozenset({"setup", "cleanup"})
    locale: ClassVar[Mapping[str, str]] = {}
    prepares = "the files that its setup makes"

    def __init__(self, figures: Sequence[Figure] = ()) -> None:
        self._figures = tuple(figures)
        self.metrics = (*METRICS, *(figure.spec for figure in figures))

    def with_figures(self, figures: Sequence[Figure]) -> CommandLine:
        """Return this workload with further metrics, which are read from the command's output."""
        return CommandLine(figures)

    def command(self, parameters: CommandParameters, place: Place) -> Command:
        """The arguments of ``run``."""
        argv = tuple(shlex.split(parameters.run))
        return Command(argv, repeat=parameters.repeat, groups=tuple(task_groups.new_groups(argv, place.machine)))

    def parse(self, parameters: CommandParameters, output: Output) -> list[Metric]:
        """Return the launcher's times, and the declared figures in the command's output."""
        return [*times(output), *read_all(self._figures, output.stdout, output.stderr)]

    def good_exit(self, parameters: CommandParameters) -> int:
        """The exit code in ``success``."""
        return parameters.success

    def needs_state(self, parameters: CommandParameters) -> bool:
        """Whether there is a command around the trials."""
        return parameters.setup is not None or parameters.cleanup is not None

    def doubts(self, parameters: CommandParameters) -> list[str]:
        """See :func:`shell_words`."""
        return shell_words(parameters.run)

    def seconds(self, parameters: CommandParameters) -> float:
        """Estimate a second a run."""
        return super().seconds(parameters) * parameters.repeat

    def preparation(self, parameters: CommandParameters, place: Place) -> Preparation:
        """Run ``setup``, record the control groups that the command makes, and at the end run ``cleanup``."""
        steps = _steps(parameters, place)
        return Preparation(parameters.model_dump_json(), steps, at_end=_around("cleanup", parameters.cleanup))


def _steps(parameters: CommandParameters, place: Place) -> Iterator[Step | Resource]:
    yield from _around("setup", parameters.setup)
    # Afterwards, because setup may write the file that names the groups.
    groups = task_groups.new_groups(shlex.split(parameters.run), place.machine)
    yield from (Resource(GROUP, str(group)) for group in groups)


def _around(key: str, script: str | None) -> list[Step]:
    """Return the step of a shell command, which may start servers; empty without a command."""
    if script is None:
        return []
    todo = "run the command by hand; the trials that were recorded are kept"
    return [Step(key, Command(("sh", "-c", script)), todo, leaves=True)]

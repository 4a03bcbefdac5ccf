"""The states of a bisection: variants of a file, commits of a repository, or shell commands. States are made here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import environ, sched_getaffinity
from pathlib import Path

from schedlab.errors import ExperimentError
from schedlab.execution.pairs import Build
from schedlab.execution.runs import Source
from schedlab.execution.watch import Watch
from schedlab.experiment import changes, states
from schedlab.experiment.changes import Changes
from schedlab.experiment.model import Experiment, Variant
from schedlab.experiment.plan import Plan
from schedlab.files import cache
from schedlab.kernels import git, series_build
from schedlab.kernels.build_cache import BASE, BuildCache, kernel_name
from schedlab.kernels.config import recipe
from schedlab.kernels.series_build import Outcome, Prefix
from schedlab.kernels.source import SeriesRequest, open_series
from schedlab.targets.checkouts import Checkouts

SLOWEST_S = 7200.0
"""Limit of each run of make for a kernel, as in ``schedlab kernels build``."""


@dataclass(frozen=True)
class States:
    """The states of a search, in order.

    Attributes:
        file: the experiment of a file, or None for ``run`` alone.
        good, bad: the first and the last variant of the file; None for the file's first and last.
        commits: a range ``GOOD..BAD`` of commits of the repository ``tree``.
        tree: a git repository, which is only read.
        build: shell command that builds a commit in its folder.
        config: make target or configuration of commits that are kernels.
        commands: a file of shell commands, one a line.
        run: shell command to measure.
        delta: least change that counts, for states without a file.
    """

    file: Source | None = None
    good: str | None = None
    bad: str | None = None
    commits: str | None = None
    tree: Path = Path()
    build: str | None = None
    config: str | None = None
    commands: Path | None = None
    run: str | None = None
    delta: str | None = None

    @property
    def name(self) -> str:
        """The name of the experiment, for messages and for the store."""
        return self.file.name if self.file else "the arguments"

    def experiment(self) -> tuple[Experiment, str]:
        """Return the experiment whose variants are the states, and its text."""
        sources = [option for option, value in (("--commits", self.commits), ("--states", self.commands)) if value]
        if len(sources) > 1 or (sources and (self.good or self.bad)):
            todo = "name the states once: variants of the file (--good, --bad), --commits, or --states"
            raise ExperimentError("the states are named twice", where=", ".join(sources), todo=todo)
        if self.file is None and not sources:
            raise ExperimentError("there are no states", where="bisect", todo="name a file, --commits or --states")
        name = self.name
        text = self.file.text if self.file else None
        if self.config is not None:
            if self.commits is None or text is None or self.run is not None or self.build is not None:
                todo = "name a file with a workload and --commits, without --run and --build"
                raise ExperimentError("--config builds kernels of a git repository", where="--config", todo=todo)
            experiment, text = states.of_kernels(text, name, _commits(self.tree, self.commits), _kernels(self))
        elif self.commits is not None:
            experiment, text = states.of_commits(text, name, _commits(self.tree, self.commits), self.run)
        elif self.commands is not None:
            experiment, text = states.of_commands(text, name, _lines(self.commands), self.run)
        else:
            assert text is not None
            if self.run is not None or self.build is not None:
                todo = "--run and --build go with --commits or --states; a file contains a workload"
                raise ExperimentError("the states are variants of a file", where="--run, --build", todo=todo)
            experiment, text = states.of_file(text, name, self.good, self.bad)
        if self.file is None and self.delta is not None:
            experiment, text = changes.apply(Changes(delta=self.delta), experiment, text, name)
        return experiment, text

    @contextmanager
    def builds(self, plan: Plan, watch: Watch) -> Iterator[Build]:
        """Yield the function that makes a state. An interrupted search keeps its built commits for ``--resume``."""
        if self.config is not None:
            with _kernel_builds(self, self.config, plan, watch) as build:
                yield build
            return
        if self.commits is None:
            yield lambda variant: ""
            return
        checkouts = Checkouts(self.tree, self.build)
        environ[states.STATES] = str(checkouts.folder)
        yield checkouts.make
        checkouts.remove()


def _commits(tree: Path, span: str) -> list[tuple[str, str]]:
    """Return hash and title of the commits of ``GOOD..BAD``, the good commit first."""
    good, dots, bad = span.partition("..")
    if not dots or not good or bad.startswith("."):
        raise ExperimentError(f"{span!r} is not a range", where="--commits", todo="write GOOD..BAD: v1.0..HEAD")
    first, last = git.commit(tree, good), git.commit(tree, bad or "HEAD")
    if not git.is_ancestor(tree, first, last):
        todo = "name two commits: the second must descend from the first"
        raise ExperimentError(f"{bad or 'HEAD'!r} does not descend from {good!r}", where=f"--commits {span}", todo=todo)
    hashes = [first, *git.commits(tree, first, last)]
    return [(commit, git.title(tree, commit)) for commit in hashes]


def _lines(path: Path) -> list[str]:
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _series(states: States) -> tuple[SeriesRequest, str]:
    """Return source and changes of the commits of a kernel, and the name of the series in the cache of kernels."""
    series = open_series(str(states.tree), None, states.commits, cache.folder())
    return series, f"{series.name}-{git.commit(states.tree, (states.commits or '').partition('..')[0])[:12]}"


def _kernels(states: States) -> list[str]:
    """Return the names of the commits' kernels, the good commit first."""
    series, name = _series(states)
    return [kernel_name(name, prefix) for prefix in (BASE, *(change.name for change in series.changes))]


@contextmanager
def _kernel_builds(states: States, config: str, plan: Plan, watch: Watch) -> Iterator[Build]:
    """Yield the function that builds a state's kernel. The good kernel is built at once: the target looks at it."""
    series, name = _series(states)
    jobs = len(sched_getaffinity(0))
    order = series_build.Request(series.source, series.changes, recipe(config, ()), name, jobs, SLOWEST_S)

    def report(step: Prefix | Outcome) -> None:
        if isinstance(step, Prefix):
            watch.step("building:", f"{step.name} {step.title}")

    with series_build.workshop(order, BuildCache.of(), report) as works:
        places = {variant.name: index for index, variant in enumerate(plan.variants)}

        def build(variant: Variant) -> str:
            reason = works.make(places[variant.name]).record.reason
            works.record_all()
            return reason

        build(plan.variants[0])
        yield build

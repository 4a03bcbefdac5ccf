"""The steps of ``schedlab bisect``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import environ, sched_getaffinity
from pathlib import Path

from sqlalchemy import Engine

from schedlab.analysis.changepoint import simulated_blocks
from schedlab.cli import experiment_run
from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.appearance import appearance
from schedlab.cli.console import Console, make
from schedlab.cli.interruption import UNDONE, Points, ending, measuring
from schedlab.cli.options import again, lasting, seconds_of, store_words
from schedlab.errors import Exit, ExperimentError
from schedlab.execution.bisection import bisection, pilot_noise, times
from schedlab.execution.loop import require_runnable
from schedlab.execution.pairs import Build
from schedlab.execution.search import Budget, search
from schedlab.experiment import changes, states
from schedlab.experiment.changes import Changes
from schedlab.experiment.model import Experiment, Variant
from schedlab.experiment.plan import Plan, of_one_row
from schedlab.files import cache
from schedlab.kernels import git, series_build
from schedlab.kernels.build_cache import BASE, BuildCache, kernel_name
from schedlab.kernels.config import recipe
from schedlab.kernels.series_build import Outcome, Prefix
from schedlab.kernels.source import SeriesRequest, open_series
from schedlab.notation.units import counted
from schedlab.report.answers.bisect import compose
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.targets.checkouts import Checkouts
from schedlab.targets.selection import choose

EFFECTS = (0.03, 0.1, 0.3)
"""Relative changes for which ``--dry-run`` simulates searches."""

SLOWEST_S = 7200.0
"""Limit of each run of make for a kernel, as in ``schedlab kernels build``."""

LEAST_NOISE = 1e-4
"""Least noise of simulated searches. Counted figures have no noise."""


@dataclass(frozen=True)
class Request:
    """The arguments of the command."""

    file: Path | None
    good: str | None
    bad: str | None
    commits: str | None
    tree: Path
    build: str | None
    config: str | None
    states: Path | None
    run: str | None
    blocks: int
    budget: str | None
    delta: str | None
    only: str | None
    store: Location
    resume: bool
    seed: int | None
    target: str | None
    sysroot: Path | None

    @property
    def words(self) -> list[str]:
        """The command line that repeats the search."""
        options = {
            "--good": self.good, "--bad": self.bad, "--commits": self.commits, "--build": self.build,
            "--config": self.config, "--states": self.states, "--run": self.run, "--budget": self.budget,
            "--delta": self.delta, "--only": self.only, "--target": self.target, "--sysroot": self.sysroot,
            "--blocks": self.blocks, "--store": self.store, "--tree": self.tree if self.commits else None,
        }  # fmt: skip
        words = [word for option, value in options.items() if value is not None for word in (option, str(value))]
        return ["bisect", *([str(self.file)] if self.file else []), *words]


def search_and_print(request: Request, aside: Console, form: AnswerFormat, output: Path | None) -> int:
    """Search, and print the result; return the exit code. ``aside`` is the console of progress and hints."""
    budget = Budget(request.blocks, seconds_of(request.budget, "--budget"))
    experiment, text = _experiment(request)
    plan = of_one_row(experiment, request.seed)
    name = str(request.file or "the arguments")
    source = experiment_run.Source(name, request.words, lambda: (experiment, text))
    of_run = experiment_run.Request(
        source, request.store, False, request.seed, request.resume, request.sysroot, request.target
    )
    begun = None
    if request.resume:
        begun = experiment_run.unfinished_run(open_store(request.store, create=False), of_run, complete=True)
    plan = plan if begun is None else replace(plan, seed=begun.seed)
    target = choose(request.target, experiment, request.sysroot)
    with (
        ending(aside, UNDONE, again(request.store, ["schedlab", *request.words, "--resume"])),
        measuring(aside, target),
        _builds(request, plan, aside) as build,
    ):
        require_runnable(plan, target, experiment_run.show_download)
        engine = open_store(request.store, create=True)
        run_id = begun.id if begun else experiment_run.begin(engine, of_run, plan, text, target, bisection=True)
        search(plan, target, engine, run_id, budget, Points(aside, {plan.variants[0].name}), build)
    print_result(engine, run_id, form, output, request.store, request)
    shown = ["schedlab", "bisect", "--show", str(run_id), *store_words(request.store)]
    aside.hint("again:", shlex.join(again(request.store, shown)))
    return Exit.FINE


def show_plan(request: Request, pilot: int | None) -> int:
    """``--dry-run``: print the states, the reasons why the search cannot run here, and the blocks that a search
    takes."""
    console, budget = make(), Budget(request.blocks, seconds_of(request.budget, "--budget"))
    experiment, _ = _experiment(request)
    plan = of_one_row(experiment, request.seed)
    (row,) = plan.rows
    console.print(
        f"{counted(len(plan.variants), 'state')}, {row} {row.judged[0]}, at most {counted(budget.blocks, 'block')}"
    )
    for index, variant in enumerate(plan.variants):
        console.print(
            f"  {index}  {variant.name}{f'  {variant.description}' if variant.description else ''}", soft_wrap=True
        )
    if pilot is not None:
        noise = pilot_noise(open_store(request.store, create=False), pilot, row.judged[0])
        console.print(f"\nnoise of a block in run {pilot}: {100 * noise:.2g} %; blocks of a search, simulated:")
        for effect in EFFECTS:
            delta = experiment.analysis.delta
            blocks = simulated_blocks(len(plan.variants), delta, effect, max(noise, LEAST_NOISE), budget.blocks)
            console.print(
                f"  a change of {100 * effect:.0f} %: {blocks[len(blocks) // 2]} (median), {blocks[-1]} at most"
            )
    if request.config is not None:
        console.say("note:", "the kernels are built when the search measures them; then the target is checked")
        return Exit.FINE
    missing = choose(request.target, experiment, request.sysroot).missing_requirements(plan)
    for requirement in missing:
        console.say("cannot run here:", str(requirement))
    return Exit.CANNOT_RUN if missing else Exit.FINE


def print_result(
    engine: Engine, run: int, form: AnswerFormat, output: Path | None, store: Location, request: Request | None = None
) -> None:
    """Print the result of a stored search, or write the result into a file. ``request`` made the search, if known."""
    result = bisection(engine, run)
    words = request.words if request else ()
    present(compose(result, times(engine, result.run), lasting(store), words), form, output)


def _experiment(request: Request) -> tuple[Experiment, str]:
    """Return the experiment whose variants are the states, and its text."""
    sources = [option for option, value in (("--commits", request.commits), ("--states", request.states)) if value]
    if len(sources) > 1 or (sources and (request.good or request.bad)):
        todo = "name the states once: variants of the file (--good, --bad), --commits, or --states"
        raise ExperimentError("the states are named twice", where=", ".join(sources), todo=todo)
    if request.file is None and not sources:
        raise ExperimentError("there are no states", where="bisect", todo="name a file, --commits or --states")
    name = str(request.file or "the arguments")
    text = None
    if request.file is not None:
        chosen = Changes(delta=request.delta, only=(request.only,) if request.only else ())
        _, text = experiment_run.file_source(request.file, chosen).load()
    if request.config is not None:
        if request.commits is None or text is None or request.run is not None or request.build is not None:
            todo = "name a file with a workload and --commits, without --run and --build"
            raise ExperimentError("--config builds kernels of a git repository", where="--config", todo=todo)
        experiment, text = states.of_kernels(text, name, _commits(request.tree, request.commits), _kernels(request))
    elif request.commits is not None:
        experiment, text = states.of_commits(text, name, _commits(request.tree, request.commits), request.run)
    elif request.states is not None:
        experiment, text = states.of_commands(text, name, _lines(request.states), request.run)
    else:
        assert text is not None
        if request.run is not None or request.build is not None:
            todo = "--run and --build go with --commits or --states; a file contains a workload"
            raise ExperimentError("the states are variants of a file", where="--run, --build", todo=todo)
        experiment, text = states.of_file(text, name, request.good, request.bad)
    if request.file is None and request.delta is not None:
        experiment, text = changes.apply(Changes(delta=request.delta), experiment, text, name)
    return experiment, text


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


def _series(request: Request) -> tuple[SeriesRequest, str]:
    """Return source and changes of the commits of a kernel, and the name of the series in the cache of kernels."""
    series = open_series(str(request.tree), None, request.commits, cache.folder())
    return series, f"{series.name}-{git.commit(request.tree, (request.commits or '').partition('..')[0])[:12]}"


def _kernels(request: Request) -> list[str]:
    """Return the names of the commits' kernels, the good commit first."""
    series, name = _series(request)
    return [kernel_name(name, prefix) for prefix in (BASE, *(change.name for change in series.changes))]


@contextmanager
def _builds(request: Request, plan: Plan, aside: Console) -> Iterator[Build]:
    """Yield the function that makes a state. An interrupted search keeps its built commits for ``--resume``."""
    if request.config is not None:
        with _kernel_builds(request, request.config, plan, aside) as build:
            yield build
        return
    if request.commits is None:
        yield lambda variant: ""
        return
    checkouts = Checkouts(request.tree, request.build)
    environ[states.STATES] = str(checkouts.folder)
    yield checkouts.make
    checkouts.remove()


@contextmanager
def _kernel_builds(request: Request, config: str, plan: Plan, aside: Console) -> Iterator[Build]:
    """Yield the function that builds a state's kernel. The good kernel is built at once: the target looks at it."""
    series, name = _series(request)
    jobs = len(sched_getaffinity(0))
    order = series_build.Request(series.source, series.changes, recipe(config, ()), name, jobs, SLOWEST_S)

    def report(step: Prefix | Outcome) -> None:
        if isinstance(step, Prefix) and not appearance.quiet:
            aside.say("building:", f"{step.name} {step.title}", "dim")

    with series_build.workshop(order, BuildCache.of(), report) as works:
        places = {variant.name: index for index, variant in enumerate(plan.variants)}

        def build(variant: Variant) -> str:
            reason = works.make(places[variant.name]).record.reason
            works.record_all()
            return reason

        build(plan.variants[0])
        yield build

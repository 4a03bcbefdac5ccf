"""``schedlab.run``, ``schedlab.try_``, ``schedlab.sweep`` and ``schedlab.bisect``: experiments, measured or simulated.

Call these functions in the main thread, because they handle signals.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from schedlab.api.arguments import Experiment, Store, path_of, recovered, source_of, store_of
from schedlab.api.defaults import BISECT_BLOCKS
from schedlab.api.stored import StoredRun
from schedlab.errors import CannotRunHere
from schedlab.execution import runs, search
from schedlab.execution import sweep as sweeping
from schedlab.execution.bisection import Bisection, bisection
from schedlab.execution.runs import Request, Source
from schedlab.execution.search import Budget
from schedlab.execution.states import States
from schedlab.execution.watch import SILENT, Watch
from schedlab.execution.workers import Place
from schedlab.experiment.changes import Changes
from schedlab.findings.sweep import SweepFindings, sweep_findings
from schedlab.notation.units import seconds_of
from schedlab.store import reader
from schedlab.store.design import Purpose
from schedlab.targets.selection import drafted
from schedlab.tunables.library import with_file


def run(
    experiment: Experiment,
    *,
    store: Store = None,
    target: str | None = None,
    quick: bool = False,
    seed: int | None = None,
    blocks: int | None = None,
    iterations: int | None = None,
    delta: str | None = None,
    only: Sequence[str] = (),
    variant: Sequence[str] = (),
    resume: bool = False,
    sysroot: str | os.PathLike[str] | None = None,
    tunables: str | os.PathLike[str] | None = None,
    watch: Watch = SILENT,
) -> StoredRun:
    """Run an experiment, store its trials, and return the run.

    Args:
        experiment: the path of an experiment file, its TOML text (with a newline), or its tables as a mapping.
        store: as for :func:`schedlab.open_store`; a missing store is made.
        target: as ``--target``; default the target of the file.
        quick: the smallest useful size.
        seed: random seed; default the seed of the file, or a new seed.
        blocks, iterations, delta: values instead of the file's.
        only: labels of the workloads that run; default all.
        variant: names of the variants that run beside the baseline; default all.
        resume: go on with the newest unfinished run of this text.
        sysroot: folder that stands for the root of the machine's file system.
        tunables: file with further entries for the catalogue of tunables.
        watch: gets the progress.

    Raises:
        ExperimentError: the experiment has mistakes.
        CannotRunHere: a requirement is missing; nothing was changed.
        StoreError: there is no run to resume, or it belongs to another machine.
    """
    changes = Changes(blocks, iterations, delta, tuple(only), tuple(variant))
    with with_file(path_of(tunables)):
        source = source_of(experiment, changes)
    return _run(Request(source, store_of(store), quick, seed, resume, target, path_of(sysroot)), watch)


def try_(
    words: str | Sequence[str],
    *,
    variant: Sequence[str] = (),
    blocks: int | None = None,
    iterations: int | None = None,
    delta: str | None = None,
    target: str | None = None,
    store: Store = None,
    resume: bool = False,
    seed: int | None = None,
    watch: Watch = SILENT,
) -> StoredRun:
    """Run an experiment without a file: ``try_("hackbench groups=1,4", variant=["batch:policy=batch"])``.

    Args:
        words: workloads with their parameters, as the words of a command line.
        variant: states to compare with the machine as it is.
        blocks, iterations, delta: size of the run, and its margin of equivalence.
        target, store, resume, seed, watch: as for :func:`run`.

    Raises:
        ExperimentError: a word is no workload, parameter or variant.
        CannotRunHere, StoreError: as for :func:`run`.
    """
    listed = shlex.split(words) if isinstance(words, str) else list(words)
    tried = drafted(listed, list(variant), blocks=blocks, iterations=iterations, delta=delta, target=target)
    experiment = tried.parsed()
    source = Source(f"{experiment.experiment.name}.toml", experiment, tried.text)
    return _run(Request(source, store_of(store), seed=seed, resume=resume), watch)


def _run(request: Request, watch: Watch) -> StoredRun:
    recovered()
    engine, number = runs.run(request, watch)
    return StoredRun(engine, reader.run(engine, number))


def sweep(
    experiment: Experiment,
    *,
    ray: str | None = None,
    jobs: int | None = None,
    store: Store = None,
    seed: int | None = None,
    resume: bool = False,
    watch: Watch = SILENT,
) -> SweepFindings:
    """Simulate or measure every point of a design, and return the response of a figure to each factor.

    Args:
        experiment: an experiment with ``[sweep]``; see :func:`run`.
        ray: address of a Ray cluster, or ``local`` for Ray's processes of this machine.
        jobs: processes on this machine; default one for each CPU. A script that begins processes needs
            ``if __name__ == "__main__":``.
        store, seed, watch: as for :func:`run`.
        resume: go on with the newest sweep of this text.

    Raises:
        ExperimentError: the experiment has mistakes.
        CannotRunHere: a requirement is missing, or cells ended their workers.
    """
    recovered()
    request = Request(source_of(experiment), store_of(store), seed=seed, resume=resume, purpose=Purpose(sweep=True))
    engine, number, given_up = sweeping.sweep(request, Place(ray, jobs), watch)
    if given_up:
        todo = "repeat the cells with resume=True"
        raise CannotRunHere(f"cells of run {number} ended their workers: {', '.join(given_up[:10])}", todo=todo)
    return sweep_findings(engine, number)


def bisect(
    experiment: Experiment | None = None,
    *,
    good: str | None = None,
    bad: str | None = None,
    commits: str | None = None,
    tree: str | os.PathLike[str] = "",
    build: str | None = None,
    config: str | None = None,
    states: str | os.PathLike[str] | None = None,
    run: str | None = None,
    blocks: int = BISECT_BLOCKS,
    budget: str | None = None,
    delta: str | None = None,
    only: str | None = None,
    store: Store = None,
    resume: bool = False,
    seed: int | None = None,
    target: str | None = None,
    sysroot: str | os.PathLike[str] | None = None,
    watch: Watch = SILENT,
) -> Bisection:
    """Find the first of many states that changed a figure, although every measurement is noisy.

    Args:
        experiment: an experiment whose variants are the states, in order; see :func:`schedlab.run`.
        good, bad: the first and the last variant; default the file's first and last.
        commits: the states are the commits of the range ``GOOD..BAD`` of a git repository.
        tree: the repository, which is only read; default the current folder.
        build: shell command that builds a commit in its folder.
        config: the commits are kernels, built with this make target or configuration.
        states: file of shell commands that are the states, one a line.
        run: shell command to measure.
        blocks: most blocks of the search.
        budget: longest time of the search, such as ``2h``.
        delta: least change that counts; default the file's, or 1%.
        only: label of the workload of the file to search with.
        store, resume, seed, target, sysroot, watch: as for :func:`schedlab.run`.

    Raises:
        ExperimentError: there are no states, or the experiment has mistakes.
        CannotRunHere: a requirement is missing, or the good state fails.
    """
    limits = Budget(blocks, seconds_of(budget, "--budget"))
    changes = Changes(delta=delta, only=(only,) if only else ())
    source = None if experiment is None else source_of(experiment, changes)
    made_of = States(source, good, bad, commits, Path(tree), build, config, path_of(states), run, delta)
    request = Request(
        Source(made_of.name, *made_of.experiment()), store_of(store), seed=seed, resume=resume, target=target,
        sysroot=path_of(sysroot), purpose=Purpose(bisection=True),
    )  # fmt: skip
    recovered()
    return bisection(*search.bisect(request, made_of, limits, watch))

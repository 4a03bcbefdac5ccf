"""``schedlab.tune``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from schedlab.api.arguments import Experiment, Store, path_of, recovered, store_of, text_of
from schedlab.api.defaults import TUNE_BLOCKS, TUNE_POINTS
from schedlab.errors import SchedlabError
from schedlab.execution.confirmation import confirm as confirm_winners
from schedlab.execution.loop import require_runnable
from schedlab.execution.optimisation import Search
from schedlab.execution.optimisation import tune as search_points
from schedlab.execution.runs import Request, Source, begin, resumed
from schedlab.execution.search import Budget
from schedlab.execution.studies import Sampler, require_optuna
from schedlab.execution.tuning import tuning
from schedlab.execution.watch import SILENT, Watch, measuring
from schedlab.execution.workers import Place, require_ray
from schedlab.experiment import model
from schedlab.experiment import tuning as files
from schedlab.experiment.load import parse
from schedlab.experiment.plan import CONTROL, Plan, of_one_row
from schedlab.experiment.sweep_table import Factor
from schedlab.findings.tuning import Tuned, tuned
from schedlab.findings.tuning import warm_start as warm_points
from schedlab.notation.units import seconds_of
from schedlab.results.kinds import in_time
from schedlab.store import writer
from schedlab.store.design import Purpose
from schedlab.store.file import open_store
from schedlab.targets.protocol import Target
from schedlab.targets.selection import choose, machines
from schedlab.targets.several import several


def tune(
    experiment: Experiment,
    *,
    metric: str | None = None,
    objective: Sequence[str] = (),
    constraint: Sequence[str] = (),
    tunable: Sequence[str] = (),
    trials: int = TUNE_POINTS,
    budget: str | None = None,
    sampler: Sampler | None = None,
    warm_start: int | None = None,
    blocks: int = TUNE_BLOCKS,
    confirm: int | None = None,
    ray: str | None = None,
    jobs: int | None = None,
    store: Store = None,
    seed: int | None = None,
    resume: bool = False,
    target: str | None = None,
    sysroot: str | os.PathLike[str] | None = None,
    watch: Watch = SILENT,
) -> Tuned:
    """Search for better values of tunables, measure the winner again on fresh blocks, and return the search.

    The search space is the tunables of ``[sweep.factors]`` and ``tunable``. Only the verdict on the fresh blocks is a
    result: the figure of the search is optimistic, because it is the best of many figures.

    Args:
        experiment: the experiment, with the default as its variant.
        metric: the metric to improve; default the file's judged metric.
        objective: further metrics to improve.
        constraint: metrics that must not become worse.
        tunable: tunables that are also searched, in the catalogue's range.
        trials: most points of the search.
        budget: longest time of the search, such as ``2h``.
        sampler: ``tpe``, ``gp``, ``nsga2`` or ``random``; default ``tpe``, and ``nsga2`` for several objectives.
        warm_start: number of a search whose best points are measured first.
        blocks: blocks of each point of the search.
        confirm: fresh blocks that confirm the winner; default the file's.
        ray: address of a Ray cluster that measures points at the same time, or ``local``.
        jobs: points at the same time, on simulated machines and counted guests.
        store, target: as for :func:`schedlab.run`.
        seed: random seed; default the file's, or a new seed.
        resume: go on with the newest search of this text.
        sysroot: folder that stands for the root of the machine's file system.
        watch: gets the progress.

    Raises:
        ExperimentError: the experiment has mistakes.
        CannotRunHere: a requirement is missing; nothing was changed.
        StoreError: there is no search to resume, or it belongs to another machine.
    """
    seconds = seconds_of(budget, "--budget")
    name, content = text_of(experiment)
    objectives = (metric, *objective) if metric else tuple(objective)
    wanted = files.Wanted(objectives, tuple(constraint), tuple(tunable), ())
    text = files.tunable_file(content, name, wanted)
    parsed = parse(text, name)
    aims, constraints = files.roles(parsed)
    chosen: Sampler = sampler or ("nsga2" if len(aims) > 1 else "tpe")
    require_optuna(chosen)
    fleet = machines(target, parsed)
    here = _target(target, parsed, path_of(sysroot), fleet)
    place = _place(ray, jobs, here, fleet)
    factors = files.space(parsed)
    recovered()
    engine = open_store(store_of(store), create=not resume and warm_start is None)
    request = Request(
        Source(name, parsed, text), store_of(store), seed=seed, resume=resume, target=target,
        sysroot=path_of(sysroot), purpose=Purpose(tuning=chosen),
    )  # fmt: skip
    warm = None if warm_start is None else warm_points(engine, warm_start, here)
    warmed = files.tunable_file(content, name, replace(wanted, first=warm.points)) if warm else text
    begun = None
    if resume:
        # A search that asked for a warm start may have begun with the points or without them.
        begun = resumed(engine, request, lambda run: here, watch=watch, complete=True, texts={text, warmed})
        text = begun.experiment_file
    elif warm and not warm.cold:
        text = warmed
    parsed = parse(text, name)
    request = replace(request, source=Source(name, parsed, text))
    points = files.first_points(parsed, factors)
    metrics = len(aims) + len(constraints) or 1
    plan = of_one_row(files.without_space(parsed), begun.seed if begun else seed, metrics=metrics)
    plan = replace(plan, variants=plan.variants[:1])
    _require(plan, factors, here, watch)
    run_id = begun.id if begun else begin(engine, request, plan, here)
    if warm and begun is None:
        writer.add_remarks(engine, run_id, notes=[warm.note])
        if warm.cold:
            watch.remark("warm start:", warm.cold)
    with watch.interruptible(), measuring(watch, here):
        search = Search(plan, factors, constraints, chosen, Budget(blocks, seconds), trials, points)
        progress = watch.points({plan.variants[0].name, CONTROL})
        search_points(search, here, engine, run_id, progress, place, target)
        found = tuning(engine, run_id, factors, constraints, blocks)
        if found.winners:
            confirm_winners(
                engine, request, found, factors, here, watch, blocks=confirm, place=place if fleet else None
            )
    return tuned(engine, run_id)


def _target(target: str | None, experiment: model.Experiment, sysroot: Path | None, fleet: Sequence[str]) -> Target:
    if len(fleet) > 1 and sysroot is not None:
        raise SchedlabError("a fleet has no --sysroot", where="--sysroot", todo="remove --sysroot, or name one machine")
    if len(fleet) > 1:
        return several([choose(name, experiment) for name in fleet])
    return choose(target, experiment, sysroot)


def _place(ray: str | None, jobs: int | None, target: Target, fleet: Sequence[str]) -> Place | None:
    """Return the workers of the search; None for one point after another in this process.

    SchedlabError for points at the same time on a machine that measures one trial at a time.
    """
    if ray is not None:
        require_ray()
    if len(fleet) > 1 and jobs is None:
        return Place(ray, None, tuple(fleet))
    if ray is None and jobs in (None, 1) and len(fleet) < 2:
        return None
    if in_time(target.kind):
        option = "--jobs" if jobs is not None else "--ray"
        todo = f"omit {option}; several machines, each with one trial at a time, are --target ssh:HOST,HOST"
        raise SchedlabError(f"{target.name} measures one trial at a time", where=option, todo=todo)
    return Place(ray, jobs)


def _require(plan: Plan, factors: Mapping[str, Factor], target: Target, watch: Watch) -> None:
    """Raise CannotRunHere unless the target has every tunable; the ends of the ranges are tried."""
    ends = ({name: factor.at(share) for name, factor in factors.items()} for share in (0.0, 1.0))
    tried = [files.point_variant(plan.variants[0], factors, values) for values in ends]
    require_runnable(replace(plan, variants=(*plan.variants, *tried)), target, watch.download)

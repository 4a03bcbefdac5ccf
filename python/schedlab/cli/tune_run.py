"""The steps of ``schedlab tune``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Engine

from schedlab.analysis.multiplicity import confirmation_share
from schedlab.cli import experiment_run
from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.console import make
from schedlab.cli.interruption import UNDONE, Points, ending, measuring
from schedlab.cli.options import again, lasting, seconds_of
from schedlab.errors import CannotRunHere, Exit, ExperimentError, SchedlabError, StoreError
from schedlab.execution.loop import execute, require_runnable
from schedlab.execution.optimisation import Search, execute_blocks, tune
from schedlab.execution.search import Budget
from schedlab.execution.studies import Sampler, require_optuna
from schedlab.execution.tuning import WARM, Confirmed, Tuning, tuning
from schedlab.execution.workers import Place, require_ray
from schedlab.experiment import tuning as files
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import CONTROL, Plan, of_one_row, plan
from schedlab.experiment.seeds import confirmation_seed
from schedlab.experiment.sweep_table import Factor, Value
from schedlab.findings.history import machine_description
from schedlab.findings.prediction import Backtest, comparisons, require_ranking
from schedlab.findings.run import findings
from schedlab.notation.units import counted
from schedlab.report.answers.tune import compose
from schedlab.results.kinds import SIMULATED, in_time
from schedlab.store import reader, writer
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.store.reader import Run
from schedlab.targets.protocol import Target
from schedlab.targets.selection import SIM, choose, machines
from schedlab.targets.several import several

WARM_POINTS = 5
"""Points of another search that a search measures first."""


@dataclass(frozen=True)
class Request:
    """The arguments of the command."""

    file: Path | None
    metric: str | None
    objectives: tuple[str, ...]
    constraints: tuple[str, ...]
    tunables: tuple[str, ...]
    points: int
    budget: str | None
    sampler: Sampler | None
    warm_start: int | None
    blocks: int
    confirm: int | None
    store: Location
    seed: int | None
    resume: bool
    target: str | None
    sysroot: Path | None
    ray: str | None = None
    jobs: int | None = None

    @property
    def words(self) -> list[str]:
        """The command line that repeats the search."""
        options = {
            "--metric": self.metric, "--trials": self.points, "--budget": self.budget, "--sampler": self.sampler,
            "--warm-start": self.warm_start, "--blocks": self.blocks, "--confirm": self.confirm,
            "--store": self.store, "--seed": self.seed, "--target": self.target, "--sysroot": self.sysroot,
            "--ray": self.ray, "--jobs": self.jobs,
        }  # fmt: skip
        words = [word for option, value in options.items() if value is not None for word in (option, str(value))]
        repeated = {"--objective": self.objectives, "--constraint": self.constraints, "--tunable": self.tunables}
        words += [word for option, names in repeated.items() for name in names for word in (option, name)]
        return ["schedlab", "tune", str(self.file), *words]


def tune_and_print(request: Request, form: AnswerFormat, output: Path | None) -> int:
    """Search, confirm the winner, and print the result; return the exit code."""
    seconds = seconds_of(request.budget, "--budget")
    experiment, text = _experiment(request, ())
    objectives, constraints = files.roles(experiment)
    sampler: Sampler = request.sampler or ("nsga2" if len(objectives) > 1 else "tpe")
    require_optuna(sampler)
    fleet = machines(request.target, experiment)
    target = _target(request, experiment, fleet)
    place = _place(request, target, fleet)
    factors = files.space(experiment)
    engine = open_store(request.store, create=not request.resume and request.warm_start is None)
    warm = None if request.warm_start is None else _warm_start(engine, request, target)
    begun = None
    if request.resume:
        begun, text = _begun(engine, experiment.experiment.name, text, sampler, target, request, warm)
        experiment = parse(text, str(request.file))
    elif warm and not warm.cold:
        experiment, text = _experiment(request, warm.points)
    points = files.first_points(experiment, factors)
    seed = request.seed if begun is None else begun.seed
    metrics = len(objectives) + len(constraints) or 1
    search_plan = of_one_row(files.without_space(experiment), seed, metrics=metrics)
    search_plan = replace(search_plan, variants=search_plan.variants[:1])
    _require(search_plan, factors, target)
    run_id = begun.id if begun else _begin(engine, request, search_plan, text, target, tuning=sampler)
    aside = make(stderr=True)
    if warm and begun is None:
        writer.add_remarks(engine, run_id, notes=[warm.note])
    if warm and warm.cold and begun is None:
        aside.say("warm start:", warm.cold, "yellow")
    progress = Points(aside, {search_plan.variants[0].name, CONTROL})
    with ending(aside, UNDONE, again(request.store, [*request.words, "--resume"])), measuring(aside, target):
        budget = Budget(request.blocks, seconds)
        search = Search(search_plan, factors, constraints, sampler, budget, request.points, points)
        tune(search, target, engine, run_id, progress, place, request.target)
        found = tuning(engine, run_id, factors, constraints, request.blocks)
        if found.winners:
            _confirm(engine, request, found, factors, text, target, place if fleet else None, progress)
    print_result(request.store, run_id, form, output, request)
    return Exit.FINE


def _target(request: Request, experiment: Experiment, fleet: Sequence[str]) -> Target:
    if len(fleet) > 1 and request.sysroot is not None:
        raise SchedlabError("a fleet has no --sysroot", where="--sysroot", todo="remove --sysroot, or name one machine")
    if len(fleet) > 1:
        return several([choose(name, experiment) for name in fleet])
    return choose(request.target, experiment, request.sysroot)


def _place(request: Request, target: Target, fleet: Sequence[str]) -> Place | None:
    """Return the workers of the search; None for one point after another in this process.

    SchedlabError for points at the same time on a machine that measures one trial at a time.
    """
    if request.ray is not None:
        require_ray()
    if len(fleet) > 1 and request.jobs is None:
        return Place(request.ray, None, tuple(fleet))
    if request.ray is None and request.jobs in (None, 1) and len(fleet) < 2:
        return None
    if in_time(target.kind):
        option = "--jobs" if request.jobs is not None else "--ray"
        todo = f"omit {option}; several machines, each with one trial at a time, are --target ssh:HOST,HOST"
        raise SchedlabError(f"{target.name} measures one trial at a time", where=option, todo=todo)
    return Place(request.ray, request.jobs)


@dataclass(frozen=True)
class _Warm:
    """The points of a warm start, the best first, or the reason why the search begins without them; and the note."""

    points: tuple[Mapping[str, Value], ...]
    cold: str
    note: str


def _warm_start(engine: Engine, request: Request, target: Target) -> _Warm:
    """Return the best points of another search.

    A search on a model warms a search on a machine only if the store shows that the model predicts this machine.
    """
    assert request.warm_start is not None
    points = _best_of(engine, request.warm_start)
    other = reader.run(engine, request.warm_start)
    of_run = f"{WARM}{counted(len(points), 'point')} of run {other.id} on {other.target}"
    if other.kind != SIMULATED or target.kind == SIMULATED:
        return _Warm(points, "", of_run)
    facts = target.fingerprint()
    described = {machine_description(name, each) for name, each in facts.get("targets", {target.name: facts}).items()}
    twins = comparisons(engine, other.fingerprint, machines=described)
    try:
        shown = require_ranking(Backtest.of(twins), other.target.removeprefix(SIM).partition("/")[0])
    except CannotRunHere as error:
        cold = f"run {other.id} is left out, the search starts cold: {error.what}"
        return _Warm(points, f"{cold}\n  → {error.todo}", f"{WARM}{cold}")
    return _Warm(points, "", f"{of_run}: {shown}")


def print_result(
    store: Location, run_id: int, form: AnswerFormat, output: Path | None, request: Request | None = None
) -> None:
    """Print the result of a stored search, or write the result to a file. ``request`` made the search, if known."""
    engine = open_store(store, create=False)
    experiment = _searched(engine, run_id, str(store))
    factors = files.space(experiment)
    found = tuning(engine, run_id, factors, files.roles(experiment)[1])
    confirmed = _confirmed(engine, found, factors, found.run.experiment_file)
    ranked = files.first_points(experiment, factors)
    words = request.words[1:] if request else ()
    present(compose(found, confirmed, ranked, lasting(store), words), form, output)


def _searched(engine: Engine, run_id: int, where: str) -> Experiment:
    """Return the experiment of a stored search; StoreError with the place ``where`` for other runs."""
    run = reader.run(engine, run_id)
    if not run.design.tuning:
        raise StoreError(f"run {run_id} is not a search", where=where, todo="'schedlab store list' lists the runs")
    return parse(run.experiment_file, f"run {run_id}")


def _best_of(engine: Engine, run_id: int) -> tuple[Mapping[str, Value], ...]:
    """Return the values of the best points of a stored search, the best first; StoreError for other runs."""
    experiment = _searched(engine, run_id, "--warm-start")
    found = tuning(engine, run_id, files.space(experiment), files.roles(experiment)[1])
    (objective, *_) = found.objectives
    ordered = sorted(filter(found.keeps, found.points), key=lambda point: -point.gain(objective))
    return tuple(point.values for point in ordered[:WARM_POINTS])


def _experiment(request: Request, first: Sequence[Mapping[str, Value]]) -> tuple[Experiment, str]:
    if request.file is None:
        todo = "name an experiment file, or --show RUN"
        raise ExperimentError("no file is named", where="tune", todo=todo)
    try:
        text = request.file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        todo = "give the path of an experiment file"
        raise ExperimentError(f"cannot be read: {error}", where=str(request.file), todo=todo) from error
    objectives = (request.metric, *request.objectives) if request.metric else request.objectives
    wanted = files.Wanted(objectives, request.constraints, request.tunables, first)
    text = files.tunable_file(text, str(request.file), wanted)
    return parse(text, str(request.file)), text


def _require(search_plan: Plan, factors: dict[str, Factor], target: Target) -> None:
    """Raise CannotRunHere unless the target has every tunable; the ends of the ranges are tried."""
    ends = ({name: factor.at(share) for name, factor in factors.items()} for share in (0.0, 1.0))
    tried = [files.point_variant(search_plan.variants[0], factors, values) for values in ends]
    plan_of_ends = replace(search_plan, variants=(*search_plan.variants, *tried))
    require_runnable(plan_of_ends, target, experiment_run.show_download)


def _begin(
    engine: Engine, request: Request, new_plan: Plan, text: str, target: Target, *, tuning: str = "", confirms: int = 0
) -> int:
    source = experiment_run.Source(str(request.file), ("tune",), lambda: (new_plan.experiment, text))
    of_run = experiment_run.Request(source, request.store, False, None, False, request.sysroot)
    return experiment_run.begin(engine, of_run, new_plan, text, target, tuning=tuning, confirms=confirms)


def _begun(
    engine: Engine, name: str, text: str, sampler: Sampler, target: Target, request: Request, warm: _Warm | None
) -> tuple[Run, str]:
    """Return the newest search of this text with this sampler, and its text; StoreError if the store has none for this
    machine. A search that asked for a warm start may have begun with the points or without them."""
    texts = {text} if warm is None else {text, _experiment(request, warm.points)[1]}
    for run in reader.runs(engine):
        if run.name == name and run.experiment_file in texts and run.validated().design.tuning == sampler:
            if run.target != target.name or target.changes(run.fingerprint):
                changed = "; ".join(target.changes(run.fingerprint)) or f"{run.target} → {target.name}"
                todo = "resume on that machine, or start a new search: omit --resume"
                raise StoreError(f"run {run.id} was begun on another machine or configuration: {changed}", todo=todo)
            return run, run.experiment_file
    todo = "start a new search: omit --resume; changed options or a changed file make another search"
    raise StoreError(f"contains no search of {request.file} with these options", where=str(request.store), todo=todo)


def _confirm(
    engine: Engine,
    request: Request,
    found: Tuning,
    factors: Mapping[str, Factor],
    text: str,
    target: Target,
    place: Place | None,
    progress: Points,
) -> None:
    """Measure the winners on fresh blocks, or the rest of an interrupted confirmation of the same winners."""
    earlier = _confirmations(engine, found.run.id)
    number = next(
        (
            number
            for number, run in enumerate(earlier, 1)
            if run.experiment_file == _confirming(found, factors, text, request.confirm, number)[1]
        ),
        len(earlier) + 1,
    )
    experiment, confirming = _confirming(found, factors, text, request.confirm, number)
    trial_plan = plan(experiment, confirmation_seed(found.run.seed, number))
    if number <= len(earlier):
        begun = earlier[number - 1]
        if begun.state == "complete":
            return
        run_id = begun.id
    else:
        require_runnable(trial_plan, target)
        run_id = _begin(engine, request, trial_plan, confirming, target, confirms=found.run.id)
    if place is None:
        execute(trial_plan, target, engine, run_id, progress)
    else:
        execute_blocks(trial_plan, engine, run_id, progress, place)


def _confirming(
    found: Tuning, factors: Mapping[str, Factor], text: str, blocks: int | None, number: int
) -> tuple[Experiment, str]:
    """Return the experiment of a confirmation of the winners, numbered from 1, and its text."""
    alpha = found.run.design.alpha * confirmation_share(number)
    return files.confirmation(text, factors, [point.values for point in found.winners], blocks, alpha)


def _confirmations(engine: Engine, run_id: int) -> list[Run]:
    """Return the runs that confirm a search, the oldest first. Each of them may have shown its verdicts."""
    return [run for run in reversed(reader.runs(engine)) if run.validated().design.confirms == run_id]


def _confirmed(engine: Engine, found: Tuning, factors: Mapping[str, Factor], text: str) -> Confirmed | None:
    """Return the newest complete confirmation of the search's winners."""
    if not found.winners:
        return None
    expected = _confirming(found, factors, text, None, 1)[0].variant
    numbered = [*enumerate(_confirmations(engine, found.run.id), 1)]
    for number, run in reversed(numbered):
        if run.state == "complete" and parse(run.experiment_file, f"run {run.id}").variant == expected:
            judged = findings(engine, run)
            names = files.winner_names(len(found.winners))
            verdicts = [[verdict for verdict in judged.verdicts if verdict.variant == name] for name in names]
            return Confirmed(run.id, number, judged.options.alpha, verdicts)
    return None

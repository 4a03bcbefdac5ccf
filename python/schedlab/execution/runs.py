"""Runs: the request for a run, its target and random seed, its beginning, and its continuation on the same machine.

Every command that measures begins and resumes its runs here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from schedlab.errors import RunStopped, SchedlabError, StoreError
from schedlab.execution.design_size import quick
from schedlab.execution.estimate import Estimate, estimate
from schedlab.execution.loop import download, execute, require_runnable
from schedlab.execution.sample_size import Sizing, sizing
from schedlab.execution.watch import SILENT, Watch, measuring
from schedlab.experiment import changes as changing
from schedlab.experiment.changes import Changes
from schedlab.experiment.load import complete, parse, read
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan, plan
from schedlab.experiment.seeds import run_seed
from schedlab.notation.units import parse_share
from schedlab.store import backends, location, reader, writer
from schedlab.store.design import PLAIN, Purpose
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.targets.protocol import Download, Identity, MissingRequirement, Target
from schedlab.targets.selection import boots_of, choose, table_of

ONE_MACHINE = "a run contains trials of one machine only"


@dataclass(frozen=True)
class Source:
    """The experiment of a run.

    Attributes:
        name: name of its file, for messages and for the store.
        experiment: the experiment.
        text: the text that repeats it.
        words: words of the command line that name this experiment; () for an experiment of a Python program.
    """

    name: str
    experiment: Experiment
    text: str
    words: Sequence[str] = ()


def file_source(file: Path, changes: Changes) -> Source:
    """Return the experiment of a file with the changes of the command line."""
    return text_source(str(file), read(file), changes, ("run", str(file), *changes.words))


def text_source(name: str, text: str, changes: Changes, words: Sequence[str] = ()) -> Source:
    """Return the experiment of a text with changes; ``name`` is its name in messages."""
    experiment, text = changing.apply(changes, parse(text, name), text, name)
    return Source(name, experiment, complete(text, experiment), words)


@dataclass(frozen=True)
class Request:
    """A run that is wanted.

    Attributes:
        source: the experiment.
        store: the store of the run.
        quick: whether the run has the smallest useful size.
        seed: random seed; None for the file's, or a new seed.
        resume: whether an earlier run of the same text goes on.
        target: as ``--target``; None for the file's target.
        sysroot: folder that stands for the root of the machine's file system.
        purpose: what the run is for.
    """

    source: Source
    store: Location
    quick: bool = False
    seed: int | None = None
    resume: bool = False
    target: str | None = None
    sysroot: Path | None = None
    purpose: Purpose = PLAIN

    @property
    def words(self) -> list[str]:
        """The words of a command line that names the experiment, the store and the target."""
        options = {"--sysroot": self.sysroot, "--target": self.target}
        store = [] if self.store == location.default() else ["--store", str(self.store)]
        return [*self.source.words, *store, *(word for pair in options.items() if pair[1] for word in map(str, pair))]


@dataclass(frozen=True)
class Pilot:
    """A stored run whose noise gives the size of an experiment: its number, the change to find (None: the file's
    delta), and the probability of finding such a change."""

    run: int
    effect: float | None
    power: float

    @classmethod
    def of(cls, run: int, effect: str | None, power: float) -> Pilot:
        """Return the pilot with an effect such as ``2%``; SchedlabError for another text."""
        if effect is None:
            return cls(run, None, power)
        try:
            share = parse_share(effect)
        except ValueError as error:
            raise SchedlabError(str(error), where="--effect", todo="give a share such as 2%") from error
        if not 0 < share < 1:
            todo = "give a share above 0 and below 100 %"
            raise SchedlabError(f"{effect!r} is not an effect to look for", where="--effect", todo=todo)
        return cls(run, share, power)


@dataclass(frozen=True)
class Examined:
    """A plan that was examined on its target without a change there."""

    plan: Plan
    expected: Estimate
    downloads: Sequence[Download]
    missing: Sequence[MissingRequirement]
    target: str
    sizing: Sizing | None


def examine(request: Request, pilot: Pilot | None = None) -> Examined:
    """Examine the plan of a request: its size, the estimated time, and the reasons why the run cannot start."""
    trials = _planned(request, None)
    engine = open_store(request.store, create=False) if backends.exists(request.store) else None
    target = target_of(request, trials.experiment)
    expected = _estimate(request, trials, engine, target)
    sized = None
    if pilot is not None:
        store = engine or open_store(request.store, create=False)
        sized = sizing(trials, store, pilot.run, pilot.effect, pilot.power)
    missing = target.missing_requirements(trials)
    return Examined(trials, expected, target.downloads(), missing, target.name, sized)


def run(request: Request, watch: Watch, *, complete: bool = False) -> tuple[Engine, int]:
    """Run the experiment, or go on with its unfinished run; return the store and the run's number.

    With ``complete``, a resumed run may be complete already.
    """
    begun = None
    if request.resume:
        begun = resumed(open_store(request.store, create=False), request, watch=watch, complete=complete)
    with watch.interruptible():
        return measure(request, watch, begun)


def measure(
    request: Request, watch: Watch, begun: reader.Run | None = None, target: Target | None = None
) -> tuple[Engine, int]:
    """Measure the trials of a new run, or those that a begun run lacks; return the store and the run's number.

    ``target`` takes the place of the target that the request names.
    """
    trials = _planned(request, begun)
    target = target or target_of(request, trials.experiment)
    require_runnable(trials, target, watch.download)
    engine = open_store(request.store, create=True)
    run_id = begun.id if begun else begin(engine, request, trials, target)
    try:
        expected = _estimate(request, trials, engine, target)
        with measuring(watch, target), watch.progress(trials, expected) as progress:
            execute(trials, target, engine, run_id, progress)
    except BrokenPipeError as error:
        raise RunStopped from error
    return engine, run_id


def target_of(request: Request, experiment: Experiment) -> Target:
    """Return the target of a request; errors as of :func:`schedlab.targets.selection.choose`."""
    return choose(request.target, experiment, request.sysroot)


def _planned(request: Request, begun: reader.Run | None) -> Plan:
    """Return the plan. A run that goes on keeps its seed and size."""
    experiment = request.source.experiment
    is_quick = begun.quick if begun else request.quick
    if is_quick:
        experiment = quick(experiment, table_of(request.target, experiment))
    seed = run_seed(begun.seed if begun else request.seed, experiment.design.seed)
    return plan(experiment, seed, quick=is_quick)


def _estimate(request: Request, trials: Plan, engine: Engine | None, target: Target) -> Estimate:
    booted = boots_of(trials, table_of(request.target, trials.experiment))
    return estimate(trials, engine, target.name, virtual=target.virtual, boots=booted)


def begin(engine: Engine, request: Request, trials: Plan, place: Identity) -> int:
    """Record a new run before its first trial, and return its number.

    Args:
        engine: the store.
        request: the request.
        trials: the plan.
        place: the target, or the models of a simulated sweep.
    """
    fingerprint = place.fingerprint()
    new = writer.NewRun(
        plan=trials,
        target=place.name,
        kind=place.kind,
        quick=request.quick,
        experiment_file=request.source.text,
        experiment_path=request.source.name,
        fingerprint=fingerprint,
        fingerprint_hash=place.fingerprint_hash(fingerprint),
        purpose=request.purpose,
    )
    return writer.begin(engine, new)


def resumed(
    engine: Engine,
    request: Request,
    place_of: Callable[[reader.Run], Identity] | None = None,
    *,
    watch: Watch = SILENT,
    complete: bool = False,
    texts: Collection[str] = (),
) -> reader.Run:
    """Return the newest incomplete run that a request resumes.

    Args:
        engine: the store.
        request: the request. Its purpose is the run's, its seed and size agree with the run's.
        place_of: return the target, or the models of a sweep; default the request's target.
        watch: gets the downloads of the target: only files that are here can be compared.
        complete: also return a complete run, which a larger budget continues.
        texts: the texts that the run may have been made from; default the text of the request.

    Raises:
        StoreError: there is no such run, or it cannot continue here.
    """
    experiment, text = request.source.experiment, request.source.text
    where, noun, name = str(request.store), request.purpose.noun, experiment.experiment.name
    waiting = [
        run
        for run in reader.runs(engine)
        if run.name == name
        and (complete or run.state != "complete")
        and run.design.purpose == request.purpose
        and (not request.purpose.fleet or run.target == request.target)
    ]
    if not waiting:
        missing = noun if complete else f"unfinished {noun}"
        raise StoreError(f"contains no {missing} of {name!r}", where=where, todo=f"start a new {noun}: omit --resume")
    same = [run for run in waiting if run.experiment_file in (texts or {text})]
    if not same:
        raise StoreError(
            f"run {waiting[0].id} was made from another version of {request.source.name}, or with other options",
            where=where,
            todo=f"repeat the options of the run, restore its file ('schedlab store show {waiting[0].id} --file' "
            f"prints the stored file), or start a new {noun}: omit --resume",
        )
    run = next((run for run in same if _agrees(request, run)), None)
    if run is None:
        raise StoreError(
            f"run {same[0].id} has seed {same[0].seed} and is {'quick' if same[0].quick else 'of full size'}",
            where=where,
            todo=f"omit --seed and --quick, which --resume keeps, or start a new {noun}",
        )
    place = target_of(request, experiment) if place_of is None else place_of(run)
    if run.target == place.name:
        download(place, watch.download)  # the cache may have been emptied
    require_same_machine(run, place)
    return run


def _agrees(request: Request, run: reader.Run) -> bool:
    """Whether a run has the seed and the size that the request names."""
    return request.seed in (None, run.seed) and (run.quick or not request.quick)


def require_same_machine(run: reader.Run, place: Identity) -> None:
    """Raise StoreError unless a run was begun on this target, with the same machine and configuration, or models."""
    if run.target != place.name:
        changed = f"target ({run.target} → {place.name})"
    elif differences := place.changes(run.fingerprint):
        changed = "; ".join(differences)
    elif run.kind != place.kind:
        changed = f"{run.kind} → {place.kind}"
    else:
        return
    noun = run.design.purpose.noun
    raise StoreError(
        f"run {run.id} was begun on another machine or configuration: {changed}",
        where=run.store,
        todo=f"continue on that machine, or begin a new {noun} here: {ONE_MACHINE}",
    )

"""The execution of a sweep: chunks of cells go to workers, and one writer stores each chunk in one transaction.

The size of a chunk follows the measured time of its cells, so that neither the transfer nor the store limits the
workers. A chunk whose worker died is repeated; a chunk that ends several workers is given up.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from sqlalchemy import Engine

from schedlab.execution.cells import lane_of, measured, target_of
from schedlab.execution.loop import require_runnable, running
from schedlab.execution.runs import Request, begin, resumed
from schedlab.execution.watch import CellProgress, Watch
from schedlab.execution.workers import Lane, Place, require_ray
from schedlab.experiment.plan import Trial
from schedlab.experiment.seeds import permutation, run_seed
from schedlab.experiment.sweep import Sweep
from schedlab.experiment.sweep import sweep as expand
from schedlab.results.measurement import Measurement
from schedlab.store import writer
from schedlab.store.file import open_store
from schedlab.targets.protocol import Identity
from schedlab.targets.sim.cells import Models

CHUNK_SECONDS = 1.0
"""Time that the simulations of a chunk take. Ray needs some milliseconds for each task."""

SESSION_SECONDS = 20.0
"""Time that the cells of a chunk take on a machine, whose session begins and ends in a second or two."""

MOST_CELLS = 100
"""Most cells of a chunk."""

ATTEMPTS = 3
"""Workers that may die with a chunk before the chunk is given up."""


@dataclass
class Chunks:
    """Queues of cells in chunks, one for each lane. The first chunks have one cell, from which the time of a cell is
    learnt; a chunk takes ``wanted`` seconds. A chunk of 0 seconds is always one cell."""

    wanted: float = CHUNK_SECONDS
    cells: dict[Lane, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    repeated: dict[Lane, deque[list[int]]] = field(default_factory=lambda: defaultdict(deque))
    seconds: float = 0.0
    ended: int = 0

    @classmethod
    def of(cls, cells: Iterable[int]) -> Chunks:
        """Return the queue of these cells for any CPU."""
        return cls(cells={None: deque(cells)})

    def next(self, lane: Lane) -> list[int] | None:
        """Return the next chunk of a lane, or None if no cell is left now."""
        if self.repeated[lane]:
            return self.repeated[lane].popleft()
        size = 1
        if self.ended:
            size = max(1, min(MOST_CELLS, round(self.wanted * self.ended / max(self.seconds, 1e-9))))
        chunk = [self.cells[lane].popleft() for _ in range(min(size, len(self.cells[lane])))]
        return chunk or None

    def add(self, measured: list[Measurement]) -> None:
        """Learn the time of a cell from a chunk that ended."""
        self.ended += len(measured)
        self.seconds += sum(measurement.elapsed for measurement in measured)


def sweep(request: Request, place: Place, watch: Watch) -> tuple[Engine, int, list[str]]:
    """Measure or simulate the cells of a sweep; return the store, the run's number, and the cells that were given up.

    Args:
        request: the sweep; with ``resume`` the newest sweep of the same text goes on, or is complete already.
        place: where the cells are measured.
        watch: gets the progress.
    """
    if place.ray is not None:
        require_ray()
    experiment = request.source.experiment
    begun = None
    if request.resume:
        engine = open_store(request.store, create=False)
        begun = resumed(engine, request, lambda run: identity(expand(experiment, run.seed)), watch=watch, complete=True)
    whole = expand(experiment, run_seed(begun.seed if begun else request.seed, experiment.design.seed))
    if not whole.simulated:
        require_runnable(whole.plan, target_of(whole), watch.download)
    engine = open_store(request.store, create=True)
    run_id = begun.id if begun else begin(engine, request, whole.plan, identity(whole))
    if begun is not None and begun.state == "complete":
        return engine, run_id, []
    with watch.interruptible(), watch.cells(whole) as progress:
        given_up = run_sweep(whole, request.source.text, engine, run_id, place, progress)
    return engine, run_id, [whole.plan.trials[index].variant.name for index in given_up]


def identity(whole: Sweep) -> Identity:
    """Return the target of a sweep, or the models of a simulated sweep."""
    return Models(whole.points) if whole.simulated else target_of(whole)


def run_sweep(sweep: Sweep, text: str, engine: Engine, run_id: int, place: Place, progress: CellProgress) -> list[int]:
    """Measure the cells that are not in the store; return the cells that were given up, which a resumed sweep repeats.

    Args:
        sweep: the sweep.
        text: the text of its file.
        engine: the store; this process is its only writer.
        run_id: the run.
        place: where the cells are measured.
        progress: called after each chunk was stored.
    """
    trials, seed = sweep.plan.trials, sweep.plan.seed
    with running(engine, run_id) as finish:
        done = writer.done(engine, run_id)
        chunks = _chunks(sweep, [trial for trial in trials if trial.index not in done])
        place = replace(place, machines=tuple(lane for lane in chunks.cells if lane is not None))
        stored, lost, given_up = len(done), Counter[int](), list[int]()
        for chunk, results in place.ended(partial(measured, text, seed, run_id), chunks.next):
            if results is None:
                lost[chunk[0]] += 1
                if lost[chunk[0]] < ATTEMPTS:
                    chunks.repeated[lane_of(sweep, trials[chunk[0]])].append(chunk)
                else:
                    given_up += chunk
                continue
            named = [measurement.checked(f"cell {index}") for index, measurement in zip(chunk, results, strict=True)]
            writer.record_all(engine, run_id, zip((trials[index] for index in chunk), named, strict=True))
            stored += len(chunk)
            chunks.add(named)
            progress(stored, named)
        if not given_up:
            finish()
    return sorted(given_up)


def _chunks(sweep: Sweep, left: list[Trial]) -> Chunks:
    """Return the queues of cells. The cells of a block on a machine are in random order, so that a drift of the machine
    is no difference between points."""
    if sweep.simulated:
        return Chunks.of(trial.index for trial in left)
    chunks, size = Chunks(), len(sweep.points)
    missing = {trial.index: trial for trial in left}
    for block in sorted({trial.block for trial in left}):
        for point in permutation(sweep.plan.seed, block, "point", size):
            if (trial := missing.get((block - 1) * size + point)) is not None:
                chunks.cells[lane_of(sweep, trial)].append(trial.index)
    has_machines = any(lane is not None for lane in chunks.cells)
    chunks.wanted = SESSION_SECONDS if has_machines else 0.0  # each guest boots, and a killed worker loses its boots
    return chunks

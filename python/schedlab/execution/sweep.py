"""The execution of a sweep: chunks of cells go to workers, and one writer stores each chunk in one transaction.

The size of a chunk follows the measured time of its cells, so that neither the transfer nor the store limits the
workers. A chunk whose worker died is repeated; a chunk that ends several workers is given up.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Engine

from schedlab.execution import workers
from schedlab.execution.workers import Chunk, Ended
from schedlab.experiment.sweep import Sweep
from schedlab.results.measurement import Measurement
from schedlab.store import writer
from schedlab.targets.sim.chunks import simulated
from schedlab.tunables import deferred_signals

CHUNK_SECONDS = 1.0
"""Time that the cells of a chunk take. Ray needs some milliseconds for each task."""

MOST_CELLS = 100
"""Most cells of a chunk."""

ATTEMPTS = 3
"""Workers that may die with a chunk before the chunk is given up."""

Progress = Callable[[int, list[Measurement]], None]
"""Function that is called with the number of stored cells, and the measurements that were stored last."""


@dataclass(frozen=True)
class Place:
    """Where the chunks are worked on: a Ray address, or None for processes of this machine; and their number."""

    ray: str | None
    processes: int | None

    def ended(self, work: workers.Work, next_chunk: Callable[[], Chunk | None]) -> Ended:
        """See :mod:`schedlab.execution.workers`."""
        from schedlab.simulation.run import cores

        if self.ray is not None:
            return workers.of_ray(work, next_chunk, self.ray, self.processes)
        return workers.local(work, next_chunk, self.processes or cores())


@dataclass
class Chunks:
    """Queue of cells in chunks. The first chunks have one cell, from which the time of a cell is learnt."""

    cells: deque[int]
    repeated: deque[Chunk] = field(default_factory=deque)
    seconds: float = 0.0
    ended: int = 0

    @classmethod
    def of(cls, cells: Iterable[int]) -> Chunks:
        """Return the queue of these cells."""
        return cls(deque(cells))

    def next(self) -> Chunk | None:
        """Return the next chunk, or None if no cell is left now."""
        if self.repeated:
            return self.repeated.popleft()
        size = 1
        if self.ended:
            size = max(1, min(MOST_CELLS, round(CHUNK_SECONDS * self.ended / max(self.seconds, 1e-9))))
        chunk = [self.cells.popleft() for _ in range(min(size, len(self.cells)))]
        return chunk or None

    def add(self, measured: list[Measurement]) -> None:
        """Learn the time of a cell from a chunk that ended."""
        self.ended += len(measured)
        self.seconds += sum(measurement.elapsed for measurement in measured)


def run_sweep(sweep: Sweep, text: str, engine: Engine, run_id: int, place: Place, progress: Progress) -> list[int]:
    """Simulate the cells that are not in the store; return the cells that were given up, which a resumed sweep repeats.

    Args:
        sweep: the sweep.
        text: the text of its file.
        engine: the store; this process is its only writer.
        run_id: the run.
        place: where the simulations run.
        progress: called after each chunk was stored.
    """
    trials, seed = sweep.plan.trials, sweep.plan.seed
    with _recorded(engine, run_id) as finish:
        done = writer.done(engine, run_id)
        chunks = Chunks.of(trial.index for trial in trials if trial.index not in done)
        stored, lost, given_up = len(done), Counter[int](), list[int]()
        for chunk, measured in place.ended(partial(simulated, text, seed), chunks.next):
            if measured is None:
                lost[chunk[0]] += 1
                if lost[chunk[0]] < ATTEMPTS:
                    chunks.repeated.append(chunk)
                else:
                    given_up += chunk
                continue
            named = [measurement.checked(f"cell {index}") for index, measurement in zip(chunk, measured, strict=True)]
            writer.record_all(engine, run_id, zip((trials[index] for index in chunk), named, strict=True))
            stored += len(chunk)
            chunks.add(named)
            progress(stored, named)
        if not given_up:
            finish()
    return sorted(given_up)


@contextmanager
def _recorded(engine: Engine, run_id: int) -> Iterator[Callable[[], None]]:
    """Record the state of the run: ``interrupted`` unless the block calls the function that it gets."""
    complete = False

    def finish() -> None:
        nonlocal complete
        complete = True

    writer.resume(engine, run_id)
    try:
        yield finish
    finally:
        with deferred_signals():
            writer.end(engine, run_id, "complete" if complete else "interrupted")

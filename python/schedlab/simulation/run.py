"""Simulations: their input (models, program, settings), a single run, and a pool of threads for several runs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Self

from schedlab.extension import extension
from schedlab.simulation.models import Model
from schedlab.simulation.programs import Program
from schedlab.simulation.settings import Settings

Outcome = Mapping[str, Any]
"""See :mod:`schedlab.extension`."""


@dataclass(frozen=True)
class Simulation:
    """The input of a simulation. The outcome of a simulation depends only on this input.

    The outcome contains the interruptions of the ``watched`` CPUs, unless a timeline is written.
    """

    machine: Model
    kernel: Model
    program: Program
    settings: Settings
    watched: tuple[int, ...] = ()

    def check(self) -> None:
        """Raise the error that would prevent the simulation from beginning, see :mod:`schedlab.simulation.errors`."""
        extension().check(*self._plain())

    def run(self, timeline: Path | None = None) -> Outcome:
        """Return the outcome. Other threads run meanwhile.

        ``timeline`` is a file for a Perfetto trace, written while the simulation runs; the file is incomplete after an
        error.
        """
        path, watched = None if timeline is None else str(timeline), list(self.watched) or None
        outcome: Outcome = extension().run(*self._plain(), path, watched)
        return outcome

    def _plain(self) -> tuple[str, str, str, dict[str, Any]]:
        settings = self.settings.plain(self.program.groups)
        return self.machine.text, self.kernel.text, self.program.text, settings


def cores() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


class Running(Future[Outcome]):
    """A simulation in a pool; ``seconds`` is the real run time of a simulation that has ended."""

    seconds: float = 0.0

    def simulate(self, simulation: Simulation, timeline: Path | None = None) -> None:
        """Run the simulation in this thread, and set the result or the error."""
        began = time.monotonic()
        try:
            outcome = simulation.run(timeline)
        except BaseException as error:
            self.seconds = time.monotonic() - began
            self.set_exception(error)
        else:
            self.seconds = time.monotonic() - began
            self.set_result(outcome)


class Pool:
    """Threads that run simulations in the order of submission. The number of threads does not affect the outcomes.

    The threads are daemons, unlike the threads of :mod:`concurrent.futures`: neither Ctrl-C nor the end of the process
    waits for a simulation.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._queue: SimpleQueue[tuple[Simulation, Path | None, Running] | None] = SimpleQueue()
        self._submitted: list[Running] = []
        self.workers = workers or cores()
        for _ in range(self.workers):
            Thread(target=self._work, daemon=True).start()

    def submit(self, simulation: Simulation, timeline: Path | None = None) -> Running:
        """Queue a simulation, see :meth:`Simulation.run`. ``result()`` waits for the outcome, or raises the error."""
        future = Running()
        self._submitted = [earlier for earlier in self._submitted if not earlier.done()] + [future]
        self._queue.put((simulation, timeline, future))
        return future

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            simulation, timeline, future = item
            if future.set_running_or_notify_cancel():
                future.simulate(simulation, timeline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Cancel the simulations that have not begun, and end the threads."""
        for future in self._submitted:
            future.cancel()
        for _ in range(self.workers):
            self._queue.put(None)

"""Processes that work on chunks: of this machine, or of a Ray cluster.

Each function yields the chunks as they end, in any order. A chunk whose worker died is yielded without results, and its
worker is replaced. A *lane* is what a chunk needs for itself: a machine that measures one trial at a time, or a CPU.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import get_context, parent_process
from signal import SIG_BLOCK, SIG_IGN, SIG_SETMASK, SIG_UNBLOCK, SIGINT, SIGTERM, pthread_sigmask, signal
from threading import Thread
from typing import Any

from schedlab.errors import CannotRunHere
from schedlab.extension import build
from schedlab.results.measurement import Measurement
from schedlab.simulation.run import cores
from schedlab.tunables import kept_handlers

Chunk = Any
"""What a worker gets: anything that pickle can transfer."""

Lane = str | None
"""The name of a machine; None for any CPU."""

Next = Callable[[Lane], Chunk | None]
"""Return the next chunk of a lane, or None if no chunk is left now."""

Work = Callable[[Chunk], list[Measurement]]
Ended = Iterator[tuple[Chunk, list[Measurement] | None]]

SCALE = "pip install 'schedlab[scale]'"
"""The command that installs the optional libraries."""

SAME_WHEEL = "install the same wheel of schedlab on every node"


@dataclass(frozen=True)
class Place:
    """Where chunks are worked on.

    Attributes:
        ray: address of a Ray cluster, or ``local`` for Ray's processes of this machine; None for processes without Ray.
        processes: number of processes of this machine; None for one on each CPU.
        machines: the machines, of which each has one process; () for work on CPUs.
    """

    ray: str | None
    processes: int | None
    machines: tuple[str, ...] = ()

    def ended(self, work: Work, next_chunk: Next) -> Ended:
        """Yield the chunks with their results; ``work`` is a function of a module, or a partial of it."""
        if self.ray is not None:
            return of_ray(work, next_chunk, self.ray, self.processes, self.machines)
        return local(work, next_chunk, self.machines or [None] * (self.processes or cores()))


def local(work: Work, next_chunk: Next, lanes: Sequence[Lane]) -> Ended:
    """Work in a process of this machine for each of the lanes.

    Each process has a pool of its own: the end of a process breaks its whole pool.
    """
    pools = [_pool() for _ in lanes]
    idle = list(range(len(lanes)))
    running: dict[Future[list[Measurement]], tuple[int, Chunk]] = {}
    try:
        while True:
            for place in list(idle):
                if (chunk := next_chunk(lanes[place])) is not None:
                    idle.remove(place)
                    with _blocked():
                        running[pools[place].submit(work, chunk)] = place, chunk
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                place, chunk = running.pop(future)
                try:
                    results = future.result()
                except BrokenProcessPool:
                    pools[place].shutdown(wait=False)
                    pools[place], results = _pool(), None
                idle.append(place)
                yield chunk, results
    finally:
        for pool in pools:
            _end(pool)


def _pool() -> ProcessPoolExecutor:
    # A forked process would inherit the locks of other threads, such as the threads of polars.
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin_worker)


@contextmanager
def _blocked() -> Iterator[None]:
    """Start processes in the block with SIGINT blocked: Ctrl-C would end a process that imports its modules with a
    traceback."""
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, before)


def _begin_worker() -> None:
    """Leave Ctrl-C to the main process, and end with the main process even after SIGKILL."""
    signal(SIGINT, SIG_IGN)
    pthread_sigmask(SIG_UNBLOCK, {SIGINT})
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), SIGTERM)  # a session on a machine undoes its changes


def _end(pool: ProcessPoolExecutor) -> None:
    """End a pool without waiting for its simulation, which may take minutes; a session on a machine ends in order."""
    for process in list((pool._processes or {}).values()):
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)


def of_ray(work: Work, next_chunk: Next, address: str, processes: int | None, machines: Sequence[str] = ()) -> Ended:
    """Work in tasks of Ray; arguments as of :class:`Place`. The cluster's nodes must have the same schedlab.

    Each machine is a resource of Ray with the machine's name, which a node of the cluster offers.

    CannotRunHere without the library Ray, when the cluster does not answer, or when no node offers a machine.
    """
    ray = connected_ray(address, processes, machines)
    try:
        if missing := sorted(set(machines) - ray.cluster_resources().keys()):
            offer = f"--resources='{json.dumps(dict.fromkeys(missing, 1))}'"
            todo = f"on a node that reaches them by ssh: ray start --address={address} {offer}"
            raise CannotRunHere(f"no node of the cluster offers {', '.join(missing)}", where="--ray", todo=todo)
        yield from ray_tasks(ray, work, next_chunk, machines or (None,))
    finally:
        ray.shutdown()


def ray_tasks(ray: Any, work: Work, next_chunk: Next, lanes: Sequence[Lane] = (None,)) -> Ended:
    """Work in tasks of a connected Ray for these lanes; None is all CPUs. Error as for :func:`of_ray`."""
    task = ray.remote(max_retries=0)(work_on)
    running: dict[Any, tuple[Lane, Chunk]] = {}
    shared = ray.put((build(), work))
    errors = ray.exceptions
    losses = (
        errors.WorkerCrashedError,
        errors.NodeDiedError,
        errors.LocalRayletDiedError,
        errors.ObjectLostError,
        errors.OutOfMemoryError,
    )
    while True:
        # One further chunk for each CPU waits at its node, so that a CPU does not wait for this process. Nodes may
        # join and leave.
        cpus = 2 * max(int(ray.cluster_resources().get("CPU", 1)), 1)
        for lane in lanes:
            most, needs = (cpus, {"num_cpus": 1}) if lane is None else (1, {"num_cpus": 0, "resources": {lane: 1}})
            begun = sum(of_chunk == lane for of_chunk, _ in running.values())
            while begun < most and (chunk := next_chunk(lane)) is not None:
                running[task.options(**needs).remote(shared, chunk)] = lane, chunk
                begun += 1
        if not running:
            return
        for reference in ray.wait(list(running), num_returns=1)[0]:
            results = None
            try:
                results = ray.get(reference)
            except losses:
                pass
            except errors.RayTaskError as error:
                raise _refusal(error) from error
            yield running.pop(reference)[1], results


def work_on(build_and_work: tuple[str, Work], chunk: Chunk) -> list[Measurement]:
    """Work on a chunk in a task of Ray; CannotRunHere if this node has another build of the simulator."""
    expected, work = build_and_work
    if build() != expected:
        message = f"a node has the build {build()} of the simulator, this machine {expected}"
        raise CannotRunHere(message, where="--ray", todo=SAME_WHEEL)
    return work(chunk)


def _refusal(error: Any) -> Exception:
    """Return the error of a task: a node that cannot work on this sweep, or a fault of schedlab."""
    cause = error.cause
    if isinstance(cause, ImportError):
        return CannotRunHere(f"a node lacks schedlab: {cause}", where="--ray", todo=SAME_WHEEL)
    return cause if isinstance(cause, Exception) else error


def require_ray() -> None:
    """Raise CannotRunHere without the library Ray."""
    if find_spec("ray") is None:
        raise CannotRunHere("the library Ray is not installed", where="--ray", todo=SCALE)


def connected_ray(address: str, processes: int | None, machines: Sequence[str] = ()) -> Any:
    """Return the module Ray, connected; arguments and error as for :func:`of_ray`."""
    require_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray's default is 15: on a machine with other work its processes would hardly run.
    os.environ.setdefault("RAY_worker_niceness", "0")
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        options |= {"num_cpus": processes, "include_dashboard": False, "resources": dict.fromkeys(machines, 1)}
    try:
        with kept_handlers():  # Ray's handler of SIGTERM ends this process before it has recorded its end
            ray.init(address=address, **options)
    except Exception as error:  # Ray raises bare exceptions, for example when a node does not start in time.
        reason = str(error).partition("\n")[0]
        if address == "local":
            todo = "omit --ray to work in processes without Ray, or repeat the command when the machine is less busy"
            raise CannotRunHere(f"Ray does not start: {reason}", where="--ray", todo=todo) from error
        todo = (
            "start a cluster with 'ray start --head', and give its address HOST:PORT; a cluster with a token needs "
            "RAY_AUTH_MODE=token and the token in RAY_AUTH_TOKEN, see docs/sweeps.md"
        )
        raise CannotRunHere(f"no cluster answers at {address!r}: {reason}", where="--ray", todo=todo) from error
    return ray

"""Processes that work on chunks: of this machine, or of a Ray cluster.

Each function yields the chunks as they end, in any order. A chunk whose worker died is yielded without results, and its
worker is replaced.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from multiprocessing import get_context, parent_process
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from typing import Any

from schedlab.errors import CannotRunHere
from schedlab.extension import build
from schedlab.results.measurement import Measurement

Chunk = Sequence[int]
Work = Callable[[Chunk], list[Measurement]]
Ended = Iterator[tuple[Chunk, list[Measurement] | None]]

SCALE = "pip install 'schedlab[scale]'"
"""The command that installs the optional libraries."""


def local(work: Work, next_chunk: Callable[[], Chunk | None], processes: int) -> Ended:
    """Work in processes of this machine.

    Args:
        work: function of a module, or a partial of it, which a process can import.
        next_chunk: return the next chunk, or None if no chunk is left now.
        processes: number of processes. Each has a pool of its own: the end of a process breaks its whole pool.
    """
    pools = [_pool() for _ in range(processes)]
    idle = list(range(processes))
    running: dict[Future[list[Measurement]], tuple[int, Chunk]] = {}
    try:
        while True:
            while idle and (chunk := next_chunk()) is not None:
                place = idle.pop()
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


def _begin_worker() -> None:
    """Leave Ctrl-C to the main process, and end with the main process even after SIGKILL."""
    signal(SIGINT, SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _end(pool: ProcessPoolExecutor) -> None:
    """End a pool without waiting for its simulation, which may take minutes."""
    for process in list((pool._processes or {}).values()):
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)


def of_ray(work: Work, next_chunk: Callable[[], Chunk | None], address: str, processes: int | None) -> Ended:
    """Work in tasks of Ray.

    Args:
        work: as in :func:`local`; the cluster's nodes must have the same version of schedlab.
        next_chunk: as in :func:`local`.
        address: address of a cluster, or ``local`` for processes of this machine.
        processes: number of processes for ``local``; default one for each CPU.

    CannotRunHere without the library Ray, or when the cluster does not answer.
    """
    ray = connected_ray(address, processes)
    try:
        yield from ray_tasks(ray, work, next_chunk)
    finally:
        ray.shutdown()


def ray_tasks(ray: Any, work: Work, next_chunk: Callable[[], Chunk | None]) -> Ended:
    """Work in tasks of a connected Ray; arguments and error as for :func:`of_ray`."""
    task = ray.remote(num_cpus=1, max_retries=0)(work_on)
    running: dict[Any, Chunk] = {}
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
        most = 2 * max(int(ray.cluster_resources().get("CPU", 1)), 1)
        while len(running) < most and (chunk := next_chunk()) is not None:
            running[task.remote(shared, chunk)] = chunk
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
            yield running.pop(reference), results


def work_on(build_and_work: tuple[str, Work], chunk: Chunk) -> list[Measurement]:
    """Work on a chunk in a task of Ray; CannotRunHere if this node has another build of the simulator."""
    expected, work = build_and_work
    if build() != expected:
        raise CannotRunHere(f"a node has the build {build()} of the simulator, this machine {expected}")
    return work(chunk)


def _refusal(error: Any) -> Exception:
    """Return the error of a task: a node that cannot work on this sweep, or a fault of schedlab."""
    cause = error.cause
    if isinstance(cause, CannotRunHere | ImportError):
        todo = "install the same wheel of schedlab on every node"
        return CannotRunHere(getattr(cause, "what", f"a node lacks schedlab: {cause}"), where="--ray", todo=todo)
    return cause if isinstance(cause, Exception) else error


def require_ray() -> None:
    """Raise CannotRunHere without the library Ray."""
    if find_spec("ray") is None:
        raise CannotRunHere("the library Ray is not installed", where="--ray", todo=SCALE)


def connected_ray(address: str, processes: int | None) -> Any:
    """Return the module Ray, connected; arguments and error as for :func:`of_ray`."""
    require_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray's default is 15: on a machine with other work its processes would hardly run.
    os.environ.setdefault("RAY_worker_niceness", "0")
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        options |= {"num_cpus": processes, "include_dashboard": False}
    try:
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

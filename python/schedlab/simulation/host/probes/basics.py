"""Probes of system calls, switches, timers and computation."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.simulation.host.probes.operations import (
    IN_TURN,
    LOOPS,
    YIELD,
    compute,
    down,
    lap,
    make_program,
    on,
    semaphores,
    stamp,
    times,
    up,
)
from schedlab.simulation.host.runners import Probe

SPAN_NS = 4_000_000
"""Length of a span of :func:`tick`: the period of the tick at 250 Hz."""


def clock(cpu: int) -> Probe:
    """Two readings of the clock: series ``operation``."""
    body = [times(LOOPS, [lap("turn", "operation")])]
    return Probe("clock", make_program("clock", {"first": body}, ["operation"]), (cpu,))


def write(cpu: int) -> Probe:
    """Write to /dev/null: series ``operation``."""
    body = [times(LOOPS, [{"write": {"file": "null", "bytes": 4}}, lap("turn", "operation")])]
    files = [{"name": "null", "count": 1, "scope": "task", "path": "/dev/null"}]
    return Probe("write", make_program("write", {"first": body}, ["operation"], files=files), (cpu,))


def both_write(cpus: tuple[int, int]) -> Probe:
    """Tasks on two CPUs that write to /dev/null at once for about 100 ms: series ``0`` and ``1``, of 100 operations."""
    turn = times(100, [{"write": {"file": "null", "bytes": 4}}])
    groups = {
        f"writer{n}": [on(cpu), stamp("turn"), times(5000, [turn, lap("turn", str(n))])] for n, cpu in enumerate(cpus)
    }
    files = [{"name": "null", "count": 1, "scope": "task", "path": "/dev/null"}]
    return Probe("write on two CPUs", make_program("both-write", groups, ["0", "1"], files=files), cpus)


def yields(cpu: int, tasks: int) -> Probe:
    """Tasks that yield: series ``operation``, the turns of all tasks, of the first task."""
    timed, other = [YIELD, lap("turn", "operation")], [YIELD]
    groups = {"first": [times(LOOPS, timed)]} | {f"other{n}": [times(LOOPS, other)] for n in range(1, tasks)}
    return Probe(f"{tasks} yielding", make_program("yields", groups, ["operation"]), (cpu,))


def futex_round(cpu: int) -> Probe:
    """Two threads on the CPU that wake each other: series ``operation``."""
    groups = {
        "first": [IN_TURN, times(LOOPS, [up("there"), down("back"), lap("turn", "operation")])],
        "second": [IN_TURN, times(LOOPS, [down("there"), up("back")])],
    }
    program = make_program("futex-round", groups, ["operation"], threads=True, semaphores=semaphores("there", "back"))
    return Probe("futex round", program, (cpu,))


def tick(cpu: int, spans: int = 40) -> Probe:
    """A loop that reads the clock: series ``operation``, the longest gap of each span, in which a tick falls."""
    watch = {
        "watch": {"ns": SPAN_NS, "over_ns": SPAN_NS, "longest": "operation", "gaps": "gaps", "lost": "lost"},
    }  # fmt: skip
    program = make_program("tick", {"first": [times(spans, [watch])]}, ["operation"])
    return Probe("tick", {**program, "counters": ["gaps", "lost"]}, (cpu,))


def timer(cpu: int) -> Probe:
    """A sleep: series ``operation``."""
    body = [times(100, [{"sleep": {"ns": 200_000}}, lap("turn", "operation")])]
    return Probe("timer", make_program("timer", {"first": body}, ["operation"]), (cpu,))


def computations(cpus: Sequence[int]) -> Probe:
    """Tasks on several CPUs that compute at once: series ``operation``, 1 ms of an undisturbed CPU."""
    timed = [compute(1_000_000), lap("turn", "operation")]
    groups = {f"computer{n}": [on(cpu), stamp("turn"), times(50, timed)] for n, cpu in enumerate(cpus)}
    return Probe(f"{len(cpus)} computing", make_program("computations", groups, ["operation"]), tuple(cpus))

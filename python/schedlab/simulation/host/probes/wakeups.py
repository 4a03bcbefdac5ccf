"""Probes of wake-ups between CPUs, and of cache lines that CPUs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.simulation.host.probes.operations import (
    LOOPS,
    YIELD,
    Op,
    compute,
    down,
    lap,
    make_program,
    on,
    policy,
    record,
    semaphores,
    stamp,
    times,
    up,
)
from schedlab.simulation.host.runners import Probe

UPS = 50
"""Atomic operations between two readings of the clock, whose resolution may be 10 ns."""


def wake_idle(waker: int, sleeper: int, idle_ns: int, loops: int) -> Probe:
    """Wake a thread on another CPU that has been idle for at least ``idle_ns``.

    Series ``call`` is the waker's time for the call, ``arrival`` the time until the woken thread runs. The waker then
    sleeps until the woken thread wakes it in turn, and computes for ``idle_ns``.
    """
    waking = [compute(idle_ns), stamp("call"), stamp("sent"), up("there"), record("call", "call"), down("back")]
    woken = [down("there"), record("sent", "arrival"), up("back")]
    groups = {"waker": [on(waker), times(loops, waking)], "sleeper": [on(sleeper), times(loops, woken)]}
    return Probe(f"waking a CPU idle for {idle_ns} ns", _wakes("wake-idle", groups), (waker, sleeper))


def wake_busy(waker: int, busy: int, *, preempts: bool) -> Probe:
    """Wake a thread on a CPU that runs another thread, which the woken thread preempts or waits for.

    Series as of :func:`wake_idle`.
    """
    waking = [compute(150_000), stamp("call"), stamp("sent"), up("there"), record("call", "call")]
    chosen = policy("fifo", 10) if preempts else policy("batch")
    runs: Op = {"loop": {"repeat": {"for_ns": LOOPS * 150_000}, "body": [compute(20_000), YIELD]}}
    groups = {
        "waker": [on(waker), times(LOOPS, waking)],
        "woken": [on(busy), chosen, times(LOOPS, [down("there"), record("sent", "arrival")])],
        "running": [on(busy), runs],
    }
    name = "preempting" if preempts else "queueing on"
    return Probe(f"{name} a running CPU", _wakes("wake-busy", groups), (waker, busy))


def woken_elsewhere(waker: int, busy: int) -> Probe:
    """Let a thread wait for another thread of its CPU, which a thread on another CPU has woken meanwhile.

    Series ``operation`` is the time from the wait up to the answer: a round of two threads on one CPU whose first
    wake-up comes from the other CPU. The waking CPU has 40 us for its wake-up, in which the waiting thread computes.
    After a longer computation the kernel's code would no longer be in the caches. On a machine that needs longer for
    the wake-up of a CPU that has been idle for 50 us, the waiting CPU becomes idle instead: the cost is then too high.
    """
    waiting = [up("go"), compute(40_000), stamp("turn"), down("back"), record("turn", "operation")]
    groups = {
        "waker": [on(waker), times(LOOPS, [down("go"), up("there")])],
        "woken": [on(busy), policy("batch"), times(LOOPS, [down("there"), up("back")])],
        "waiting": [on(busy), policy("batch"), times(LOOPS, waiting)],
    }
    program = make_program(
        "woken-elsewhere", groups, ["operation"], threads=True, semaphores=semaphores("go", "there", "back")
    )
    return Probe("a round of two threads that another CPU begins", program, (waker, busy))


def _wakes(name: str, groups: Mapping[str, Sequence[Op]]) -> Mapping[str, Any]:
    return make_program(
        name, groups, ["call", "arrival"], threads=True, semaphores=semaphores("there", "back"),
        slots=[{"name": "call", "scope": "program"}, {"name": "sent", "scope": "program"}],
    )  # fmt: skip


def atomics(*cpus: int) -> Probe:
    """Threads on CPUs that each add to one semaphore, again and again.

    The first thread does so alone at first (series ``alone``), then beside the other threads (series ``shared``). Both
    are the time of :data:`UPS` operations. A shared operation needs the line that another CPU has modified meanwhile.
    """
    turn = times(UPS, [up("value")])

    def turns(series: str) -> list[Op]:
        return [stamp("turn"), times(100, [turn, lap("turn", series)])]

    meet: Op = {"barrier": {"barrier": "both"}}
    groups = {
        f"adder{n}": [on(cpu), *([] if n else turns("alone")), meet, *turns("shared")] for n, cpu in enumerate(cpus)
    }
    program = make_program(
        "atomics", groups, ["alone", "shared"], threads=True, semaphores=semaphores("value"),
        barriers=[{"name": "both", "scope": "program", "parties": len(cpus)}],
    )  # fmt: skip
    return Probe(f"atomic operations on {len(cpus)} CPUs", program, cpus)

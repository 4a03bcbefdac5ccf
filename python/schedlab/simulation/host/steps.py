"""The steps of a calibration: which probe determines which cost, in an order in which no step needs a later step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schedlab.simulation.host.probes import basics, children, memory, messages, wakeups
from schedlab.simulation.host.runners import Probe
from schedlab.simulation.host.solve import Step

IDLE_NS = (0, 20_000, 50_000, 200_000, 1_000_000, 4_000_000)
"""Computation of the waker before it wakes an idle CPU. The CPU is idle for this time and the time of a wake-up."""

STEADY_NS = 250_000_000
"""Time for which CPUs wake each other, so that a hypervisor has adapted how long it polls for them: on an EPYC
virtual machine a wake-up takes 14 to 19 us in the first 15 ms, and 26 to 30 us from 100 ms on."""

ROUND_NS = 50_000
"""Time of two wake-ups of idle CPUs, there."""

MESSAGE_KIB = 16
"""Size of the messages that measure copies: a quarter of a pipe."""

MOST_WALK_KIB = 256 << 10
"""The largest buffer that is read: a virtual machine may report the cache of its entire host."""

CHANNELS = {
    "pipe": ("pipe", "pipe"),
    "unix": ("unix", "unix"),
    "tcp": ("tcp_send", "tcp_receive"),
    "udp": ("udp_send", "udp_receive"),
}
"""The costs of sending and of receiving over each kind of channel."""


def on_one_cpu(cpu: int) -> Iterator[Step]:
    """Yield the steps of one task, and of two tasks on one CPU."""
    yield Step(("costs.clock_read",), basics.clock(cpu), "operation", "two readings of the clock")
    yield Step(("costs.syscall",), basics.write(cpu), "operation", "write() to /dev/null")
    for kind, (send, receive) in CHANNELS.items():
        probe = messages.to_itself(cpu, kind, 4)
        if send == receive:
            yield Step((f"costs.{send}",), probe, "both", f"4 bytes over {kind}, written and read by one task")
            continue
        yield Step((f"costs.{send}",), probe, "send", f"4 bytes over {kind}, sent to the same task")
        yield Step((f"costs.{receive}",), probe, "receive", f"4 bytes over {kind}, received from the same task")
    probe = messages.one_way(cpu)
    yield Step(("costs.tcp_ack",), probe, "receive", "4 bytes over tcp, received and acknowledged without a reply")
    yield Step(("costs.tcp_append",), messages.appends(cpu), "operation", "4 bytes that tcp holds back")
    probe = messages.to_itself(cpu, "udp", MESSAGE_KIB << 10)
    yield Step(("costs.copy_kib",), probe, "receive", f"{MESSAGE_KIB} KiB over udp, received from the same task")
    for kind in ("unix", "tcp", "udp"):
        probe = messages.to_itself(cpu, kind, MESSAGE_KIB << 10)
        yield Step((f"costs.{kind}_kib",), probe, "send", f"{MESSAGE_KIB} KiB over {kind}, sent to the same task")
    probe = messages.to_itself(cpu, "pipe", MESSAGE_KIB << 10)
    yield Step(("costs.pipe_page",), probe, "both", f"{MESSAGE_KIB} KiB through a pipe, written and read by one task")
    how = f"{wakeups.UPS} up() of a semaphore without waiters"
    yield Step(("costs.atomic",), wakeups.atomics(cpu), "alone", how)
    yield Step(("costs.schedule",), basics.yields(cpu, 1), "operation", "sched_yield() of a single task")
    yield Step(("costs.switch",), basics.yields(cpu, 2), "operation", "sched_yield() of two processes in turn")
    yield Step(("costs.wakeup.core",), messages.pipe_round(cpu), "operation", "a round over two pipes on one CPU")
    # More processes than the six address spaces that a TLB of x86 distinguishes.
    yield Step(("costs.tlb_refill",), messages.pipe_ring(cpu, 8), "operation", "a round over pipes of eight processes")
    yield Step(("costs.futex",), basics.futex_round(cpu), "operation", "a round of two threads on one CPU")
    yield Step(("costs.inet_wait",), messages.udp_round(cpu), "operation", "a round over udp on one CPU")
    yield Step(("costs.page_fault",), memory.page_fault(cpu), "operation", "the first write to a page")
    probe = memory.page_fault(cpu, shared=True)
    yield Step(("costs.shared_fault",), probe, "operation", "the first read of a page of shared memory")
    # Other work lengthens most of the gaps on a busy machine, and a tick is in each of them.
    yield Step(
        ("costs.tick",), basics.tick(cpu), "operation", "the longest gap of a loop in 4 ms, 10th percentile", 0.1
    )


def of_timers(cpu: int) -> Iterator[Step]:
    """Yield the steps of timers, which wake an idle CPU."""
    yield Step(("costs.timer_irq",), basics.timer(cpu), "operation", "a sleep of 200 us on an idle CPU")


def of_memory(cpu: int, machine: Mapping[str, Any]) -> Iterator[Step]:
    """Yield the steps of reads from the private caches, the last-level cache and memory."""
    private, llc = int(machine["private_kib"]), int(machine["llc_kib"])
    half = max(1, private // 2)
    yield Step(("costs.touch_kib",), memory.walk(cpu, half, "sequential"), "operation", f"reads of {half} KiB in order")
    inside, outside = min(4 * private, llc // 2), 4 * llc
    if 2 * private <= inside:
        probe = memory.walk(cpu, inside, "sequential")
        yield Step(("costs.refill_kib.llc",), probe, "operation", f"reads of {inside} KiB in order")
        how = f"reads in {inside} KiB at random, each after the value of the last"
        yield Step(("costs.llc_line",), memory.chase(cpu, inside), "operation", how)
    if outside <= MOST_WALK_KIB:
        probe = memory.walk(cpu, outside, "sequential")
        yield Step(("costs.refill_kib.node",), probe, "operation", f"reads of {outside} KiB in order")
        probe = memory.walk(cpu, outside, "random")
        yield Step(("costs.random_percent",), probe, "operation", f"reads of {outside} KiB at random")


def between(waker: int, other: int, distance: str) -> Iterator[Step]:
    """Yield the steps of two CPUs at a distance; the nearest distance comes first."""
    how = f"a round of two threads on a CPU, the first wake-up by another CPU, {distance}"
    yield Step((f"costs.runqueue.{distance}",), wakeups.woken_elsewhere(waker, other), "operation", how)
    probe = wakeups.wake_busy(waker, other, preempts=False)
    yield Step((f"costs.wakeup.{distance}",), probe, "call", f"waking a thread of a running CPU, {distance}")


def of_children(cpu: int) -> Iterator[Step]:
    """Yield the steps of a child process on its parent's CPU, after the steps of memory: each child refills caches."""
    yield Step(("costs.fork",), children.child(cpu, executes=False), "clone", "fork() in the parent")
    how = "a child's first operation, from the wait of the parent on"
    yield Step(("costs.child_start",), children.child(cpu, executes=False), "start", how)
    yield Step(("costs.exit",), children.child(cpu, executes=False), "end", "a child's exit and reaping")
    how = "a child that executes a new image, less the child without"
    yield Step(("costs.exec",), children.child(cpu, executes=True), "end", how)


def of_children_elsewhere(parent: int, other: int, distance: str) -> Iterator[Step]:
    """Yield the step of a forked process that starts on another CPU, after the steps of interrupts and idle states."""
    if distance != "core":
        probe = children.child_start_remote(parent, other)
        how = f"fork() up to the child's first operation on another CPU, {distance}"
        # A kernel may keep the child on the parent's CPU until the parent waits.
        yield Step((f"costs.child_start_remote.{distance}",), probe, "start", how, below_ns=children.FAR_BEHIND_NS)


def overlap(pairs: Mapping[str, tuple[int, int]]) -> Iterator[Step]:
    """Yield the step of the lines of a message, after the step of a line; none if all CPUs are SMT siblings."""
    distance = next((name for name in pairs if name != "core"), None)
    if distance is not None:
        probe = messages.line(*pairs[distance], MESSAGE_KIB)
        how = f"reading {MESSAGE_KIB} KiB that another CPU wrote, {distance}"
        yield Step(("costs.next_line_permille",), probe, "operation", how)


def interrupts(waker: int, other: int, distance: str) -> Iterator[Step]:
    """Yield the step of an interrupt between two CPUs, after the step of :func:`sending`."""
    probe = wakeups.wake_busy(waker, other, preempts=True)
    yield Step((f"costs.ipi.{distance}",), probe, "arrival", f"preempting a running CPU, {distance}")


def sending(idle: Sequence[Probe]) -> Iterator[Step]:
    """Yield the step of the sender's time for an interrupt, which has no distance. ``idle`` are the probes of
    :func:`idle_probes`."""
    yield Step(("costs.ipi_send",), idle[0], "call", "the sender's time for an interrupt, in waking an idle CPU")


def idle_probes(waker: int, other: int) -> Sequence[Probe]:
    """Return the probes of idle CPUs, for each of :data:`IDLE_NS`, each for about :data:`STEADY_NS`."""
    return [wakeups.wake_idle(waker, other, idle_ns, STEADY_NS // (idle_ns + ROUND_NS)) for idle_ns in IDLE_NS]


def idleness(idle: Sequence[Probe]) -> Iterator[Step]:
    """Yield the steps of the idle states, the shortest first.

    A state has the exit of the state before until its own step: which state a probe meets depends on the exits.
    """
    for state, (idle_ns, probe) in enumerate(zip(IDLE_NS, idle, strict=True)):
        how = f"waking a CPU {idle_ns // 1000} us and a wake-up after it became idle"
        later = tuple(f"idle.{each}.exit_ns" for each in range(state + 1, len(IDLE_NS)))
        yield Step((f"idle.{state}.exit_ns",), probe, "arrival", how, later=later)


def arrival(probe: Probe, distance: str) -> Step:
    """Return the step of an interrupt that arrives sooner at an idle CPU than at a running CPU."""
    return Step((f"costs.ipi.{distance}",), probe, "arrival", f"waking an idle CPU, {distance}")


def pairs(machine: Mapping[str, Any], cpus: Sequence[int]) -> Mapping[str, tuple[int, int]]:
    """Return two of the CPUs at each distance that exists among them, the nearest distance first."""
    places = {cpu: _place(machine, cpu) for cpu in cpus}
    first = min(cpus)
    found: dict[str, tuple[int, int]] = {}
    for cpu in sorted(cpus):
        if cpu != first:
            found.setdefault(_distance(places[first], places[cpu]), (first, cpu))
    return {name: found[name] for name in (*_DISTANCES, "far") if name in found}


def node(machine: Mapping[str, Any], cpu: int) -> int:
    """The NUMA node of a CPU."""
    return _place(machine, cpu)[3]


_DISTANCES = ("core", "cluster", "llc", "node", "near")
"""The distance between two CPUs that share the unit at the same position of `_place`."""


def _place(machine: Mapping[str, Any], cpu: int) -> tuple[int, int, int, int, int]:
    """Core, cluster, last-level cache, node and socket of a CPU (crates/sim/src/machine/topology.rs).

    Without clusters each core is a cluster.
    """
    threads = int(machine.get("threads_per_core", 1))
    caches, nodes = int(machine["caches_per_node"]), int(machine["nodes_per_socket"])
    cores = int(machine["sockets"]) * nodes * caches * int(machine["cores_per_cache"])
    core = cpu % cores if machine.get("numbering") == "split" else cpu // threads
    cache = core // int(machine["cores_per_cache"])
    cluster = core // int(machine.get("cores_per_cluster", 1))
    return core, cluster, cache, cache // caches, cache // caches // nodes


def _distance(here: Sequence[int], there: Sequence[int]) -> str:
    same = [a == b for a, b in zip(here, there, strict=True)]
    return next((name for name, equal in zip(_DISTANCES, same, strict=True) if equal), "far")

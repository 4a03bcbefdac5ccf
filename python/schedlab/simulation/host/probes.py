"""Programs that measure single costs; :mod:`schedlab.simulation.host.runners` runs them.

Probes are programs like the native workloads, but none of them is a native workload that users measure: the figures of
workloads never enter a calibration, and can judge it. Each probe times an operation many times in one or two series.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.simulation.host.runners import Probe

LOOPS = 300
"""Operations in a try of a short operation: a few milliseconds, so that most tries are undisturbed."""

FAR_BEHIND_NS = 400_000
"""Time in which a woken task on another CPU runs and waits again, also on a virtual machine."""

# Operations of programs, see crates/workload/src/program/op.rs.
Op = Mapping[str, Any]


def _times(count: int, body: Sequence[Op]) -> Op:
    return {"loop": {"repeat": {"count": count}, "body": list(body)}}


def _on(cpu: int) -> Op:
    return {"set": {"attributes": {"cpus": [cpu]}}}


def _policy(policy: str, priority: int | None = None) -> Op:
    attributes = {"policy": policy} if priority is None else {"policy": policy, "priority": priority}
    return {"set": {"attributes": attributes}}


def _stamp(slot: str) -> Op:
    return {"stamp": {"slot": slot}}


def _lap(slot: str, series: str) -> Op:
    return {"lap": {"slot": slot, "series": series}}


def _record(slot: str, series: str) -> Op:
    return {"record": {"slot": slot, "series": series}}


def _up(name: str) -> Op:
    return {"up": {"semaphore": name, "count": 1}}


def _down(name: str) -> Op:
    return {"down": {"semaphore": name}}


def _compute(ns: int) -> Op:
    return {"compute": {"ns": ns}}


def _touch(region: str, size: int, *, pattern: str = "sequential", write: bool = False, offset: Any = 0) -> Op:
    return {
        "touch": {
            "region": region, "offset": offset, "bytes": size, "stride": 64, "pattern": pattern, "write": write,
        }
    }  # fmt: skip


def _program(
    name: str,
    groups: Mapping[str, Sequence[Op]],
    series: Sequence[str],
    *,
    threads: bool = False,
    **resources: Sequence[Mapping[str, Any]],
) -> Mapping[str, Any]:
    slots = [{"name": "turn", "scope": "task"}, *resources.pop("slots", ())]
    mode = "thread" if threads else "process"
    return {
        "schema": 2,
        "name": name,
        "resources": {**resources, "slots": slots},
        "series": list(series),
        "groups": [
            {"name": group, "count": 1, "mode": mode, "body": [_stamp("turn"), *body]} for group, body in groups.items()
        ],
        "metrics": [
            {"name": each, "unit": "ns", "direction": "lower", "quantity": {"mean": each}} for each in series
        ],
    }  # fmt: skip


def _semaphores(*names: str) -> list[Mapping[str, Any]]:
    return [{"name": name, "scope": "program", "initial": 0} for name in names]


def _channel(name: str, kind: str) -> Mapping[str, Any]:
    return {"name": name, "kind": kind, "count": 1, "scope": "program"} | ({"no_delay": True} if kind == "tcp" else {})


def clock(cpu: int) -> Probe:
    """Two readings of the clock: series ``operation``."""
    body = [_times(LOOPS, [_lap("turn", "operation")])]
    return Probe("clock", _program("clock", {"first": body}, ["operation"]), (cpu,))


def write(cpu: int) -> Probe:
    """Write to /dev/null: series ``operation``."""
    body = [_times(LOOPS, [{"write": {"file": "null", "bytes": 4}}, _lap("turn", "operation")])]
    files = [{"name": "null", "count": 1, "scope": "task", "path": "/dev/null"}]
    return Probe("write", _program("write", {"first": body}, ["operation"], files=files), (cpu,))


def messages(cpu: int, kind: str, size: int) -> Probe:
    """A message that a task sends and receives: series ``send`` and ``receive``.

    Over sockets the task also sends the message back: a TCP connection that only receives would acknowledge each
    message by a separate packet.
    """

    def once(direction: str) -> list[Op]:
        message = {"channel": "there", "bytes": size} | ({"direction": direction} if direction != "forward" else {})
        return [{"send": message}, _lap("turn", "send"), {"receive": message}, _lap("turn", "receive")]

    body = [_times(LOOPS, once("forward") + (once("backward") if kind != "pipe" else []))]
    program = _program("messages", {"first": body}, ["send", "receive"], channels=[_channel("there", kind)])
    return Probe(f"{kind} messages of {size} bytes", program, (cpu,))


def one_way(cpu: int) -> Probe:
    """A message of 4 bytes over TCP that a task sends to itself: series ``send`` and ``receive``.

    The connection carries no other data, so that reading takes a packet that acknowledges the message.
    """
    message = {"channel": "there", "bytes": 4}
    body = [_times(LOOPS, [{"send": message}, _lap("turn", "send"), {"receive": message}, _lap("turn", "receive")])]
    program = _program("one-way", {"first": body}, ["send", "receive"], channels=[_channel("there", "tcp")])
    return Probe("tcp messages without replies", program, (cpu,))


def appends(cpu: int) -> Probe:
    """Messages of 4 bytes that TCP holds back, because nobody reads the first message: series ``operation``."""
    channel = {key: value for key, value in _channel("there", "tcp").items() if key != "no_delay"}
    message = {"channel": "there", "bytes": 4}
    body = [
        {"send": message},
        _stamp("turn"),
        _times(LOOPS, [{"send": message}, _lap("turn", "operation")]),
        {"receive": {"channel": "there", "bytes": 4 * (LOOPS + 1)}},
    ]
    return Probe("tcp appends", _program("appends", {"first": body}, ["operation"], channels=[channel]), (cpu,))


def yields(cpu: int, tasks: int) -> Probe:
    """Tasks that yield: series ``operation``, the turns of all tasks, of the first task."""
    timed, other = [{"yield": None}, _lap("turn", "operation")], [{"yield": None}]
    groups = {"first": [_times(LOOPS, timed)]} | {f"other{n}": [_times(LOOPS, other)] for n in range(1, tasks)}
    return Probe(f"{tasks} yielding", _yields(_program("yields", groups, ["operation"])), (cpu,))


def _yields(program: Mapping[str, Any]) -> Mapping[str, Any]:
    """The operation without fields is a string in JSON."""
    text = json.dumps(program).replace('{"yield": null}', '"yield"')
    return dict(json.loads(text))


def pipe_round(cpu: int) -> Probe:
    """A message of 4 bytes to another process on the CPU, and its answer: series ``operation``."""
    out, back = ({"send": {"channel": name, "bytes": 4}} for name in ("there", "back"))
    arrive, answered = ({"receive": {"channel": name, "bytes": 4}} for name in ("there", "back"))
    groups = {
        "first": [_times(LOOPS, [out, answered, _lap("turn", "operation")])],
        "second": [_times(LOOPS, [arrive, back])],
    }
    channels = [_channel("there", "pipe"), _channel("back", "pipe")]
    return Probe("pipe round", _program("pipe-round", groups, ["operation"], channels=channels), (cpu,))


def pipe_ring(cpu: int, tasks: int) -> Probe:
    """A message of 4 bytes over pipes from process to process on the CPU: series ``operation``, a round."""
    places = [f"pipe{n}" for n in range(tasks)]
    sends = [{"send": {"channel": name, "bytes": 4}} for name in places]
    takes = [{"receive": {"channel": name, "bytes": 4}} for name in places]
    groups = {"first": [_times(LOOPS, [sends[0], takes[-1], _lap("turn", "operation")])]}
    groups |= {f"other{n}": [_times(LOOPS, [takes[n - 1], sends[n]])] for n in range(1, tasks)}
    channels = [_channel(name, "pipe") for name in places]
    return Probe("pipe ring", _program("pipe-ring", groups, ["operation"], channels=channels), (cpu,))


def unix_round(cpu: int) -> Probe:
    """A message of 4 bytes over a Unix socket to another process on the CPU, and its answer: series ``operation``."""
    out = {"send": {"channel": "there", "bytes": 4}}
    arrive = {"receive": {"channel": "there", "bytes": 4}}
    back = {"send": {"channel": "there", "bytes": 4, "direction": "backward"}}
    answered = {"receive": {"channel": "there", "bytes": 4, "direction": "backward"}}
    groups = {
        "first": [_times(LOOPS, [out, answered, _lap("turn", "operation")])],
        "second": [_times(LOOPS, [arrive, back])],
    }
    program = _program("unix-round", groups, ["operation"], channels=[_channel("there", "unix")])
    return Probe("unix round", program, (cpu,))


def delivery(cpu: int) -> Probe:
    """4 bytes over UDP to a process on the CPU that waits for them: series ``operation``.

    The receiver wakes the sender over a semaphore, so that no message goes back. Over TCP this would measure how a
    congestion control such as BBR paces small segments: 0 to 20 µs.
    """
    message = {"channel": "there", "bytes": 4}
    groups = {
        "first": [_times(LOOPS, [{"send": message}, _down("taken"), _lap("turn", "operation")])],
        "second": [_times(LOOPS, [{"receive": message}, _up("taken")])],
    }
    channels = [_channel("there", "udp")]
    program = _program("delivery", groups, ["operation"], channels=channels, semaphores=_semaphores("taken"))
    return Probe("udp delivery", program, (cpu,))


def futex_round(cpu: int) -> Probe:
    """Two threads on the CPU that wake each other: series ``operation``."""
    groups = {
        "first": [_times(LOOPS, [_up("there"), _down("back"), _lap("turn", "operation")])],
        "second": [_times(LOOPS, [_down("there"), _up("back")])],
    }
    program = _program("futex-round", groups, ["operation"], threads=True, semaphores=_semaphores("there", "back"))
    return Probe("futex round", program, (cpu,))


def page_fault(cpu: int, *, shared: bool = False) -> Probe:
    """The first write to a page, or the first read of a page that processes share: series ``operation``."""
    page = 4096
    touch = _touch("memory", 64, write=not shared, offset={"mul": [{"loop": 0}, page]})
    body = [_times(LOOPS, [touch, _lap("turn", "operation")])]
    regions = [
        {"name": "memory", "count": 1, "scope": "program" if shared else "task", "bytes": LOOPS * page},
    ]
    return Probe(
        "shared page fault" if shared else "page fault",
        _program("page-fault", {"first": body}, ["operation"], regions=regions),
        (cpu,),
    )


def child(cpu: int, image_kib: int | None) -> Probe:
    """A child process: series ``clone`` until the parent continues, ``start`` from then on until the child's first
    operation, ``end`` until the child has been reaped.

    With ``image_kib`` the child executes a new image that fills this memory.
    """
    work = {"exec": {"image": {"work": {"ns": 0, "bytes": (image_kib or 0) << 10}}}}
    first = _record("waits", "start")
    body = [
        _times(
            20 if image_kib else 60,
            [
                _stamp("waits"),  # for a child that preempts its parent
                {"fork": {"body": [first] if image_kib is None else [first, work]}},
                _lap("turn", "clone"),
                _stamp("waits"),
                {"wait": {}},
                _lap("turn", "end"),
            ],
        )
    ]
    program = _program(
        "child", {"first": body}, ["clone", "start", "end"], slots=[{"name": "waits", "scope": "program"}]
    )
    return Probe("child", program, (cpu,))


SPAN_NS = 4_000_000
"""Length of a span of :func:`tick`: the period of the tick at 250 Hz."""


def tick(cpu: int, spans: int = 40) -> Probe:
    """A loop that reads the clock: series ``operation``, the longest gap of each span, in which a tick falls."""
    watch = {
        "watch": {"ns": SPAN_NS, "over_ns": SPAN_NS, "longest": "operation", "gaps": "gaps", "lost": "lost"},
    }  # fmt: skip
    program = _program("tick", {"first": [_times(spans, [watch])]}, ["operation"])
    return Probe("tick", {**program, "counters": ["gaps", "lost"]}, (cpu,))


def timer(cpu: int) -> Probe:
    """A sleep: series ``operation``."""
    body = [_times(100, [{"sleep": {"ns": 200_000}}, _lap("turn", "operation")])]
    return Probe("timer", _program("timer", {"first": body}, ["operation"]), (cpu,))


def walk(cpu: int, kib: int, pattern: str) -> Probe:
    """Reads of a warm buffer, a cache line at a time: series ``operation``, the time of a walk."""
    size = kib << 10
    walks = max(3, min(LOOPS, (32 << 10) // kib))
    body = [
        _touch("memory", size, write=True),
        _touch("memory", size, pattern=pattern),
        _stamp("turn"),
        _times(walks, [_touch("memory", size, pattern=pattern), _lap("turn", "operation")]),
    ]
    regions = [{"name": "memory", "count": 1, "scope": "task", "bytes": size}]
    return Probe(
        f"{pattern} walk over {kib} KiB", _program("walk", {"first": body}, ["operation"], regions=regions), (cpu,)
    )


def child_start_remote(parent: int, other: int) -> Probe:
    """A child process that starts on another CPU, as its parent's CPU is busy: series ``start``, from the fork on."""
    turn = [
        _stamp("forks"),
        {"fork": {"body": [_record("forks", "start")]}},
        _compute(FAR_BEHIND_NS),
        {"wait": {}},
    ]
    program = _program(
        "child-start-remote", {"first": [_times(60, turn)]}, ["start"], slots=[{"name": "forks", "scope": "program"}]
    )
    return Probe("child on another CPU", program, (parent, other))


CHASE_KIB = 1024
"""Lines of a chase: 16,384, about a millisecond."""


def chase(cpu: int, kib: int) -> Probe:
    """Reads of :data:`CHASE_KIB` at random places of a warm buffer, each after the value of the last.

    Series ``operation``, the time of all reads.
    """
    size, part = kib << 10, min(CHASE_KIB, kib) << 10
    chase = _touch("memory", part, pattern="chase")
    # The first walk in order brings the lines into the last-level cache.
    body = [_touch("memory", size, write=True), _touch("memory", size), _stamp("turn")]
    body.append(_times(10, [chase, _lap("turn", "operation")]))
    regions = [{"name": "memory", "count": 1, "scope": "task", "bytes": size}]
    return Probe(f"chase in {kib} KiB", _program("chase", {"first": body}, ["operation"], regions=regions), (cpu,))


def walks(cpus: Sequence[int], kib: int) -> Probe:
    """Tasks on several CPUs that read buffers at once, in order: series ``operation``."""
    size = kib << 10
    regions = [{"name": "memory", "count": 1, "scope": "task", "bytes": size}]
    warm, timed = _touch("memory", size, write=True), [_touch("memory", size), _lap("turn", "operation")]
    groups = {f"walker{n}": [_on(cpu), warm, _stamp("turn"), _times(6, timed)] for n, cpu in enumerate(cpus)}
    program = _program("walks", groups, ["operation"], regions=regions)
    return Probe(f"{len(cpus)} walks over {kib} KiB", program, tuple(cpus))


def computations(cpus: Sequence[int]) -> Probe:
    """Tasks on several CPUs that compute at once: series ``operation``, 1 ms of an undisturbed CPU."""
    timed = [_compute(1_000_000), _lap("turn", "operation")]
    groups = {f"computer{n}": [_on(cpu), _stamp("turn"), _times(50, timed)] for n, cpu in enumerate(cpus)}
    return Probe(f"{len(cpus)} computing", _program("computations", groups, ["operation"]), tuple(cpus))


def wake_idle(waker: int, sleeper: int, idle_ns: int, loops: int) -> Probe:
    """Wake a thread on another CPU that has been idle for at least ``idle_ns``.

    Series ``call`` is the waker's time for the call, ``arrival`` the time until the woken thread runs. The waker then
    sleeps until the woken thread wakes it in turn, and computes for ``idle_ns``.
    """
    waking = [_compute(idle_ns), _stamp("call"), _stamp("sent"), _up("there"), _record("call", "call"), _down("back")]
    woken = [_down("there"), _record("sent", "arrival"), _up("back")]
    groups = {"waker": [_on(waker), _times(loops, waking)], "sleeper": [_on(sleeper), _times(loops, woken)]}
    return Probe(f"waking a CPU idle for {idle_ns} ns", _wakes("wake-idle", groups), (waker, sleeper))


def wake_busy(waker: int, busy: int, *, preempts: bool) -> Probe:
    """Wake a thread on a CPU that runs another thread, which the woken thread preempts or waits for.

    Series as of :func:`wake_idle`.
    """
    waking = [_compute(150_000), _stamp("call"), _stamp("sent"), _up("there"), _record("call", "call")]
    policy = _policy("fifo", 10) if preempts else _policy("batch")
    runs: Op = {"loop": {"repeat": {"for_ns": LOOPS * 150_000}, "body": [_compute(20_000), {"yield": None}]}}
    groups = {
        "waker": [_on(waker), _times(LOOPS, waking)],
        "woken": [_on(busy), policy, _times(LOOPS, [_down("there"), _record("sent", "arrival")])],
        "running": [_on(busy), runs],
    }
    name = "preempting" if preempts else "queueing on"
    return Probe(f"{name} a running CPU", _yields(_wakes("wake-busy", groups)), (waker, busy))


def _wakes(name: str, groups: Mapping[str, Sequence[Op]]) -> Mapping[str, Any]:
    return _program(
        name, groups, ["call", "arrival"], threads=True, semaphores=_semaphores("there", "back"),
        slots=[{"name": "call", "scope": "program"}, {"name": "sent", "scope": "program"}],
    )  # fmt: skip


UPS = 50
"""Atomic operations between two readings of the clock, whose resolution may be 10 ns."""


def atomics(*cpus: int) -> Probe:
    """Threads on CPUs that each add to one semaphore, again and again.

    The first thread does so alone at first (series ``alone``), then beside the other threads (series ``shared``). Both
    are the time of :data:`UPS` operations. A shared operation needs the line that another CPU has modified meanwhile.
    """
    turn = _times(UPS, [_up("value")])

    def turns(series: str) -> list[Op]:
        return [_stamp("turn"), _times(100, [turn, _lap("turn", series)])]

    meet: Op = {"barrier": {"barrier": "both"}}
    groups = {
        f"adder{n}": [_on(cpu), *([] if n else turns("alone")), meet, *turns("shared")] for n, cpu in enumerate(cpus)
    }
    program = _program(
        "atomics", groups, ["alone", "shared"], threads=True, semaphores=_semaphores("value"),
        barriers=[{"name": "both", "scope": "program", "parties": len(cpus)}],
    )  # fmt: skip
    return Probe(f"atomic operations on {len(cpus)} CPUs", program, cpus)


def line(writer: int, reader: int, kib: int) -> Probe:
    """A pipe's message of ``kib`` KiB that another CPU has written: series ``operation``, the time of the read."""
    size = kib << 10
    sends = [{"send": {"channel": "there", "bytes": size}}, _up("sent"), _down("taken")]
    takes = [
        _down("sent"),
        _stamp("turn"),
        {"receive": {"channel": "there", "bytes": size}},
        _lap("turn", "operation"),
        _up("taken"),
    ]
    groups = {"writer": [_on(writer), _times(LOOPS, sends)], "reader": [_on(reader), _times(LOOPS, takes)]}
    program = _program(
        "line", groups, ["operation"], channels=[_channel("there", "pipe")], semaphores=_semaphores("sent", "taken")
    )
    return Probe(f"a message of {kib} KiB", program, (writer, reader))

"""Probes of messages over pipes and sockets."""

from __future__ import annotations

from schedlab.simulation.host.probes.operations import (
    IN_TURN,
    LOOPS,
    Op,
    channel,
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


def to_itself(cpu: int, kind: str, size: int) -> Probe:
    """A message that a task sends and receives: series ``send`` and ``receive``.

    Over sockets the task also sends the message back: a TCP connection that only receives would acknowledge each
    message by a separate packet.
    """

    def once(direction: str) -> list[Op]:
        message = {"channel": "there", "bytes": size} | ({"direction": direction} if direction != "forward" else {})
        return [{"send": message}, lap("turn", "send"), {"receive": message}, lap("turn", "receive")]

    body = [times(LOOPS, once("forward") + (once("backward") if kind != "pipe" else []))]
    program = make_program("messages", {"first": body}, ["send", "receive"], channels=[channel("there", kind)])
    return Probe(f"{kind} messages of {size} bytes", program, (cpu,))


def one_way(cpu: int) -> Probe:
    """A message of 4 bytes over TCP that a task sends to itself: series ``send`` and ``receive``.

    The connection carries no other data, so that reading takes a packet that acknowledges the message.
    """
    message = {"channel": "there", "bytes": 4}
    body = [times(LOOPS, [{"send": message}, lap("turn", "send"), {"receive": message}, lap("turn", "receive")])]
    program = make_program("one-way", {"first": body}, ["send", "receive"], channels=[channel("there", "tcp")])
    return Probe("tcp messages without replies", program, (cpu,))


def appends(cpu: int) -> Probe:
    """Messages of 4 bytes that TCP holds back, because nobody reads the first message: series ``operation``."""
    delaying = {key: value for key, value in channel("there", "tcp").items() if key != "no_delay"}
    message = {"channel": "there", "bytes": 4}
    body = [
        {"send": message},
        stamp("turn"),
        times(LOOPS, [{"send": message}, lap("turn", "operation")]),
        {"receive": {"channel": "there", "bytes": 4 * (LOOPS + 1)}},
    ]
    return Probe("tcp appends", make_program("appends", {"first": body}, ["operation"], channels=[delaying]), (cpu,))


def pipe_round(cpu: int) -> Probe:
    """A message of 4 bytes to another process on the CPU, and its answer: series ``operation``."""
    out, back = ({"send": {"channel": name, "bytes": 4}} for name in ("there", "back"))
    arrive, answered = ({"receive": {"channel": name, "bytes": 4}} for name in ("there", "back"))
    groups = {
        "first": [IN_TURN, times(LOOPS, [out, answered, lap("turn", "operation")])],
        "second": [IN_TURN, times(LOOPS, [arrive, back])],
    }
    channels = [channel("there", "pipe"), channel("back", "pipe")]
    return Probe("pipe round", make_program("pipe-round", groups, ["operation"], channels=channels), (cpu,))


def pipe_ring(cpu: int, tasks: int) -> Probe:
    """A message of 4 bytes over pipes from process to process on the CPU: series ``operation``, a round."""
    places = [f"pipe{n}" for n in range(tasks)]
    sends = [{"send": {"channel": name, "bytes": 4}} for name in places]
    takes = [{"receive": {"channel": name, "bytes": 4}} for name in places]
    groups = {"first": [IN_TURN, times(LOOPS, [sends[0], takes[-1], lap("turn", "operation")])]}
    groups |= {f"other{n}": [IN_TURN, times(LOOPS, [takes[n - 1], sends[n]])] for n in range(1, tasks)}
    channels = [channel(name, "pipe") for name in places]
    return Probe("pipe ring", make_program("pipe-ring", groups, ["operation"], channels=channels), (cpu,))


def udp_round(cpu: int) -> Probe:
    """A message of 4 bytes over UDP to another process on the CPU, and its answer: series ``operation``.

    Over TCP this would measure how a congestion control such as BBR paces small segments: 0 to 20 µs.
    """
    out, back = ({"channel": "there", "bytes": 4} | way for way in ({}, {"direction": "backward"}))
    groups = {
        "first": [IN_TURN, times(LOOPS, [{"send": out}, {"receive": back}, lap("turn", "operation")])],
        "second": [IN_TURN, times(LOOPS, [{"receive": out}, {"send": back}])],
    }
    program = make_program("udp-round", groups, ["operation"], channels=[channel("there", "udp")])
    return Probe("udp round", program, (cpu,))


def line(writer: int, reader: int, kib: int) -> Probe:
    """A pipe's message of ``kib`` KiB that another CPU has written: series ``operation``, the time of the read."""
    size = kib << 10
    sends = [{"send": {"channel": "there", "bytes": size}}, up("sent"), down("taken")]
    takes = [
        down("sent"),
        stamp("turn"),
        {"receive": {"channel": "there", "bytes": size}},
        lap("turn", "operation"),
        up("taken"),
    ]
    groups = {"writer": [on(writer), times(LOOPS, sends)], "reader": [on(reader), times(LOOPS, takes)]}
    program = make_program(
        "line", groups, ["operation"], channels=[channel("there", "pipe")], semaphores=semaphores("sent", "taken")
    )
    return Probe(f"a message of {kib} KiB", program, (writer, reader))

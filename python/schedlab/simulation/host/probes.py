"""What some things cost on this host: each probe a function that returns nanoseconds of one try.

A probe of a call is made from Python, less what calling a function costs that does nothing.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import socket
import subprocess
import time
from collections.abc import Callable
from timeit import repeat

import numpy as np

CALLS = 200
"""Calls that one try times: tens of microseconds, so that most tries are disturbed by nobody."""

TRIES = 300
"""Tries, of which the least counts: what else a machine does adds time to a try, and never takes any away."""

BATCH = 16
"""Messages that are under way at once: fewer than any channel holds."""


def _least(function: Callable[[], object], number: int) -> float:
    """Least ns of one of ``number`` calls in a row."""
    return min(repeat(function, number=number, repeat=TRIES)) / number * 1e9


def call(function: Callable[[], object]) -> float:
    """ns of a call, less that of ``gc.isenabled()``, which takes no arguments either and does nothing."""
    return _least(function, CALLS) - _least(gc.isenabled, CALLS)


def _nothing() -> object:
    """A Python function around a call, as those around sending and receiving are."""
    return gc.isenabled()


def messages(send: Callable[[], object], receive: Callable[[], object]) -> tuple[float, float]:
    """ns of sending and of receiving a message of 4 bytes to oneself, less those of calls that do nothing."""
    least = [float("inf"), float("inf")]
    for _ in range(TRIES):
        for side, function in enumerate((send, receive)):
            began = time.perf_counter_ns()
            for _ in range(BATCH):
                function()
            least[side] = min(least[side], (time.perf_counter_ns() - began) / BATCH)
    nothing = _least(_nothing, CALLS)
    return least[0] - nothing, least[1] - nothing


def pipe() -> tuple[float, float]:
    """ns of a pipe's write and read."""
    reader, writer = os.pipe()
    try:
        return messages(lambda: os.write(writer, b"1234"), lambda: os.read(reader, 4))
    finally:
        os.close(reader)
        os.close(writer)


def sockets(kind: str) -> tuple[float, float]:
    """ns of sending and of receiving over a pair of sockets: ``unix``, ``tcp`` or ``udp`` (over loopback)."""
    one, other = _pair(kind)
    with one, other:
        return messages(lambda: one.send(b"1234"), lambda: other.recv(4))


def _pair(kind: str) -> tuple[socket.socket, socket.socket]:
    if kind == "unix":
        return socket.socketpair()
    if kind == "udp":
        one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        other.bind(("127.0.0.1", 0))
        one.connect(other.getsockname())
        return one, other
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one, other


def page_fault(mib: int = 8) -> float:
    """ns of the first touch of a page of 4 KiB of fresh anonymous memory: of 32 in a row, of which the least count."""
    least = float("inf")
    with mmap.mmap(-1, mib << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        array = np.frombuffer(memory, dtype=np.uint8)
        for piece in np.split(array, len(array) // (32 * mmap.PAGESIZE)):
            began = time.perf_counter_ns()
            piece[:: mmap.PAGESIZE] = 1
            least = min(least, (time.perf_counter_ns() - began) / 32)
        del array, piece
    return least * 4096 / mmap.PAGESIZE


def walk(kib: int) -> float:
    """ns of reading 1 KiB in order, of a buffer of so many that has been read before; the least of some tries."""
    array = np.ones(kib * 128, dtype=np.uint64)
    tries = max(5, min(TRIES, (256 << 10) // kib))
    return min(repeat(array.sum, number=1, repeat=tries)) * 1e9 / kib


def samples(schedload: str, cpu: int, metric: str, *words: str) -> float:
    """A metric's samples of one of schedload's programs, all of it on one CPU: the least tenth's end."""
    done = subprocess.run(
        [schedload, "--json", *words],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
    (found,) = [each["samples"] for each in json.loads(done.stdout)["metrics"] if each["name"] == metric]
    return float(sorted(found)[len(found) // 10])

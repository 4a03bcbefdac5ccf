"""Probes of costs on this host. Each probe is a function that returns the nanoseconds of one try.

Probes of calls run in Python; the cost of calling an empty function is subtracted.
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
"""Calls in one try. A try takes tens of microseconds, so that most tries are undisturbed."""

TRIES = 300
"""Number of tries. A probe returns the least time of all tries: other activity of the machine only adds time."""

BATCH = 16
"""Messages in flight: fewer than the capacity of any channel."""


def _least(function: Callable[[], object], number: int) -> float:
    """Return the least mean time of a call in ns, over tries of ``number`` calls."""
    return min(repeat(function, number=number, repeat=TRIES)) / number * 1e9


def call(function: Callable[[], object]) -> float:
    """Return the ns of a call, less the ns of ``gc.isenabled()``, which has no arguments and does nothing."""
    return _least(function, CALLS) - _least(gc.isenabled, CALLS)


def _nothing() -> object:
    """Wrap an empty call in a Python function, as the calls that send and receive are wrapped."""
    return gc.isenabled()


def messages(send: Callable[[], object], receive: Callable[[], object]) -> tuple[float, float]:
    """Return the ns of sending a message of 4 bytes and of receiving the message in the same task, less empty calls."""
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
    """Return the ns of writing to a pipe and of reading from the same pipe."""
    reader, writer = os.pipe()
    try:
        return messages(lambda: os.write(writer, b"1234"), lambda: os.read(reader, 4))
    finally:
        os.close(reader)
        os.close(writer)


def sockets(kind: str) -> tuple[float, float]:
    """Return the ns of sending and receiving over a pair of sockets: ``unix``, ``tcp`` or ``udp`` (over loopback)."""
    sender, receiver = _pair(kind)
    with sender, receiver:
        return messages(lambda: sender.send(b"1234"), lambda: receiver.recv(4))


def _pair(kind: str) -> tuple[socket.socket, socket.socket]:
    if kind == "unix":
        return socket.socketpair()
    if kind == "udp":
        sender, receiver = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        receiver.bind(("127.0.0.1", 0))
        sender.connect(receiver.getsockname())
        return sender, receiver
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sender, receiver


def page_fault(mib: int = 8) -> float:
    """Return the ns of the first touch of a 4 KiB page of new anonymous memory: the least mean of 32 pages in a row."""
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
    """Return the ns of reading 1 KiB, in order, of a warm buffer of ``kib`` KiB: the least time of the tries."""
    array = np.ones(kib * 128, dtype=np.uint64)
    tries = max(5, min(TRIES, (256 << 10) // kib))
    return min(repeat(array.sum, number=1, repeat=tries)) * 1e9 / kib


def samples(schedload: str, cpu: int, metric: str, *words: str) -> float:
    """Run a program of schedload on one CPU, and return the 10th percentile of a metric's samples."""
    result = subprocess.run(
        [schedload, "--json", *words],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
    metrics = json.loads(result.stdout)["metrics"]
    (series,) = [entry["samples"] for entry in metrics if entry["name"] == metric]
    return float(sorted(series)[len(series) // 10])

"""Interruptions that a test causes are found with their rate, length and name. Needs root, and a quiet machine.

The truth is counted apart from the trace: by the helper itself, or by the kernel's counters.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest

from schedlab.workloads.tools import SCHEDLOAD, need
from tests.cli.test_noise import require_tracefs

pytestmark = [pytest.mark.verify, pytest.mark.root]

SECONDS = 10
PERIOD, LENGTH = 0.01, 50e-6
"""Seconds between two wake-ups of the helper, and its computation at each."""

HELPER = f"""
import ctypes, json, os, sys, time
os.sched_setaffinity(0, {{int(sys.argv[1])}})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
ctypes.CDLL(None).prctl(15, b"planted", 0, 0, 0)
wakeups, at, end = [], time.monotonic(), time.monotonic() + float(sys.argv[2])
while at < end:
    at += {PERIOD} * (1 + int(max(time.monotonic() - at, 0) / {PERIOD}))
    # The CPU may be taken away between two readings of the clock.
    time.sleep(max(at - time.monotonic(), 0))
    begun = now = time.perf_counter()
    while now - begun < {LENGTH}:
        now = time.perf_counter()
    wakeups.append((time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.thread_time_ns()))
print(json.dumps(wakeups))
"""
"""Computes for 50 µs every 10 ms on a CPU, before all other tasks there. PR_SET_NAME is 15."""

TIMER = f"""
import json, os, signal, sys, time
os.sched_setaffinity(0, {{int(sys.argv[1])}})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(6))
wakeups = []
note = lambda *_: wakeups.append((time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.thread_time_ns()))
signal.signal(signal.SIGALRM, note)
signal.setitimer(signal.ITIMER_REAL, {PERIOD}, {PERIOD})
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    signal.pause()
print(json.dumps(wakeups))
"""
"""A high-resolution timer (it_real_fn) that is armed, and so expires, on one CPU."""

DROPPER = """
import ctypes, json, os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(4))
ctypes.CDLL(None).prctl(15, b"dropper", 0, 0, 0)
drops, end = [], time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("1")
    drops.append((begun, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)))
    time.sleep(0.1)
print(json.dumps(drops))
"""
"""Drops the page cache up to ten times a second on a CPU, and prints the begin and the end of each drop."""


def cpu() -> int:
    return max(os.sched_getaffinity(0))


@pytest.fixture(autouse=True)
def _require() -> None:
    require_tracefs()
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs: one under test, one that interrupts it")


def measure(seconds: float = SECONDS) -> dict[str, Any]:
    """Measure the CPU under test."""
    words = [
        need(SCHEDLOAD),
        "noise",
        "--cpus",
        str(cpu()),
        "--for",
        f"{seconds}s",
        "--threshold",
        "500",
        "--fifo",
        "1",
    ]
    document: dict[str, Any] = json.loads(subprocess.check_output(words))
    assert document["tracing"]["traced"], document["tracing"]["reason"]
    assert document["tracing"]["lost"] == 0
    assert sum(cause["share"] for cause in document["causes"]) == pytest.approx(1)
    return document


def causes(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {cause["name"]: cause for cause in document["causes"]}


def count(document: dict[str, Any], *names: str) -> int:
    return sum(cause["count"] for cause in document["causes"] if cause["name"].startswith(names))


@contextmanager
def helper(code: str) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-c", code, str(cpu()), str(SECONDS + 5)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        time.sleep(0.5)
        yield process


@contextmanager
def repeated(action: Callable[[], object], period: float) -> Iterator[list[int]]:
    """Call a function again and again from the other CPUs; yields the times of the calls."""
    calls: list[int] = []
    stop = threading.Event()

    def loop() -> None:
        os.sched_setaffinity(threading.get_native_id(), os.sched_getaffinity(0) - {cpu()})
        while not stop.wait(period):
            action()
            calls.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield calls
    finally:
        stop.set()
        thread.join()


def write(path: str, text: str) -> None:
    Path(path).write_text(text)


def window(document: dict[str, Any]) -> tuple[int, float]:
    """Return start and end of the loop in ns of CLOCK_MONOTONIC_RAW."""
    (measured,) = document["cpus"]
    return measured["start_ns"], measured["start_ns"] + measured["seconds"] * 1e9


def during(document: dict[str, Any], process: subprocess.Popen[str]) -> list[tuple[int, int]]:
    """Return the wake-ups of a helper during the measurement: time and CPU time so far in ns."""
    start, end = window(document)
    return [(at, used) for at, used in json.loads(process.communicate()[0]) if start <= at < end]


def drops_during(document: dict[str, Any], process: subprocess.Popen[str]) -> list[tuple[int, int]]:
    """Return begin and end, in ns, of the drops that overlap the measurement."""
    start, end = window(document)
    return [drop for drop in json.loads(process.communicate()[0]) if drop[0] < end and drop[1] > start]


def per_second(document: dict[str, Any], events: Sequence[object]) -> float:
    """Return the rate of events of the measurement."""
    start, end = window(document)
    return len(events) / (end - start) * 1e9


def test_a_helper_is_found_with_its_rate_and_length() -> None:
    with helper(HELPER) as process:
        document = measure()
        wakeups = during(document, process)
    found = causes(document)["task planted"]
    rate = per_second(document, wakeups)
    assert found["rate"] == pytest.approx(rate, rel=0.02)
    assert_length(found, wakeups)


def assert_length(found: dict[str, Any], wakeups: Sequence[tuple[int, int]]) -> None:
    """Compare the mean length of the helper with its CPU time."""
    lengths = sorted((after[1] - before[1]) / 1e3 for before, after in pairwise(wakeups))
    length = fmean(lengths)
    # A hypervisor makes some wake-ups longer.
    jitter = abs(length - median(lengths))
    # The CPU time of the helper contains the interrupts in it.
    mean = found["inclusive_total_ns"] / found["count"] / 1e3
    print(f"\nhelper: mean {mean:.1f} µs of {length:.1f} µs CPU time, jitter {jitter:.1f} µs")
    assert mean == pytest.approx(length, abs=10 + jitter)


def test_a_pinned_timer_is_found_by_the_name_of_its_function() -> None:
    with helper(TIMER) as process:
        document = measure()
        wakeups = during(document, process)
    found = causes(document)["hrtimer it_real_fn"]
    rate = per_second(document, wakeups)
    print(f"\ntimer: {found['rate']:.2f}/s of {rate:.2f}/s, longest {found['worst_ns'] / 1e3:.1f} µs")
    assert found["rate"] == pytest.approx(rate, rel=0.02)


@contextmanager
def patched_text() -> Iterator[list[int]]:
    """Let the other CPU patch the kernel's text, after which all CPUs are called to synchronise their instructions."""
    path = "/proc/sys/kernel/bpf_stats_enabled"
    before = Path(path).read_text()
    try:
        with repeated(lambda: (write(path, "1"), write(path, "0")), 0.002) as calls:
            yield calls
    finally:
        write(path, before)


def counted_calls(document: dict[str, Any]) -> int:
    """Return how many calls /proc/interrupts counted during the measurement."""
    truth = {each["name"]: int(each["count"]) for each in document["counters"] if each["cpu"] == cpu()}
    return next(number for name, number in truth.items() if name.startswith("interrupt CAL"))


def test_calls_by_another_cpu_are_counted_as_the_kernel_counts_them() -> None:
    with patched_text():
        document = measure()
    counted = counted_calls(document)
    found = count(document, "call-function interrupt")
    name = max((cause for cause in document["causes"] if cause["name"].startswith("call ")), key=lambda c: c["count"])
    print(
        f"\ncalls: {found:,} of {counted:,} that /proc/interrupts counts, mostly {name['name']!r} ({name['count']:,})"
    )
    assert name["name"] == "call do_sync_core"
    if document["tracing"]["requests"] is not None:
        sender = max(document["senders"], key=lambda row: row["count"] * row["interrupt"].startswith("call"))
        print(f"from {sender['task']} in {sender['function']}: {sender['count']:,}")
        assert sender["task"] == f"task {Path('/proc/self/comm').read_text().strip()}"
        assert sender["count"] > 0.9 * found
    assert counted > 1000
    assert found == pytest.approx(counted, rel=0.02)


def test_a_work_item_is_found_by_the_name_of_its_function() -> None:
    # Each write lets every CPU run refresh_vm_stats from a work queue.
    with repeated(lambda: write("/proc/sys/vm/stat_refresh", "1"), 0.01) as calls:
        document = measure()
    found = causes(document)["refresh_vm_stats"]
    start, end = window(document)
    rate = per_second(document, [at for at in calls if start <= at < end])
    print(f"\nwork: {found['rate']:.2f}/s of {rate:.2f}/s, longest {found['worst_ns'] / 1e3:.1f} µs")
    assert found["rate"] == pytest.approx(rate, rel=0.02)


def test_a_drop_of_caches_is_found_under_the_name_of_its_task() -> None:
    with helper(DROPPER) as process:
        document = measure()
        drops = drops_during(document, process)
    found = causes(document)["task dropper"]
    rate = per_second(document, drops)
    print(f"\ndropper: {found['rate']:.2f}/s of {rate:.2f}/s, longest {found['worst_ns'] / 1e3:.1f} µs")
    # A drop that waits for the workers of the other CPUs goes on.
    assert found["rate"] == pytest.approx(rate, rel=0.02)


def test_all_together_are_found_side_by_side() -> None:
    with ExitStack() as stack:
        planted, timer, dropper = (stack.enter_context(helper(code)) for code in (HELPER, TIMER, DROPPER))
        items = stack.enter_context(repeated(lambda: write("/proc/sys/vm/stat_refresh", "1"), 0.01))
        stack.enter_context(patched_text())
        document = measure()
        truth = {
            "task planted": during(document, planted),
            "hrtimer it_real_fn": during(document, timer),
            "task dropper": drops_during(document, dropper),
        }
    start, end = window(document)
    truth["refresh_vm_stats"] = [(at, at) for at in items if start <= at < end]
    found = causes(document)
    for name, events in truth.items():
        rate = per_second(document, events)
        print(f"\n{name}: {found[name]['rate']:.2f}/s of {rate:.2f}/s", end="")
        assert found[name]["rate"] == pytest.approx(rate, rel=0.02)
    interrupts, counted = count(document, "call-function interrupt"), counted_calls(document)
    print(f"\ncalls: {interrupts:,} of {counted:,}")
    assert_length(found["task planted"], truth["task planted"])
    assert interrupts == pytest.approx(counted, rel=0.02)

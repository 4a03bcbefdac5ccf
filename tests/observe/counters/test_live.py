"""Counters of the running kernel: they rise as expected, and a snapshot is cheap."""

from __future__ import annotations

import json
import mmap
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedlab.observe.counters.collection import Counters

pytestmark = pytest.mark.slow

LIMIT_MS = 2.0


@pytest.fixture
def counters() -> Iterator[Counters]:
    with Counters.open() as opened:
        yield opened


def around(counters: Counters, work: Callable[[], object]) -> dict[str, float]:
    before = counters.snapshot()
    work()
    return counters.delta(before, counters.snapshot())


def needed(rises: dict[str, float], counters: Counters, name: str) -> float:
    """Return the counter. Skip the test with the note's reason if this machine lacks the counter."""
    if name not in rises:
        pytest.skip(f"{name} is not counted here: {counters.notes}")
    return rises[name]


def in_child(work: Callable[[], object]) -> None:
    """Run a function in a child process, so that its changes, such as an affinity, end with the child."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def test_children_are_forks(counters: Counters) -> None:
    rises = around(counters, lambda: [in_child(lambda: None) for _ in range(50)])
    assert 50 <= rises["forks"] < 50_000


def hop() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    for i in range(300):
        os.sched_setaffinity(0, {cpus[i % len(cpus)]})


def test_hopping_between_cpus_is_migrations(counters: Counters) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one CPU")
    rises = around(counters, lambda: in_child(hop))
    assert needed(rises, counters, "cpu-migrations") >= 299


def ping_pong() -> None:
    """Pass a byte back and forth 500 times between two processes on one CPU. Each pass is a context switch."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    (there_out, there_in), (back_out, back_in) = os.pipe(), os.pipe()
    partner = os.fork()
    for _ in range(500):
        if partner == 0:
            os.write(back_in, os.read(there_out, 1))
        else:
            os.write(there_in, b"x")
            os.read(back_out, 1)
    if partner == 0:
        os._exit(0)
    os.waitpid(partner, 0)


def test_a_ping_pong_is_context_switches(counters: Counters) -> None:
    rises = around(counters, lambda: in_child(ping_pong))
    assert rises["context-switches"] >= 1000


def test_touching_memory_is_page_faults(counters: Counters) -> None:
    pages = 4000

    def touch() -> None:
        with mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
            if hasattr(mmap, "MADV_NOHUGEPAGE"):
                area.madvise(mmap.MADV_NOHUGEPAGE)
            for page in range(pages):
                area[page * mmap.PAGESIZE] = 1

    rises = around(counters, lambda: in_child(touch))
    assert rises["vmstat.pgfault"] >= pages


def spin(seconds: float) -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def crowd(many: int, seconds: float) -> None:
    """Run several processes on one CPU."""
    children = []
    for _ in range(many):
        child = os.fork()
        if child == 0:
            spin(seconds)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def test_a_crowd_on_one_cpu_is_pressure(counters: Counters) -> None:
    rises = around(counters, lambda: crowd(3, 0.4))
    assert needed(rises, counters, "psi.cpu.some_us") >= 100_000


def test_time_passes_in_interrupts_and_softirqs(counters: Counters) -> None:
    rises = around(counters, lambda: crowd(1, 0.3))
    assert rises["interrupts"] > 0
    assert rises["softirqs"] > 0
    assert sum(value for name, value in rises.items() if name.startswith("softirqs.") and ".cpu" not in name) > 0


def test_counters_fit_json_and_are_never_negative(counters: Counters) -> None:
    rises = around(counters, lambda: None)
    assert json.loads(json.dumps(rises)) == rises
    assert min(rises.values()) >= 0
    assert list(rises) == sorted(rises)


@pytest.mark.verify
def test_a_snapshot_costs_less_than_two_milliseconds(counters: Counters) -> None:
    costs = []
    for _ in range(100):
        begun = time.perf_counter()
        counters.snapshot()
        costs.append(1000 * (time.perf_counter() - begun))
    assert statistics.median(costs) < LIMIT_MS


def test_all_files_are_closed() -> None:
    before = os.listdir("/proc/self/fd")
    with Counters.open() as counters:
        counters.snapshot()
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_missing_schedstats_are_noted_with_a_remedy(counters: Counters) -> None:
    switch = Path("/proc/sys/kernel/sched_schedstats")
    remarks = counters.notes + counters.remarks(counters.snapshot())
    messages = [note for note in remarks if note.startswith("schedstats")]
    if not switch.exists():
        assert "CONFIG_SCHEDSTATS" in messages[0]
    elif switch.read_text().strip() == "0":
        assert "kernel.sched_schedstats=1" in messages[0]
    else:
        assert not messages


UNPRIVILEGED = """
import json, os
from schedlab.observe.counters.collection import Counters
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
with Counters.open() as counters:
    before = counters.snapshot()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    print(json.dumps([counters.delta(before, counters.snapshot()), counters.notes]))
"""


@pytest.mark.root
def test_without_privileges_everything_but_migrations_is_counted_with_a_note() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    paranoid = Path("/proc/sys/kernel/perf_event_paranoid")
    if not paranoid.exists() or int(paranoid.read_text()) <= 0:
        pytest.skip("this kernel grants perf to all users, or has no perf")
    done = subprocess.run([sys.executable, "-c", UNPRIVILEGED], capture_output=True, text=True, check=True)
    counters, notes = json.loads(done.stdout)
    assert "cpu-migrations" not in counters
    assert counters["forks"] >= 20
    assert counters["context-switches"] >= 20
    assert any("kernel.perf_event_paranoid=0" in note and "CAP_PERFMON" in note for note in notes), notes

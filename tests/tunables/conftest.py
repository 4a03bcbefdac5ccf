"""Fixtures for tunables: a fake machine, failing files, and the sysctls of the real machine for one test at a time."""

from __future__ import annotations

import atexit
import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from schedlab.files import processes
from schedlab.files.locks import locked
from schedlab.tunables import Available, Journal, Outcome, System
from tests.tunables.fake_tree import build_fake_tree
from tests.waiting import eventually


def kill(journal: Journal) -> None:
    """Kill the journal's agent, both processes at once, so that nobody undoes anything."""
    agent, journal._agent = journal._agent, None
    assert agent is not None
    keeper = agent._process.pid
    (worker,) = map(int, Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split())
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (keeper, worker):
            os.kill(pid, number)
    agent.close()
    eventually(lambda: processes.start_of(worker) is None, "the worker has not ended")
    atexit.unregister(journal.close)


REAL = (
    "vm.stat_interval",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_cfs_bandwidth_slice_us",
)
AT_FIRST = dict(zip(REAL, ("1", "0", "1", "5000"), strict=True))
"""Values at the begin of each test that uses :func:`real`."""

OTHER_VALUES = {
    "vm.stat_interval": 7,
    "kernel.numa_balancing": True,
    "kernel.sched_autogroup_enabled": False,
    "kernel.sched_cfs_bandwidth_slice_us": "7ms",
}


@pytest.fixture
def fake(tmp_path: Path) -> System:
    """A machine with Linux 6.18, in files."""
    return build_fake_tree(tmp_path / "root")


@pytest.fixture
def journals(tmp_path: Path) -> Path:
    """A folder for journals."""
    return tmp_path / "journals"


@pytest.fixture
def real() -> Iterator[System]:
    """The running kernel with :data:`AT_FIRST`, for one test at a time. Its values are put back after the test."""
    if os.geteuid() != 0:
        pytest.skip(f"needs root to write {', '.join(REAL)}")
    system = System()
    with locked(Path(tempfile.gettempdir()) / "schedlab-test-sysctls.lock"):
        before = {}
        for name in REAL:
            here = system.resolve(name)
            if not isinstance(here, Available):
                pytest.skip(f"{name}: {here.why}")
            before[here.paths[0]] = here.values[0]
        try:
            for path, value in zip(before, AT_FIRST.values(), strict=True):
                path.write_text(f"{value}\n")
            yield system
        finally:
            for path, value in before.items():
                path.write_text(f"{value}\n")


def currents(system: System, names: tuple[str, ...] = REAL) -> dict[str, str | None]:
    """Return the current values, by name."""
    return {name: getattr(system.resolve(name), "current", None) for name in names}


def hows(outcomes: Sequence[Outcome]) -> list[str]:
    """Return what happened, in alphabetical order."""
    return sorted(outcome.how for outcome in outcomes)


def file_of(system: System, name: str) -> Path:
    """Return the first file of a tunable."""
    here = system.resolve(name)
    assert isinstance(here, Available), here
    return here.paths[0]

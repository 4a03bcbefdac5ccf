"""Compare the simulator with the kernel of this machine: the same rt-app file on kernel and simulator, with equal
numbers of CPUs."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benches.oracle.__main__ import Disturbed, undisturbed
from benches.oracle.compare import Row, rows
from benches.oracle.disturbance import OTHERS, SPEED, Machine, disturbance, others
from benches.oracle.rt_app import in_loops, unknown_events
from benches.oracle.trials import NAMES, SCHEDLOAD, Rates, run_schedload, simulate, write_copy, write_machine

SECONDS = 2
FEWEST, ENOUGH, TRIES = 3, 4, 8
"""Fewest undisturbed trials for a comparison, number of trials after which the test stops, and most trials."""

# The bench shows the placement of unpinned tasks on an overloaded machine ("placement"), which has no limits here: the
# model balances by sums of weights, the kernel by averages over time.
JUDGED = ("weights", "periodic", "handoff", "semaphores", "mixed")


def _eevdf() -> str | None:
    """Return why this machine cannot be compared with the kernel model, or None."""
    if sys.platform != "linux":
        return "no Linux"
    major, minor = map(int, platform.release().split(".")[:2])
    if (major, minor) < (6, 12):
        return f"Linux {platform.release()} is older than the model linux-6.12"
    if len(os.sched_getaffinity(0)) < 2:
        return "the files need CPUs 0 and 1"
    return None


@pytest.mark.verify
@pytest.mark.parametrize("name", JUDGED)
def test_shares_switches_and_wakeups_agree_with_the_real_kernel(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if why := _eevdf():
        pytest.skip(f"{request.node.name}: {why}")
    assert SCHEDLOAD.exists(), "make build"
    file = write_copy(name, SECONDS, tmp_path)
    simulated = [simulate(file, write_machine(tmp_path), seed) for seed in range(3)]
    real: list[Rates] = []
    disturbed: list[str | None] = []
    # Stop when too few trials remain to reach FEWEST.
    while len(real) < ENOUGH and len(real) + len(disturbed) < TRIES and len(disturbed) <= TRIES - FEWEST:
        trial = run_schedload(file)
        if trial.disturbed is None:
            real.append(trial)
        else:
            disturbed.append(trial.disturbed)
    if len(real) < FEWEST:
        undisturbed = f"{len(real)} of {len(real) + len(disturbed)} trials were undisturbed"
        pytest.skip(f"{request.node.name}: {undisturbed}: {disturbed[-1]}")
    figures = [row for row in rows(real, simulated) if row.limit is not None]
    exceeding = [row for row in figures if row.exceeds_limit(len(JUDGED) * len(figures))]
    assert not exceeding, "\n".join(f"{row.figure}: {row.real} real, {row.simulated} simulated" for row in exceeding)


def test_files_with_events_that_rt_app_does_not_know_are_recognised(tmp_path: Path) -> None:
    # Debian's rt-app 1.0 ignores semaphores without a message, so threads that should wait for each other run freely.
    old, new = tmp_path / "old", tmp_path / "new"
    events = b"\0lock\0unlock\0wait\0signal\0sync\0sleep\0run\0timer\0"
    old.write_bytes(b"\x7fELF" + events)
    new.write_bytes(b"\x7fELF" + events + b"sem_post\0sem_wait\0")
    assert unknown_events("semaphores", old) == ["sem_post", "sem_wait"]
    assert all(not unknown_events(name, old) for name in NAMES if name != "semaphores")
    assert all(not unknown_events(name, new) for name in NAMES)


def test_run_times_of_a_file_are_converted_to_loops_of_rt_app() -> None:
    task = {"cpus": [0], "run": 1000, "run1": 200, "runtime": 500, "sleep": 300}
    # A loop takes 29.4 ns. With a calibration of 29 ns rt-app would compute 1.4 % too long.
    assert in_loops(task, 29.4) == task | {"run": 34_014, "run1": 6_803}


def test_a_deviation_is_significant_for_consistent_runs_and_not_for_scattered_runs() -> None:
    assert Row("share", (0.50, 0.501, 0.499), (0.52,), 0.03).exceeds_limit(1)
    assert not Row("share", (0.50, 0.501, 0.499), (0.52,), 0.03).exceeds_limit(30)
    assert Row("share", (0.50, 0.501, 0.499), (0.55,), 0.03).exceeds_limit(30)
    assert not Row("share", (0.50, 0.52, 0.48), (0.52,), 0.03).exceeds_limit(1)
    assert not Row("share", (0.50, 0.501, 0.499), (0.51,), 0.03).exceeds_limit(1)
    assert not Row("wakeups/s", (10.0, 10.1, 9.9), (20.0,), None).exceeds_limit(1)


def test_a_trial_with_other_load_or_a_changed_cpu_speed_is_disturbed() -> None:
    assert disturbance(OTHERS, 1000, 1000 * (1 + 0.99 * SPEED)) is None
    assert "other processes" in (disturbance(OTHERS + 0.001, 1000, 1000) or "")
    assert "speed" in (disturbance(0, 1000, 979) or "")


def test_other_load_is_the_cpu_time_of_other_processes_and_stolen_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    before = Machine({(1, 0): 5.0, (7, 3): 1.0, (8, 3): 4.0}, stolen=1, clock=0)
    # Two CPUs for 10 s: an old process used 0.5 s, a new process 0.3 s, and a process has ended. Two ticks of 10 ms are
    # tolerated.
    assert others(before, Machine({(1, 0): 5.0, (7, 3): 1.5, (9, 5): 0.3}, 1, 10)) == pytest.approx(0.78 / 20)
    # A process with the same number and a later start is a different process.
    assert others(before, Machine({(1, 0): 5.0, (7, 4): 0.1}, 1, 10)) == pytest.approx(0.08 / 20)
    assert others(before, Machine({(1, 0): 5.0}, 3, 10)) == pytest.approx(1.98 / 20)
    assert others(before, Machine(before.processes, 1, 10)) == 0


@pytest.mark.slow
def test_other_load_includes_other_processes_and_excludes_the_trial() -> None:
    burn = [sys.executable, "-c", "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"]
    before = Machine.now()
    subprocess.run(burn, check=True)
    now = Machine.now()
    other = subprocess.Popen([*burn[:2], burn[2].replace("0.5", "60")])
    try:
        time.sleep(1)
        after = Machine.now()
    finally:
        other.kill()
        other.wait()
    assert other.pid in {pid for pid, _ in after.processes}
    assert others(now, after) > 0
    assert os.getpid() not in {pid for pid, _ in now.processes} | {pid for pid, _ in before.processes}


def test_a_disturbed_trial_is_repeated_and_never_judged() -> None:
    good = Rates({"t": 1.0}, 1, 1, 1, 1)
    bad = Rates({"t": 0.5}, 1, 1, 1, 1, disturbed="noise")
    script = iter([bad, bad, good])
    assert undisturbed(lambda: next(script), 3) == (good, 2)
    script = iter([bad, bad, bad])
    with pytest.raises(Disturbed, match="noise"):
        undisturbed(lambda: next(script), 3)


def test_the_limits_are_3_and_15_percent() -> None:
    assert Row("share", (0.5,), (0.5149,), 0.03).within
    assert not Row("share", (0.5,), (0.5151,), 0.03).within
    assert not Row("share", (0.5,), (0.4849,), 0.03).within
    real = Rates({"a": 0.5, "b": 0.5}, 1.0, 1000, 2000, 2)
    by_figure = {row.figure: row for row in rows([real], [Rates({"a": 0.52, "b": 0.48}, 1.0, 40, 1800, 2)])}
    assert [figure for figure, row in by_figure.items() if not row.within] == ["share of a", "share of b"]
    assert by_figure["wakeups/s"].limit is None, "80 wake-ups are too few for a limit"

"""Conditions of a trial: steal, other processes' time, load, frequency."""

from __future__ import annotations

import shutil
from pathlib import Path

from schedlab.observe.conditions import CpuTime, Snapshot, Watch, between
from schedlab.observe.fingerprint import stable_hash, take


def snapshot(busy: float, steal: float, *frequencies: int) -> Snapshot:
    return Snapshot(CpuTime(busy, steal), 0.5, 1, frequencies, "tsc")


def test_steal_and_other_processes_are_shares_of_the_time_of_all_cpus() -> None:
    result = between(snapshot(100, 10), snapshot(103, 10.5), [], elapsed=2.0, trial_cpu=2.5, cpus=2)
    assert result.steal_percent == 12.5
    assert result.other_percent == 12.5
    assert result.mhz_min is None


def test_frequencies_are_reported_where_the_kernel_has_them() -> None:
    result = between(snapshot(0, 0, 1_200_000), snapshot(0, 0, 3_100_000), [3_400_000], 1.0, 0.0, 1)
    assert (result.mhz_min, result.mhz_max) == (1200, 3400)


def test_a_tree_with_cpufreq_is_read(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  100 0 50 1000 0 0 5 20 0 0\ncpu0 1 2 3\n")
    (tmp_path / "proc/loadavg").write_text("1.50 0.20 0.10 3/200 999\n")
    policy = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq"
    policy.mkdir(parents=True)
    (policy / "scaling_cur_freq").write_text("2500000\n")
    snapshot_read = Watch(tmp_path).snapshot()
    assert (snapshot_read.cpu.steal, snapshot_read.load, snapshot_read.running, snapshot_read.frequencies) == (
        0.2,
        1.5,
        3,
        (2_500_000,),
    )
    assert snapshot_read.clocksource == "unknown"


def test_the_fingerprint_of_the_real_machine_has_a_stable_hash() -> None:
    first, second = take(), take()
    assert stable_hash(first) == stable_hash(second)
    assert first["topology"]["cpus"] >= 1
    assert first["kernel"]["release"]


def test_steal_and_uptime_do_not_change_the_hash_but_the_command_line_does(tmp_path: Path) -> None:
    for part in ("proc/cpuinfo", "proc/meminfo", "proc/stat", "proc/cmdline", "proc/sys/kernel/osrelease"):
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path("/") / part, tmp_path / part)
    before = stable_hash(take(tmp_path))
    (tmp_path / "proc/stat").write_text("cpu  100 0 50 1000 0 0 5 99999 0 0\n")
    (tmp_path / "proc/uptime").write_text("12345.6 1.0\n")
    assert stable_hash(take(tmp_path)) == before
    (tmp_path / "proc/cmdline").write_text("root=/dev/vda nohz_full=1\n")
    assert stable_hash(take(tmp_path)) != before

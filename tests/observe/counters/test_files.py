"""Counters from files that replace /proc: which counters are returned, left out, and noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.observe.counters.collection import Counters
from tests.observe.counters.trees import STAT, change, write

INTERRUPTS = """\
           CPU0       CPU2
 24:         {a}          0  IO-APIC   5-edge      disk
 25:          0         {a}  IO-APIC   6-edge      net
LOC:        100        200   Local timer interrupts
RES:         10        {b}   Rescheduling interrupts
ERR:          {a}
"""
ARM = """\
           CPU0       CPU1
 11:          {a}          {a}     GICv3  27 Level     arch_timer
IPI0:         1        {a}       Rescheduling interrupts
IPI1:         1        {a}       Function call interrupts
IPI7:         1        {a}       CPU stop interrupts
"""
SOFTIRQS = """\
                    CPU0       CPU1
          HI:          0          0
       SCHED:        {a}          7
"""
PRESSURE = "some avg10=0.43 avg60=0.65 avg300=0.94 total={a}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={b}\n"


def test_proc_stat_gives_switches_forks_interrupts_softirqs_and_steal(tmp_path: Path) -> None:
    before = STAT.format(steal=1, intr=10, ctxt=100, forks=1000, softirq=5)
    after = STAT.format(steal=3, intr=11, ctxt=103, forks=1005, softirq=12)
    counters, _ = change(tmp_path, {"proc/stat": before}, {"proc/stat": after})
    expected = {"context-switches": 3, "forks": 5, "interrupts": 1, "softirqs": 7, "steal_ms": 20}
    assert counters == expected


def test_interrupts_are_counted_by_kind_and_cpu_and_devices_are_summed(tmp_path: Path) -> None:
    states = [{"proc/interrupts": INTERRUPTS.format(a=a, b=b)} for a, b in ((5, 20), (8, 61))]
    counters, _ = change(tmp_path, *states)
    assert counters == {
        "interrupts.device": 6, "interrupts.device.cpu0": 3, "interrupts.device.cpu2": 3,
        "interrupts.LOC": 0, "interrupts.LOC.cpu0": 0, "interrupts.LOC.cpu2": 0,
        "interrupts.RES": 41, "interrupts.RES.cpu0": 0, "interrupts.RES.cpu2": 41,
        "interrupts.ERR": 3,
    }  # fmt: skip


def test_numbered_interprocessor_interrupts_of_arm_get_the_names_of_x86(tmp_path: Path) -> None:
    counters, _ = change(tmp_path, *({"proc/interrupts": ARM.format(a=a)} for a in (3, 7)))
    totals = {name: value for name, value in counters.items() if ".cpu" not in name}
    expected = {"interrupts.device": 8, "interrupts.RES": 4, "interrupts.CAL": 4, "interrupts.IPI7": 4}
    assert totals == expected


def test_a_wrapped_interrupt_counter_is_left_out_and_the_other_cpu_s_stays(tmp_path: Path) -> None:
    states = [{"proc/interrupts": INTERRUPTS.format(a=5, b=b)} for b in (4294967290, 3)]
    counters, notes = change(tmp_path, *states)
    assert "interrupts.RES" not in counters
    assert "interrupts.RES.cpu2" not in counters
    assert counters["interrupts.RES.cpu0"] == 0
    assert "interrupts.RES went backwards during a trial, and are omitted for this trial" in notes


def test_softirqs_are_counted_by_kind_and_the_scheduler_s_by_cpu(tmp_path: Path) -> None:
    counters, _ = change(tmp_path, *({"proc/softirqs": SOFTIRQS.format(a=a)} for a in (1, 9)))
    expected = {"softirqs.HI": 0, "softirqs.SCHED": 8, "softirqs.SCHED.cpu0": 8, "softirqs.SCHED.cpu1": 0}
    assert counters == expected


def test_pressure_is_in_microseconds_without_the_undefined_full_pressure_of_cpus(tmp_path: Path) -> None:
    states = [
        {f"proc/pressure/{name}": PRESSURE.format(a=a, b=b) for name in ("cpu", "memory", "io")}
        for a, b in ((10, 0), (17, 2))
    ]
    counters, _ = change(tmp_path, *states)
    assert counters == {
        "psi.cpu.some_us": 7, "psi.memory.some_us": 7, "psi.memory.full_us": 2, "psi.io.some_us": 7,
        "psi.io.full_us": 2,
    }  # fmt: skip


VMSTAT = (
    "nr_free_pages 5\nnuma_hit {a}\nnuma_hint_faults {a}\nnuma_pages_migrated 0\npgfault {a}\npgmigrate_success 1\n"
)


def test_vmstat_gives_events_not_gauges(tmp_path: Path) -> None:
    counters, _ = change(tmp_path, *({"proc/vmstat": VMSTAT.format(a=a)} for a in (10, 14)))
    assert counters == {
        "vmstat.numa_hit": 4, "vmstat.numa_hint_faults": 4, "vmstat.numa_pages_migrated": 0, "vmstat.pgfault": 4,
        "vmstat.pgmigrate_success": 0,
    }  # fmt: skip


def test_numa_allocation_counters_that_are_off_are_missing_not_zero(tmp_path: Path) -> None:
    before = {"proc/vmstat": VMSTAT.format(a=10), "proc/sys/vm/numa_stat": "0\n"}
    counters, notes = change(tmp_path, before, {"proc/vmstat": VMSTAT.format(a=14)})
    assert "vmstat.numa_hit" not in counters
    assert counters["vmstat.numa_hint_faults"] == 4
    assert any("vm.numa_stat=1" in note for note in notes)


def test_a_kernel_without_numa_balancing_is_noted(tmp_path: Path) -> None:
    _, notes = change(tmp_path, {"proc/vmstat": "pgfault 1\n"}, {})
    assert any("CONFIG_NUMA_BALANCING" in note for note in notes)


def test_every_missing_source_is_noted_with_a_remedy(tmp_path: Path) -> None:
    with Counters.open(tmp_path) as counters:
        assert counters.delta(counters.snapshot(), counters.snapshot()) == {}
        notes = "\n".join(counters.notes)
    for part in (
        "perf",
        "/proc/stat",
        "CONFIG_SCHEDSTATS",
        "/proc/vmstat",
        "/proc/interrupts",
        "/proc/softirqs",
        "psi=1",
    ):
        assert part in notes


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("proc/interrupts", "no table\n"),
        ("proc/interrupts", "  CPU0 CPU1\nLOC: x y\n"),
        ("proc/interrupts", "  CPU0 CPU1\n 1: 3 4 disk\n 2: 5\n"),
        ("proc/softirqs", ""),
        ("proc/stat", "ctxt\n"),
        ("proc/vmstat", "pgfault many\n"),
        ("proc/pressure/cpu", "some avg10=0.43\n"),
    ],
)
def test_a_file_of_another_layout_is_noted_by_name(tmp_path: Path, name: str, text: str) -> None:
    counters, notes = change(tmp_path, {name: text}, {})
    assert counters == {}
    assert any(note.startswith(f"/{name.removesuffix('/cpu')} has an unknown format") for note in notes), notes


def test_a_file_that_goes_away_during_a_trial_is_noted(tmp_path: Path) -> None:
    write(tmp_path, {"proc/softirqs": SOFTIRQS.format(a=1)})
    with Counters.open(tmp_path) as counters:
        before = counters.snapshot()
        (tmp_path / "proc/softirqs").unlink()
        assert counters.delta(before, counters.snapshot()) == {}
        assert any(note.startswith("/proc/softirqs could not be read") for note in counters.notes)


def test_a_note_on_several_trials_is_made_once(tmp_path: Path) -> None:
    write(tmp_path, {"proc/interrupts": INTERRUPTS.format(a=5, b=9)})
    with Counters.open(tmp_path) as counters:
        high = counters.snapshot()
        write(tmp_path, {"proc/interrupts": INTERRUPTS.format(a=5, b=1)})
        low = counters.snapshot()
        before = len(counters.notes)
        for _ in range(3):
            counters.delta(high, low)
        assert len(counters.notes) == before + 1

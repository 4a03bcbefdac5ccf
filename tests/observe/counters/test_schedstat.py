"""Counters of /proc/schedstat for each version, and with schedstats off, not compiled in, or of an unknown version.

In the fixtures each field of CPU 0 rises by its number in the kernel's documentation (sched-stats.rst counts from 1 on
each line), and each field of CPU 1 by twice its number, so that a sum is 3 × the number. Fields of domain 1 rise ten
times as much.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.observe.counters.trees import change

HERE = Path(__file__).parent
FILE, SWITCH = "proc/schedstat", "proc/sys/kernel/sched_schedstats"


def fixture(version: int, when: str) -> str:
    return (HERE / f"schedstat-{version}-{when}.txt").read_text()


def rises(root: Path, version: int, on: str = "1\n") -> tuple[dict[str, float], list[str]]:
    before = {FILE: fixture(version, "before"), SWITCH: on}
    values, notes = change(root, before, {FILE: fixture(version, "after")})
    return {
        name.removeprefix("schedstat."): value for name, value in values.items() if name.startswith("schedstat")
    }, notes


NUMBERS = {
    15: {
        "domain0.idle.lb_count": 1,
        "domain0.idle.lb_imbalance": 4,
        "domain0.idle.lb_nobusyg": 8,
        "domain0.busy.lb_count": 9,
        "domain0.newidle.lb_count": 17,
        "domain0.newidle.lb_gained": 21,
        "domain0.alb_count": 25,
        "domain0.alb_pushed": 27,
        "domain0.ttwu_wake_remote": 34,
        "domain0.ttwu_move_balance": 36,
    },
    16: {
        "domain0.busy.lb_count": 1,
        "domain0.idle.lb_count": 9,
        "domain0.idle.lb_failed": 11,
        "domain0.newidle.lb_count": 17,
        "domain1.newidle.lb_count": 170,
        "domain0.ttwu_move_affine": 35,
    },
    17: {
        "domain0.busy.lb_count": 1,
        "domain0.busy.lb_imbalance_load": 4,
        "domain0.busy.lb_imbalance_misfit": 7,
        "domain0.busy.lb_gained": 8,
        "domain0.idle.lb_count": 12,
        "domain0.newidle.lb_count": 23,
        "domain1.newidle.lb_nobusyg": 330,
        "domain0.alb_count": 34,
        "domain0.ttwu_wake_remote": 43,
        "domain0.ttwu_move_balance": 45,
    },
}


@pytest.mark.parametrize("version", NUMBERS)
def test_a_domain_s_fields_are_in_the_documented_order(tmp_path: Path, version: int) -> None:
    counters, _ = rises(tmp_path, version)
    assert {name: counters[name] / 3 for name in NUMBERS[version]} == NUMBERS[version]


@pytest.mark.parametrize("version", NUMBERS)
def test_a_cpu_s_fields_are_summed_over_the_cpus(tmp_path: Path, version: int) -> None:
    counters, _ = rises(tmp_path, version)
    of_cpus = {name: value / 3 for name, value in counters.items() if not name.startswith("domain")}
    assert of_cpus == {
        "yld_count": 1, "sched_count": 3, "sched_goidle": 4, "ttwu_count": 5, "ttwu_local": 6, "rq_cpu_time_ns": 7,
        "run_delay_ns": 8, "pcount": 9,
    }  # fmt: skip


def test_imbalance_is_split_by_kind_since_version_17(tmp_path: Path) -> None:
    assert "domain0.busy.lb_imbalance" in rises(tmp_path, 16)[0]
    counters, _ = rises(tmp_path / "17", 17)
    assert "domain0.busy.lb_imbalance" not in counters
    assert "domain0.busy.lb_imbalance_task" in counters


def test_fields_that_the_kernel_does_not_count_are_left_out(tmp_path: Path) -> None:
    counters, _ = rises(tmp_path, 17)
    assert not any("sbe_" in name or "sbf_" in name for name in counters)
    assert len(counters) == 8 + 2 * (33 + 6)


def test_with_schedstats_off_only_always_counted_fields_are_returned(tmp_path: Path) -> None:
    counters, notes = rises(tmp_path, 17, on="0\n")
    assert counters == {"rq_cpu_time_ns": 21, "run_delay_ns": 24, "pcount": 27}
    assert any(note.startswith("schedstats are off: `kernel.sched_schedstats=1` turns them on") for note in notes), (
        notes
    )


def test_with_schedstats_on_there_is_no_note(tmp_path: Path) -> None:
    assert not [note for note in rises(tmp_path, 17)[1] if "schedstat" in note]


def test_a_kernel_without_the_switch_always_counts(tmp_path: Path) -> None:
    counters, _ = change(tmp_path, {FILE: fixture(15, "before")}, {FILE: fixture(15, "after")})
    assert counters["schedstat.yld_count"] == 3


def test_a_kernel_without_schedstats_is_noted(tmp_path: Path) -> None:
    counters, notes = change(tmp_path, {}, {})
    assert not [name for name in counters if name.startswith("schedstat")]
    assert any("CONFIG_SCHEDSTATS" in note for note in notes)


def test_an_unknown_version_is_refused_by_its_number(tmp_path: Path) -> None:
    text = fixture(17, "before").replace("version 17", "version 99")
    counters, notes = change(tmp_path, {FILE: text}, {FILE: text})
    assert not [name for name in counters if name.startswith("schedstat")]
    assert any("version is 99" in note and "15, 16, 17" in note for note in notes), notes


def test_a_line_that_does_not_fit_its_version_is_refused_by_its_label(tmp_path: Path) -> None:
    text = fixture(15, "before").replace("version 15", "version 17")
    _, notes = change(tmp_path, {FILE: text}, {FILE: text})
    assert any("line domain0" in note for note in notes), notes


def test_a_file_with_a_changed_layout_loses_its_counters_but_not_the_trial(tmp_path: Path) -> None:
    counters, notes = change(tmp_path, {FILE: fixture(17, "before")}, {FILE: "garbage\n"})
    assert not [name for name in counters if name.startswith("schedstat")]
    assert any("'garbage'" in note for note in notes), notes


def test_a_switch_between_the_snapshots_leaves_only_always_counted_fields(tmp_path: Path) -> None:
    before = {FILE: fixture(17, "before"), SWITCH: "0\n"}
    counters, notes = change(tmp_path, before, {FILE: fixture(17, "after"), SWITCH: "1\n"})
    assert sorted(name for name in counters if name.startswith("schedstat")) == [
        "schedstat.pcount",
        "schedstat.rq_cpu_time_ns",
        "schedstat.run_delay_ns",
    ]
    assert any("switched on or off during a trial" in note for note in notes), notes


def test_a_cpu_that_went_offline_leaves_no_partial_counts(tmp_path: Path) -> None:
    after = fixture(17, "after")
    counters, notes = change(tmp_path, {FILE: fixture(17, "before")}, {FILE: after[: after.index("cpu1")]})
    assert not [name for name in counters if name.startswith("schedstat")]
    assert any("lost or gained a CPU" in note for note in notes), notes


def test_a_wrapped_32_bit_counter_is_left_out_with_a_note(tmp_path: Path) -> None:
    before = fixture(17, "before").replace("cpu0 1000", "cpu0 4294967290")
    counters, notes = change(tmp_path, {FILE: before}, {FILE: fixture(17, "after")})
    assert "schedstat.yld_count" not in counters
    assert counters["schedstat.sched_count"] == 9
    assert "schedstat.yld_count went backwards during a trial, and are omitted for this trial" in notes

"""Histograms of a guest's kernel: migrations between nodes, and functions of kernel workers by CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.observe.counters import histograms

MIGRATE = """# event histogram
#
# trigger info: hist:keys=orig_cpu,dest_cpu:vals=hitcount:sort=hitcount:size=4096 [active]
#

{ orig_cpu:          0, dest_cpu:          1 } hitcount:          5
{ orig_cpu:          1, dest_cpu:          0 } hitcount:          7

Totals:
    Hits: 12
    Entries: 2
    Dropped: 0
"""
WORKS = """# event histogram
#
# trigger info: hist:keys=function.sym,common_cpu:vals=hitcount:sort=hitcount:size=4096 [active]
#

{ function: [ffffffff9a1b2c30] vmstat_update                      , common_cpu:          1 } hitcount:          4
{ function: [ffffffff9a1b2000] kfree_rcu_monitor                      , common_cpu:          0 } hitcount:          2

Totals:
    Hits: 6
    Entries: 2
    Dropped: 0
"""


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    """A tree of files with two nodes of one CPU each."""
    for cpu in (0, 1):
        node = tmp_path / f"sys/devices/system/node/node{cpu}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(f"{cpu}\n")
    for event, text in (("sched/sched_migrate_task", MIGRATE), ("workqueue/workqueue_execute_start", WORKS)):
        folder = tmp_path / histograms.EVENTS / event
        folder.mkdir(parents=True)
        (folder / "hist").write_text(text)
    return tmp_path


def read(root: Path) -> dict[str, dict[str, int]]:
    source = histograms.probe(root).source
    assert source is not None
    assert source.by_cpu == {"works", "works.vmstat_update"}
    return {name: dict(parts) for name, parts in source.parse(source.read()).items()}


def test_works_are_counted_by_cpu_including_zeros(guest: Path) -> None:
    assert read(guest) == {
        "cpu-migrations": {"": 12},
        "node-migrations": {"": 12},
        "works": {"0": 2, "1": 4},
        "works.vmstat_update": {"0": 0, "1": 4},
    }


def test_a_kernel_without_nodes_has_works_of_the_whole_machine(guest: Path) -> None:
    for cpulist in guest.glob("sys/devices/system/node/*/cpulist"):
        cpulist.unlink()
    assert read(guest) == {"cpu-migrations": {"": 12}, "works": {"": 6}, "works.vmstat_update": {"": 4}}


def test_a_histogram_that_dropped_events_is_refused(guest: Path) -> None:
    (guest / histograms.EVENTS / "workqueue/workqueue_execute_start/hist").write_text(WORKS.replace("ped: 0", "ped: 3"))
    probed = histograms.probe(guest)
    assert probed.source is None
    assert "workqueue/workqueue_execute_start dropped 3 events" in probed.notes[0]

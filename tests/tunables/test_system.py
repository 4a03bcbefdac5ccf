"""`System.resolve`: tunables that are available, absent, refused, read-only or set at boot only."""

from __future__ import annotations

import errno
import gzip
import os
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab.tunables import (
    Absent,
    Available,
    BadValue,
    BootOnly,
    ReadOnly,
    Refused,
    State,
    System,
    catalogue,
    kernel_files,
    lookup,
    mounts,
    names_of,
)
from schedlab.tunables.kernel_files import PlainFiles
from schedlab.tunables.setting import allowed, check_kernel
from schedlab.tunables.terms import FIRST, KernelVersion, PlaceKind
from tests.tunables.fake_tree import build_fake_tree, default_in

KERNELS = ("4.4.302", "4.19.1", "5.12.0", "5.14.0-rc1", "6.6.9", "6.12.1", "6.18.44-generic")


class LockedFiles(PlainFiles):
    """Files below one folder exist and cannot be opened."""

    def __init__(self, below: str, error: int = errno.EPERM, *, readable: bool = False) -> None:
        self.below, self.error, self.readable = below, error, readable

    def _refuse(self, path: Path) -> None:
        if self.below in str(path):
            raise OSError(self.error, os.strerror(self.error), str(path))

    def read(self, path: Path) -> str:
        if not self.readable:
            self._refuse(path)
        return super().read(path)

    def check_writable(self, path: Path) -> None:
        self._refuse(path)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_has_exactly_the_tunables_of_the_catalogue(kernel: str, tmp_path: Path):
    system = build_fake_tree(tmp_path, kernel=kernel)
    for tunable in catalogue().values():
        here = system.resolve(tunable)
        run_time = [p for p in tunable.places_in(system.version) if p.kind is not PlaceKind.BOOT]
        if run_time:
            assert isinstance(here, Available), (tunable.name, here)
            assert here.current == (default_in(tunable, system.version) or here.current)
        elif tunable.places_in(system.version):
            assert isinstance(here, BootOnly), (tunable.name, here)
        else:
            assert isinstance(here, Absent), (tunable.name, here)


def test_a_removed_tunable_names_its_kernels_and_its_successor(tmp_path: Path):
    here = build_fake_tree(tmp_path, kernel="6.6.0").resolve("sched.latency_ns")
    assert isinstance(here, Absent)
    assert here.why == "kernel 6.6 does not have this tunable; kernels until 6.5 have it; see sched.base_slice_ns"
    here = build_fake_tree(tmp_path / "old", kernel="5.4.0").resolve("sched.base_slice_ns")
    assert here.why == "kernel 5.4 does not have this tunable; kernels since 6.6 have it"


def test_a_missing_build_option_is_named(tmp_path: Path):
    here = build_fake_tree(tmp_path, without_config=["CONFIG_SCHEDSTATS"]).resolve("kernel.sched_schedstats")
    assert isinstance(here, Absent)
    assert here.config == "CONFIG_SCHEDSTATS"
    assert here.why == "kernel 6.18 is built without CONFIG_SCHEDSTATS"
    (tmp_path / "proc/config.gz").unlink()
    assert "perhaps built without CONFIG_SCHEDSTATS" in System(root=tmp_path).resolve("kernel.sched_schedstats").why


def test_the_kernel_configuration_is_also_read_from_boot(tmp_path: Path):
    build_fake_tree(tmp_path, kernel="6.8.0-31-generic", missing=["kernel.sched_schedstats"])
    (tmp_path / "proc/config.gz").unlink()
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/config-6.8.0-31-generic").write_text('# CONFIG_SCHEDSTATS is not set\nCONFIG_LOCALVERSION=""\n')
    assert System(root=tmp_path).resolve("kernel.sched_schedstats").why.endswith("without CONFIG_SCHEDSTATS")


@pytest.mark.parametrize("content", [gzip.compress(b"CONFIG_SMP=y\n" + bytes(2000), mtime=0), b"damaged"])
def test_a_configuration_that_is_damaged_or_has_any_unpacked_size_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
):
    monkeypatch.setattr(kernel_files, "_MOST", 1000)
    for folder in ("proc", "boot"):
        (tmp_path / folder).mkdir()
    (tmp_path / "proc/config.gz").write_bytes(content)
    assert kernel_files.read_config(tmp_path, "6.12") is None
    (tmp_path / "boot/config-6.12").write_text("CONFIG_NUMA=y\n")
    assert kernel_files.read_config(tmp_path, "6.12") == {"CONFIG_NUMA": "y"}
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_SMP=y\n"))
    assert kernel_files.read_config(tmp_path, "6.12") == {"CONFIG_SMP": "y"}


def test_an_existing_file_takes_precedence_over_the_version(tmp_path: Path):
    """Distributions backport features to older kernels."""
    system = build_fake_tree(tmp_path, kernel="6.18.0")
    features = tmp_path / "sys/kernel/debug/sched/features"
    assert isinstance(system.resolve("sched.features.NI_RANDOM"), Absent)
    features.write_text(features.read_text().strip() + " NI_RANDOM \n")
    here = system.resolve("sched.features.NI_RANDOM")
    assert isinstance(here, Available)
    assert here.current == "NI_RANDOM"


def test_a_locked_down_file_differs_from_an_absent_file(tmp_path: Path):
    system = replace(build_fake_tree(tmp_path), files=LockedFiles("/debug/sched/"))
    here = system.resolve("sched.migration_cost_ns")
    assert isinstance(here, Refused)
    assert here.errno == errno.EPERM
    assert "kernel lockdown or a locked-down debugfs" in here.reason
    assert "another machine" in here.elsewhere
    assert "virtual machine" in here.elsewhere
    assert str(here.path) in here.why
    assert "EPERM" in here.why
    assert isinstance(system.resolve("sched.latency_ns"), Absent)
    assert isinstance(system.resolve("sched.features.RUN_TO_PARITY"), Refused)
    assert isinstance(system.resolve("sched.features.GENTLE_FAIR_SLEEPERS"), Absent)
    assert isinstance(system.resolve("vm.stat_interval"), Available)


def test_the_lockdown_state_of_the_kernel_is_reported(tmp_path: Path):
    build_fake_tree(tmp_path)
    (tmp_path / "sys/kernel/security").mkdir()
    (tmp_path / "sys/kernel/security/lockdown").write_text("none [integrity] confidentiality\n")
    here = System(tmp_path, uid=0, files=LockedFiles("/debug/sched/")).resolve("sched.nr_migrate")
    assert isinstance(here, Refused)
    assert "kernel lockdown is at integrity" in here.reason


def test_an_ordinary_user_is_advised_to_run_as_root(tmp_path: Path):
    build_fake_tree(tmp_path)
    here = System(tmp_path, uid=1000, files=LockedFiles("/debug/", errno.EACCES)).resolve("sched.nr_migrate")
    assert isinstance(here, Refused)
    assert here.reason == "needs root"
    files = LockedFiles("/proc/sys/vm", errno.EACCES, readable=True)
    here = System(tmp_path, uid=1000, files=files).resolve("vm.stat_interval")
    assert isinstance(here, ReadOnly)
    assert here.current == "1"
    assert here.reason == "needs root"


def test_a_file_that_cannot_be_written_is_read_only(tmp_path: Path):
    build_fake_tree(tmp_path)
    files = LockedFiles("/proc/sys", errno.EROFS, readable=True)
    here = System(tmp_path, uid=0, files=files).resolve("vm.stat_interval")
    assert isinstance(here, ReadOnly)
    assert "can be read (now 1), not written: the file system is mounted read-only, as in a container" in here.why


def test_an_unsupported_choice_is_read_only(tmp_path: Path):
    system = build_fake_tree(tmp_path)
    (tmp_path / "sys/devices/system/cpu/smt/control").write_text("notsupported\n")
    here = system.resolve("cpu.smt")
    assert isinstance(here, ReadOnly)
    assert here.current == "notsupported"


def test_a_tree_without_debugfs_has_unmounted_tunables(tmp_path: Path):
    build_fake_tree(tmp_path, kernel="5.4.0")
    (tmp_path / "sys/kernel/debug/sched_features").unlink()
    (tmp_path / "sys/kernel/debug/sched_debug").unlink()
    (tmp_path / "sys/kernel/debug").rmdir()
    here = System(tmp_path, uid=0).resolve("HRTICK")
    assert isinstance(here, Refused)
    assert here.unmounted
    assert "this tree has no sys/kernel/debug: debugfs is not mounted" in here.why


def test_a_boot_parameter_shows_its_value_on_the_command_line(tmp_path: Path):
    system = build_fake_tree(tmp_path, command_line="quiet isolcpus=1 nohz_full=2 isolcpus=2-3 threadirqs")
    here = system.resolve("boot.isolcpus")
    assert isinstance(here, BootOnly)
    assert here.current == "2-3"
    assert system.resolve("boot.threadirqs") == BootOnly("threadirqs", "set")
    assert system.resolve("boot.skew_tick") == BootOnly("skew_tick=", None)
    assert "kernel's command line" in here.why


def test_a_per_cpu_tunable_has_a_path_for_each_cpu_and_may_be_mixed(tmp_path: Path):
    system = build_fake_tree(tmp_path, cpus=12, domains=("SMT", "MC", "NUMA"))
    here = system.resolve("sched.domain.imbalance_pct")
    assert isinstance(here, Available)
    assert len(here.paths) == 36
    assert [p.parent.parent.name for p in here.paths[::3]] == [f"cpu{i}" for i in range(12)]
    assert here.current == "117"
    here.paths[5].write_text("125\n")
    assert getattr(system.resolve("sched.domain.imbalance_pct"), "current", None) == "mixed"
    level = system.resolve("sched.domain2.imbalance_pct")
    assert isinstance(level, Available)
    assert len(level.paths) == 12


def test_hidden_domains_name_the_tunable_that_shows_them(tmp_path: Path):
    system = build_fake_tree(tmp_path, missing=["sched.domain.imbalance_pct"])
    assert "appears once sched.verbose is true" in system.resolve("sched.domain.imbalance_pct").why
    wanted = {"sched.domain.imbalance_pct": 110}
    assert list(system.check(wanted)) == ["sched.domain.imbalance_pct"]
    assert system.check({"sched.verbose": True, **wanted}) == {}


@pytest.mark.parametrize(
    ("lines", "source"),
    [
        ("proc /proc proc rw 0 0\nschedlab /sys/kernel/debug debugfs rw 0 0\n", "schedlab"),
        ("tmpfs /sys/kernel/debug tmpfs rw 0 0\n", None),
        ("debug /mnt/debug debugfs rw 0 0\n", None),
        ("\n/sys/kernel/debug debugfs\n", None),
    ],
)
def test_debugfs_is_mounted_if_a_debugfs_is_at_its_usual_place(
    lines: str, source: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "mounts").write_text(lines)
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "mounts")
    assert mounts.source() == source
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "missing")
    assert mounts.source() is None


@pytest.mark.parametrize(
    ("uid", "why"),
    [(0, "is not mounted (`mount -t debugfs none /sys/kernel/debug` would)"), (7, "mounting it needs root")],
)
def test_missing_debugfs_is_explained_by_the_users_rights(uid: int, why: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(System, "debugfs_root", None)
    monkeypatch.setattr(System, "version", KernelVersion.parse("6.12"))
    assert why in System(uid=uid).resolve("sched.nr_migrate").why


def test_a_choice_is_checked_against_the_kernels_of_this_choice():
    numa = lookup("kernel.numa_balancing")
    check_kernel(numa, "1", KernelVersion.parse("5.10"))
    check_kernel(numa, "2", KernelVersion.parse("5.18"))
    with pytest.raises(BadValue, match=r"is not in kernel 5.10 \(present since 5.18\)"):
        check_kernel(numa, "2", KernelVersion.parse("5.10"))


def test_a_default_without_kernels_has_the_kernels_of_its_tunable():
    tunable = lookup("sched.preempt")
    (first, *_) = tunable.defaults
    everywhere = first.model_copy(update={"since": FIRST, "until": None})
    assert tunable.kernels_of(everywhere) == tunable.range != everywhere.range
    old = first.model_copy(update={"since": FIRST, "until": KernelVersion.parse("6.1")})
    assert tunable.kernels_of(old) == old.range


def test_check_returns_unavailable_tunables_and_refuses_invalid_choices(tmp_path: Path):
    system = build_fake_tree(tmp_path, kernel="6.6.0")
    problems = system.check({"sched.latency_ns": "6ms", "vm.stat_interval": 2, "isolcpus": "1"})
    assert list(problems) == ["sched.latency_ns", "isolcpus"]
    with pytest.raises(BadValue, match="is not among this kernel's choices; allowed: none, voluntary, full"):
        system.check({"sched.preempt": "lazy"})
    old = build_fake_tree(tmp_path / "old", kernel="5.10.0")
    with pytest.raises(BadValue, match=r"not in kernel 5.10 \(present since 5.18\)"):
        old.check({"kernel.numa_balancing": 2})


def test_resolve_all_returns_the_state_of_every_tunable(tmp_path: Path):
    system = replace(build_fake_tree(tmp_path), files=LockedFiles("/debug/sched/"))
    results = system.resolve_all()
    assert list(results) == list(catalogue())
    assert results["vm.stat_interval"].state is State.SETTABLE
    assert results["vm.stat_interval"].current == "1"
    assert allowed(lookup("vm.stat_interval")).startswith("1 to 2000000 s")
    assert results["sched.nr_migrate"].state is State.REFUSED
    assert results["sched.nr_migrate"].current is None
    assert results["sched.latency_ns"].state is State.ABSENT
    assert results["boot.isolcpus"].state is State.BOOT
    assert list(system.resolve_all(["sched_nr_migrate"])) == ["sched.nr_migrate"]


def test_a_catalogue_entry_has_places_defaults_names_and_a_source():
    tunable = lookup("kernel.sched_migration_cost_ns")
    assert tunable.name == "sched.migration_cost_ns"
    assert [(place.text, str(place.range)) for place in tunable.places] == [
        ("/proc/sys/kernel/sched_migration_cost_ns", "until 5.12"),
        ("/sys/kernel/debug/sched/migration_cost_ns", "since 5.13"),
    ]
    assert tunable.special["-1"].startswith("every task is cache-hot")
    assert [(each.value, str(tunable.kernels_of(each))) for each in tunable.defaults] == [
        ("500000", "since 4.4 or earlier")
    ]
    assert "sched_migration_cost_ns" in names_of(tunable)
    assert "v5.14" in tunable.source


def test_a_debugfs_of_others_or_with_a_lock_that_cannot_be_opened_is_not_unmounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unmounted: list[int] = []
    monkeypatch.setattr(mounts, "_unmount_ours", unmounted.append)
    monkeypatch.setattr(mounts, "LOCK", tmp_path / "absent" / "debugfs.lock")
    for source in (None, "debugfs", mounts.SOURCE):
        monkeypatch.setattr(mounts, "source", lambda source=source: source)
        mounts.unmount_leftover()
    assert not unmounted
    monkeypatch.setattr(mounts, "LOCK", tmp_path / "debugfs.lock")
    mounts.unmount_leftover()
    assert len(unmounted) == 1

"""What doctor says of workloads beyond missing programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.cli.doctor import doctor, missing_requirements
from schedlab.targets.vm import initramfs, qemu, sharing
from schedlab.workloads.kernbench import source as kernel_source
from schedlab.workloads.registry import adapter


def test_missing_kernel_source_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel_source, "TARBALLS", f"{tmp_path}/*")
    (told,) = missing_requirements(adapter("kernbench"))
    assert "apt-get install linux-source" in told


def test_a_workload_that_must_be_given_something_has_no_obstacle_of_its_own() -> None:
    assert missing_requirements(adapter("command")) == []


def test_whether_this_kernel_takes_sched_ext_schedulers_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    doctor()
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("sched_ext")]
    state = Path("/sys/kernel/sched_ext/state")
    assert ("has no sched_ext" in told) is not state.exists()


def guests_can_be_booted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "program", lambda: "/usr/bin/qemu")
    monkeypatch.setattr(initramfs, "busybox", lambda: Path("/bin/busybox"))


def test_how_guests_would_be_booted_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    guests_can_be_booted(monkeypatch)
    monkeypatch.setattr(qemu, "kvm_usable", lambda: False)
    doctor()
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("guests")]
    assert "emulation" in told
    monkeypatch.setattr(initramfs, "busybox", lambda: None)
    doctor()
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("guests")]
    assert told.endswith("apt-get install busybox-static")


def test_whether_guests_can_see_this_machine_s_files_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    guests_can_be_booted(monkeypatch)
    monkeypatch.setattr(sharing, "fault", lambda: None)
    monkeypatch.setattr(sharing, "daemon", lambda: "/usr/libexec/virtiofsd")
    doctor()
    assert "host_files by /usr/libexec/virtiofsd" in capsys.readouterr().out
    monkeypatch.undo()
    guests_can_be_booted(monkeypatch)
    monkeypatch.setattr(sharing, "daemon", lambda: None)
    doctor()
    told = capsys.readouterr().out
    assert "without host_files: there is no virtiofsd: apt-get install virtiofsd" in told

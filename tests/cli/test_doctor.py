"""``schedlab doctor``: requirements of workloads and guests."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.cli.doctor import doctor, missing_requirements
from schedlab.targets.vm import host_files, initramfs, qemu
from schedlab.workloads.kernbench import source as kernel_source
from schedlab.workloads.registry import adapter


def test_missing_kernel_source_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel_source, "TARBALLS", f"{tmp_path}/*")
    (output,) = missing_requirements(adapter("kernbench"))
    assert "apt-get install linux-source" in output


def test_a_required_parameter_is_not_a_missing_requirement() -> None:
    assert missing_requirements(adapter("command")) == []


def test_doctor_reports_whether_the_kernel_supports_sched_ext(capsys: pytest.CaptureFixture[str]) -> None:
    doctor()
    (output,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("sched_ext")]
    state = Path("/sys/kernel/sched_ext/state")
    assert ("has no sched_ext" in output) is not state.exists()


def guests_can_be_booted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "program", lambda: "/usr/bin/qemu")
    monkeypatch.setattr(initramfs, "busybox", lambda: Path("/bin/busybox"))


def test_doctor_reports_how_guests_boot(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    guests_can_be_booted(monkeypatch)
    monkeypatch.setattr(qemu, "kvm_usable", lambda: False)
    doctor()
    (output,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("guests")]
    assert "emulation" in output
    monkeypatch.setattr(initramfs, "busybox", lambda: None)
    doctor()
    (output,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("guests")]
    assert output.endswith("apt-get install busybox-static")


def test_doctor_reports_whether_guests_can_read_host_files(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    guests_can_be_booted(monkeypatch)
    monkeypatch.setattr(host_files, "fault", lambda: None)
    monkeypatch.setattr(host_files, "daemon", lambda: "/usr/libexec/virtiofsd")
    doctor()
    assert "host_files by /usr/libexec/virtiofsd" in capsys.readouterr().out
    monkeypatch.undo()
    guests_can_be_booted(monkeypatch)
    monkeypatch.setattr(host_files, "daemon", lambda: None)
    doctor()
    output = capsys.readouterr().out
    assert "without host_files: there is no virtiofsd: apt-get install virtiofsd" in output

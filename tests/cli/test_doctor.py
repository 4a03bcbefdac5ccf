"""``schedlab doctor``: requirements of workloads and guests."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from schedlab.cli import quiet_doctor
from schedlab.cli.answering import AnswerFormat
from schedlab.cli.doctor import doctor
from schedlab.cli.examination import workload_checks
from schedlab.errors import SchedlabError
from schedlab.execution.noise import stored
from schedlab.findings.quiet import gain_ns
from schedlab.observe.quiet import Finding
from schedlab.targets.vm import host_files, initramfs, qemu
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.kernbench import build as kernel_build
from tests.workloads.conftest import require

NOISE = Path(__file__).parents[1] / "report" / "noise.json"
"""A recorded measurement of the CPUs 0 and 1."""


def test_missing_kernel_source_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel_build, "TARBALLS", f"{tmp_path}/*")
    require("kernbench")
    assert any("apt-get install linux-source" in reason for reason in reasons()["kernbench"])


def test_a_required_parameter_is_not_a_missing_requirement() -> None:
    assert reasons()["command"] == []


def reasons() -> dict[str, list[str]]:
    """Return why the workloads cannot run on this machine, apart from missing programs."""
    with closing(LocalAgent()) as agent:
        return {row.name: row.reasons for row in workload_checks(agent)[0]}


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


def test_doctor_names_what_disturbs_a_cpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet_doctor, "SECONDS", 0.01)
    doctor(form=AnswerFormat.JSON, quiet="0")
    document = json.loads(capsys.readouterr().out)
    assert document["cpus"] == [0]
    assert {"subject", "text", "remedy", "boot", "per_second", "causes", "gain"} <= set(document["findings"][0])
    rates = [each["per_second"] for each in document["findings"]]
    assert rates == sorted(rates, key=lambda rate: -1 if rate is None else rate, reverse=True)
    doctor(quiet="0")
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("CPU 0: not quiet: ") for line in lines)
    assert "  schedlab noise --cpus 0 --for 60s" in lines


def test_a_measurement_shows_the_gain_of_each_remedy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    noise = stored(NOISE)
    measured = {cause.name: cause.total_ns for cause in noise.causes}
    timers, absent = (Finding("timers", "", causes=(name,)) for name in ("timer ", "irq "))
    of_timers = sum(ns for name, ns in measured.items() if name.startswith("timer "))
    assert gain_ns(timers, noise) == pytest.approx(of_timers)
    assert gain_ns(absent, noise) == 0
    assert gain_ns(timers, None) is gain_ns(Finding("idle", ""), noise) is None
    file, document = tmp_path / "noise.json", json.loads(NOISE.read_text())
    document["cpus"] = document["cpus"][:1]
    file.write_text(json.dumps(document))
    monkeypatch.setattr(quiet_doctor, "SECONDS", 0.01)
    doctor(quiet="0", noise=file)
    assert "remedies, by the share of the time that their causes took" in capsys.readouterr().out
    doctor(form=AnswerFormat.JSON, quiet="0", noise=file)
    gains = [each["gain"] for each in json.loads(capsys.readouterr().out)["findings"]]
    assert gains == sorted(gains, key=lambda gain: -1 if gain is None else gain, reverse=True)
    (cpu,) = document["cpus"]
    of_ticks = next(each["total_ns"] for each in document["causes"] if each["name"] == "tick")
    assert of_ticks / (1e9 * cpu["seconds"]) in [pytest.approx(gain) for gain in gains if gain is not None]


def test_a_measurement_of_other_cpus_or_without_cpus_is_refused() -> None:
    with pytest.raises(SchedlabError, match="measured CPUs"):
        doctor(quiet="0", noise=NOISE)
    with pytest.raises(SchedlabError, match="gains belong to CPUs"):
        doctor(noise=NOISE)


@pytest.mark.parametrize(("cpus", "fault"), [("8191", "CPU 8191 is not online"), ("x", "is not a CPU list")])
def test_cpus_that_cannot_be_examined_are_an_error(cpus: str, fault: str) -> None:
    with pytest.raises(SchedlabError, match=fault):
        doctor(quiet=cpus)


def test_only_machines_are_examined() -> None:
    with pytest.raises(SchedlabError, match="is not a machine"):
        doctor(target="sim:laptop", quiet="0")

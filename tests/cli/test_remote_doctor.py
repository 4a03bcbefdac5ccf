"""``schedlab doctor --target ssh:HOST``, on a server of the loopback."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schedlab.cli.remote_doctor import boot_checks
from tests.cli.in_process import Schedlab, runner
from tests.targets.boots.fake_machine import GRUB, SYSTEMD_BOOT, FakeMachine
from tests.targets.ssh import loopback


@pytest.fixture
def server(tmp_path: Path) -> Iterator[loopback.Server]:
    """A server of this test."""
    loopback.require()
    with loopback.server(tmp_path / "server") as server:
        yield server


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return partial(runner(monkeypatch, capsys), "doctor")


@pytest.mark.slow
def test_another_machine_has_the_checks_of_this_machine_and_keeps_nothing(
    doctor: Schedlab, server: loopback.Server
) -> None:
    folders = sorted(Path("/tmp").glob("schedlab-" + "[0-9a-f]" * 16))
    done = doctor("--target", "ssh:box", "--format", "json", "--ssh-config", server.config)
    assert done.code == 0, done.err
    there: dict[str, Any] = json.loads(done.out)
    here = json.loads(doctor("--format", "json").out)

    def text(document: dict[str, Any], subject: str) -> list[str]:
        return [check["text"] for check in document["checks"] if check["subject"] == subject]

    for subject in ("CPUs", "kernel", "tunables", "user"):
        assert text(there, subject) == text(here, subject)
    assert text(there, "schedload") == [f"runs there: Linux {os.uname().machine}"]
    assert "is this machine itself" in text(there, "boots")[0]
    assert text(there, "kexec")
    assert text(there, "boot once")
    assert [row["name"] for row in there["workloads"]] == [row["name"] for row in here["workloads"]]
    assert [row["reasons"] for row in there["workloads"]] == [row["reasons"] for row in here["workloads"]]
    assert sorted(Path("/tmp").glob("schedlab-" + "[0-9a-f]" * 16)) == folders
    assert not list(server.state.iterdir())


@pytest.mark.slow
def test_the_text_names_the_machine_and_a_machine_that_does_not_answer_is_an_error(
    doctor: Schedlab, server: loopback.Server
) -> None:
    done = doctor("--target", "ssh:box", "--ssh-config", server.config)
    assert done.code == 0, done.err
    assert "workload" in done.out
    assert "there" in done.out
    server.process.terminate()
    server.process.wait()
    done = doctor("--target", "ssh:box", "--ssh-config", server.config)
    assert done.code == 3
    assert "check that 'ssh" in done.err


@pytest.mark.slow
def test_a_machine_with_another_processor_keeps_its_checks_of_boots(
    doctor: Schedlab, server: loopback.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "schedload"
    foreign.write_bytes(b"\x7fELF" + bytes(14) + b"\xf7\0")
    foreign.chmod(0o755)
    monkeypatch.setenv("SCHEDLOAD", str(foreign))
    done = doctor("--target", "ssh:box", "--format", "json", "--ssh-config", server.config)
    checks = json.loads(done.out)["checks"]
    assert [check["subject"] for check in checks][:2] == ["schedload", "boots"]
    assert "static schedload for that machine" in checks[0]["text"]


@pytest.mark.slow
def test_guests_and_simulated_machines_are_refused(doctor: Schedlab, tmp_path: Path) -> None:
    done = doctor("--target", "sim:small", "--ssh-config", tmp_path / "none")
    assert done.code == 2
    assert "name host or ssh:" in done.err


@pytest.mark.parametrize(
    ("facts", "grub", "subject", "words"),
    [
        ({"kexec_load_disabled": "1"}, None, "kexec", ["kexec_load_disabled is 1", "sysctl.d"]),
        ({"kexec_load_disabled": ""}, None, "kexec", ["CONFIG_KEXEC_FILE", "--method grub"]),
        ({"config": "CONFIG_MMU=y"}, None, "kexec", ["CONFIG_KEXEC_FILE", "--method grub"]),
        ({"lockdown": "none [integrity]"}, None, "kexec", ["locked down (integrity)", "Secure Boot"]),
        ({"user": "1000"}, None, "boots", ["not root", "ssh:root@"]),
        ({"tools": "/bin/gzip"}, None, "boots", ["no tar", "apt-get install tar"]),
        ({"boot": "vmlinuz-6.1"}, None, "boots", ["no initial file system", "initramfs"]),
        ({}, "", "boot once", ["no configuration of GRUB", "kexec"]),
    ],
)
def test_each_fault_of_boots_is_reported_with_its_remedy(
    facts: dict[str, str], grub: str | None, subject: str, words: list[str]
) -> None:
    fake = FakeMachine(facts=facts)
    if grub is not None:
        fake.grub = grub
    (check,) = (check for check in boot_checks(fake, "fake") if check.state == "limited")
    assert check.subject == subject
    assert all(word in check.text for word in words), check.text


@pytest.mark.parametrize(
    ("facts", "state", "words"),
    [
        ("\x1eloader\n", "fine", 'boot_method = "grub"'),
        (SYSTEMD_BOOT, "fine", 'boot_method = "systemd-boot"'),
        (SYSTEMD_BOOT.replace("debian.conf", ""), "limited", "bootctl set-default"),
    ],
)
def test_a_machine_without_faults_can_boot_by_kexec_and_its_boot_loader(facts: str, state: str, words: str) -> None:
    fake = FakeMachine(systemd_boot=facts, grub=GRUB if state == "fine" else "")
    checks = {check.subject: check for check in boot_checks(fake, "fake")}
    assert {subject: check.state for subject, check in checks.items()} == {"kexec": "fine", "boot once": state}
    assert words in checks["boot once"].text


@pytest.mark.slow
def test_disturbances_of_a_cpu_are_read_on_the_other_machine(doctor: Schedlab, server: loopback.Server) -> None:
    done = doctor("--target", "ssh:box", "--quiet", "0", "--format", "json", "--ssh-config", server.config)
    assert done.code == 0, done.err
    assert {"RCU", "use"} & {finding["subject"] for finding in json.loads(done.out)["findings"]}

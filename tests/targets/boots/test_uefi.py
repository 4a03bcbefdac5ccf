"""Boots of a machine with UEFI firmware and systemd-boot: a Debian guest without KVM."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedlab.kernels import debian
from schedlab.targets.boots.systemd_boot import ENTRY
from schedlab.targets.ssh.connection import CONFIG
from tests.targets.boots import machine
from tests.targets.boots.machine import CODE, TestMachine
from tests.targets.boots.test_guest import HEAD, NEW, STATE, TRIALS, boots_of, command, require_unchanged, run
from tests.targets.boots.test_guest import pytestmark as pytestmark_of_guests

pytestmark = [
    *pytestmark_of_guests,
    pytest.mark.skipif(not CODE.exists(), reason="there is no UEFI firmware for guests: apt-get install ovmf"),
]

EFI_STATE = f"""{STATE}
find /efi -type f -exec md5sum {{}} + | sort
efibootmgr | grep -v -e BootCurrent
bootctl list --no-pager | awk 'BEGIN {{ RS = ""; ORS = "\\n\\n" }} !/reported.absent/'
ls /sys/firmware/efi/efivars"""
"""Script that also shows the boot partition and the firmware's boot entries.

The firmware's variable ``LoaderEntries`` shows the entries that existed when the boot began, until the next boot.
"""

DOCUMENT = Path(__file__).parents[3] / "docs/real-machines.md"


@pytest.fixture(scope="module")
def guest() -> Iterator[TestMachine]:
    """One machine for all tests. Each test leaves the machine on its default kernel."""
    if debian.files(NEW) is None:
        debian.fetch(NEW)
    with machine.running(machine.made(), uefi=True) as running:
        yield running


@pytest.fixture(autouse=True)
def reached(guest: TestMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let schedlab reach the machine."""
    monkeypatch.setenv(CONFIG, str(guest.config))


def test_systemd_boot_starts_a_kernel_once(guest: TestMachine) -> None:
    before = guest.ssh(EFI_STATE)
    with boots_of(method="systemd-boot") as boots:
        booted = boots.boot(boots.kernel(NEW), "mitigations=off")
        print("through systemd-boot:", {key: round(s, 1) for key, s in booted.seconds.items()})
        assert {"mitigations=off", f"schedlab.boot={booted.nonce}"} <= set(booted.seen.command_line.split())
        assert ENTRY in guest.ssh("bootctl list --no-pager")
        seen = boots.end()
        assert seen.release == boots.default.seen.release
    require_unchanged(guest, before, EFI_STATE)


def test_a_kernel_that_panics_leads_back_to_the_default_entry(guest: TestMachine, tmp_path: Path) -> None:
    before = guest.ssh(EFI_STATE)
    start = HEAD.partition("[[variant]]")[0].replace('kind = "ssh"', 'kind = "ssh"\nboot_method = "systemd-boot"')
    variant = f'[[variant]]\nname = "panics"\nkernel = "{NEW}"\ncmdline = "init=/bin/false"\n'
    output = run(command(tmp_path, f'{start}[[variant]]\nname = "default"\n{variant}{TRIALS}'), status=4)
    assert "Attempted to kill init" in guest.printed()
    assert "back on its default kernel" in output
    require_unchanged(guest, before, EFI_STATE)


def test_the_documented_command_starts_a_kernel_through_the_firmware_once(guest: TestMachine) -> None:
    (script,) = re.findall(r"```sh\n(#!/bin/sh\n# /usr/local/sbin/boot-once .*?)```", DOCUMENT.read_text(), re.DOTALL)
    script = script.replace("/dev/nvme0n1", "/dev/vdb").replace("/boot/efi", "/efi")
    guest.ssh(f"cat > /usr/local/sbin/boot-once <<'END'\n{script}END\nchmod 755 /usr/local/sbin/boot-once")
    before = guest.ssh(EFI_STATE)
    with boots_of(method="command", boot_command="boot-once") as boots:
        booted = boots.boot(boots.kernel(NEW), "mitigations=off")
        print("through the firmware:", {key: round(s, 1) for key, s in booted.seconds.items()})
        assert {"mitigations=off", f"schedlab.boot={booted.nonce}"} <= set(booted.seen.command_line.split())
        boots.end()
    require_unchanged(guest, before, EFI_STATE)

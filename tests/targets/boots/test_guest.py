"""Boots of a real machine: a Debian guest without KVM, in which a restart takes about half a minute."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from schedlab.kernels import debian
from schedlab.targets.boots.boot import FOLDER, BootFailed, Boots, Method
from schedlab.targets.boots.control import Control
from schedlab.targets.boots.shell import OpenSsh
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.targets.boots import machine
from tests.targets.boots.machine import TestMachine

NEW = "debian-6.12"
LIMIT = 600.0
HANGS = 150.0
"""Limit where a kernel is known to hang: its boot would take less on a machine that does nothing else."""

pytestmark = [
    pytest.mark.verify,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(bool(machine.missing_tools()), reason=f"not installed: {', '.join(machine.missing_tools())}"),
    pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build"),
]

STATE = "uname -r; cat /proc/cmdline; ls -l --time-style=+ /lib/modules /boot /var/lib; md5sum /boot/grub/grub*"
"""Script that shows what boots may change: kernel, modules, boot entries, folders."""


@pytest.fixture(scope="module")
def guest() -> Iterator[TestMachine]:
    """One machine for all tests: each leaves it on its default kernel."""
    if debian.files(NEW) is None:
        debian.fetch(NEW)
    with machine.running(machine.made()) as running:
        yield running


def boots_of(
    guest: TestMachine, limit: float = LIMIT, control: Control | None = None, method: Method = "kexec"
) -> Boots:
    program = find(SCHEDLOAD)
    assert program is not None
    shell = OpenSsh("test-machine", guest.folder, guest.config)
    boots = Boots(shell, "test-machine", program.read_bytes(), limit=limit, method=method, control=control)
    boots.begin()
    return boots


def test_two_kernels_alternate_and_the_machine_is_left_as_found(guest: TestMachine) -> None:
    before = guest.ssh(STATE)
    boots = boots_of(guest)
    old = boots.default.seen
    for block in range(3):
        for name, words in ((NEW, "mitigations=off"), (None, "")):
            booted = boots.boot(boots.kernel(name), words)
            print(f"block {block}: {booted.seen.release}", {key: round(s, 1) for key, s in booted.seconds.items()})
            assert booted.seen.release.startswith("6.12." if name else old.release)
            assert guest.ssh("uname -r").strip() == booted.seen.release
            assert "guards ended: 0" in guest.ssh(f"{FOLDER}/schedload boot confirm --boot-id {booted.seen.boot_id}")
    assert boots.end().command_line == old.command_line
    assert guest.ssh(STATE) == before


def test_grub_starts_a_kernel_once(guest: TestMachine) -> None:
    before = guest.ssh(STATE)
    boots = boots_of(guest, method="grub")
    booted = boots.boot(boots.kernel(NEW), "mitigations=off")
    print("through GRUB:", {key: round(s, 1) for key, s in booted.seconds.items()})
    assert {"mitigations=off", f"schedlab.boot={booted.nonce}"} <= set(booted.seen.command_line.split())
    boots.end()
    assert guest.ssh(STATE) == before


def test_a_kernel_that_panics_returns_to_the_default_kernel(guest: TestMachine) -> None:
    boots = boots_of(guest)
    # An init that ends is a panic: "Attempted to kill init!".
    with pytest.raises(BootFailed, match="back on its default kernel"):
        boots.boot(boots.kernel(NEW), "init=/bin/false")
    assert "Attempted to kill init" in guest.printed()
    assert boots.boot(boots.kernel(None)).seen.release == boots.default.seen.release
    boots.end()


def test_the_guard_returns_a_machine_whose_init_hangs(guest: TestMachine) -> None:
    boots = boots_of(guest, HANGS)
    with pytest.raises(BootFailed, match="its guard restarted it"):
        boots.boot(boots.kernel(NEW), "init=/sbin/hang-init")
    assert "test machine: hangs" in guest.printed()
    boots.end()


def test_the_power_command_comes_before_the_guard(guest: TestMachine) -> None:
    def tail() -> str:
        return guest.printed()[-2000:]

    boots = boots_of(guest, HANGS, Control(power=guest.reset, console=tail))
    with pytest.raises(BootFailed, match="switched off and on") as failure:
        boots.boot(boots.kernel(NEW), "init=/sbin/hang-init")
    assert "test machine: hangs" in failure.value.tail
    boots.end()


def test_a_request_for_another_boot_changes_nothing(guest: TestMachine) -> None:
    boots = boots_of(guest)
    before = guest.ssh("cat /proc/sys/kernel/random/boot_id")
    other = "00000000-0000-0000-0000-000000000000"
    answer = guest.ssh(f"{FOLDER}/schedload boot reboot --boot-id {other} 2>&1 || true")
    assert "nothing was changed" in answer
    assert guest.ssh("cat /proc/sys/kernel/random/boot_id") == before
    boots.clean()


def test_a_machine_that_a_killed_process_left_is_returned_by_another(guest: TestMachine) -> None:
    before = guest.ssh(STATE)
    first = boots_of(guest)
    first.boot(first.kernel(NEW))
    boots_of(guest).end()
    assert guest.ssh(STATE) == before

"""The course of boots on a machine without hardware, in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.experiment.target_table import BootMethod
from schedlab.targets.boots import machine
from schedlab.targets.boots.boot import FOLDER, BootFailed, Boots
from schedlab.targets.boots.control import Control
from tests.targets.boots.fake_machine import DEFAULT_LINE, DEFAULT_RELEASE, SYSTEMD_BOOT, FakeMachine

LIMIT = 60.0
TEST_KERNEL = "installed:6.12.1"


def boots_of(fake: FakeMachine, control: Control | None = None) -> Boots:
    boots = Boots(fake, "fake", b"\x7fELF", limit=LIMIT, control=control, clock=fake.clock)
    boots.begin()
    return boots


def fail(boots: Boots) -> BootFailed:
    with pytest.raises(BootFailed) as failure:
        boots.boot(boots.kernel(TEST_KERNEL))
    return failure.value


def test_a_kernel_boots_with_its_words_and_the_machine_returns() -> None:
    fake = FakeMachine(next_release="6.12.1")
    boots = boots_of(fake)
    booted = boots.boot(boots.kernel(TEST_KERNEL), "mitigations=off quiet")
    words = booted.seen.command_line.split()
    assert words[:3] == ["root=/dev/vda1", "mitigations=off", "quiet"]
    assert {"panic=10", "rdinit=/schedlab/guard", f"schedlab.boot={booted.nonce}"} <= set(words)
    assert booted.seconds["restart"] >= 20
    assert boots.end().release == DEFAULT_RELEASE
    assert fake.requests == ["load", "kexec", "confirm", "reboot"]
    assert not fake.files


def test_a_variant_without_a_kernel_gets_the_default_kernel_by_the_same_way() -> None:
    fake = FakeMachine()
    boots = boots_of(fake)
    assert boots.boot(boots.kernel(None)).seen.release == DEFAULT_RELEASE


def test_each_boot_has_its_own_nonce() -> None:
    fake = FakeMachine()
    boots = boots_of(fake)
    assert boots.boot(boots.kernel(None)).nonce != boots.boot(boots.kernel(None)).nonce
    assert fake.line.count("schedlab.boot=") == 1


def test_a_kernel_that_panics_is_a_failure_and_the_next_kernel_boots() -> None:
    fake = FakeMachine(fate="panics")
    boots = boots_of(fake)
    assert "back on its default kernel" in fail(boots).reason
    fake.fate = "up"
    assert boots.boot(boots.kernel(None)).seen.release == DEFAULT_RELEASE


def test_the_guard_ends_a_kernel_that_hangs() -> None:
    boots = boots_of(FakeMachine(fate="hangs", guard=LIMIT))
    reason = fail(boots).reason
    assert "did not answer" in reason
    assert "its guard restarted it" in reason


def test_a_frozen_machine_is_switched_off_and_on() -> None:
    fake = FakeMachine(fate="freezes")
    failure = fail(boots_of(fake, Control(power=fake.reset, console=lambda: "last words")))
    assert failure.reason.endswith("it was switched off and on")
    assert failure.tail == "last words"


def test_a_frozen_machine_without_power_control_stays_away_and_each_boot_says_so() -> None:
    fake = FakeMachine(fate="freezes")
    boots = boots_of(fake)
    assert "it has not come back" in fail(boots).reason
    assert "did not answer for 60 s" in fail(boots).reason
    with pytest.raises(CannotRunHere, match="switching it off and on"):
        boots.end()


def test_a_machine_that_ignores_the_restart_is_a_failure() -> None:
    assert "did not restart" in fail(boots_of(FakeMachine(fate="stays"))).reason


def test_another_kernel_than_the_requested_kernel_is_a_failure() -> None:
    assert "came up in place of 6.12.1" in fail(boots_of(FakeMachine(next_release="6.9.0"))).reason


def test_a_machine_that_a_killed_run_left_under_test_is_returned_first() -> None:
    fake = FakeMachine(next_release="6.12.1")
    first = boots_of(fake)
    first.boot(first.kernel(TEST_KERNEL))
    second = boots_of(fake)
    assert second.default.seen.command_line == DEFAULT_LINE
    assert fake.requests[-1] == "reboot"


def test_another_process_can_end_the_boots_of_a_killed_run() -> None:
    fake = FakeMachine(next_release="6.12.1")
    first = boots_of(fake)
    first.boot(first.kernel(TEST_KERNEL))
    assert Boots(fake, "fake", b"\x7fELF", limit=LIMIT, clock=fake.clock).end().release == DEFAULT_RELEASE
    assert not fake.files


def test_a_changed_default_kernel_is_reported() -> None:
    fake = FakeMachine(next_release="6.12.1")
    boots = boots_of(fake)
    boots.boot(boots.kernel(TEST_KERNEL))
    fake.default_line = "root=/dev/vda1 single"
    with pytest.raises(CannotRunHere, match="in place of its default kernel"):
        boots.end()
    assert f"{FOLDER}/default" in fake.files


def test_this_machine_is_never_restarted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeMachine()
    here = tmp_path / "boot_id"
    here.write_text(f"{fake.boot_id}\n")
    monkeypatch.setattr(machine, "BOOT_ID", here)
    with pytest.raises(CannotRunHere, match="this machine itself"):
        boots_of(fake)
    assert not fake.requests
    assert not fake.files


def test_missing_rights_and_kernels_are_refused() -> None:
    with pytest.raises(CannotRunHere, match="not root"):
        boots_of(FakeMachine(user="1000"))
    with pytest.raises(CannotRunHere, match="has no /boot/vmlinuz-5"):
        boots_of(FakeMachine()).kernel("installed:5.0")


def loader_boots(fake: FakeMachine, method: BootMethod, command: str | None = None) -> Boots:
    boots = Boots(fake, "fake", b"\x7fELF", limit=LIMIT, method=method, command=command, clock=fake.clock)
    boots.begin()
    return boots


def grub_boots(fake: FakeMachine) -> Boots:
    return loader_boots(fake, "grub")


@pytest.mark.parametrize(("method", "command"), [("grub", None), ("systemd-boot", None), ("command", "boot-once")])
def test_another_process_undoes_the_choice_of_a_killed_run(method: BootMethod, command: str | None) -> None:
    fake = FakeMachine(next_release="6.12.1", systemd_boot=SYSTEMD_BOOT)
    boots = loader_boots(fake, method, command)
    line = boots.boot(boots.kernel(TEST_KERNEL), "isolcpus=1,2").seen.command_line
    assert line.startswith("root=/dev/vda1 quiet isolcpus=1,2 rdinit=")
    assert fake.requests == ["reboot", "confirm"]
    fake.kept, chosen, fake.chosen = "left by a firmware", fake.chosen, None
    assert chosen is not None
    assert Boots(fake, "fake", b"\x7fELF", limit=LIMIT, clock=fake.clock).end().release == DEFAULT_RELEASE
    assert (fake.kept, fake.files) == ("", {})


def test_grub_starts_a_kernel_once_with_every_word_as_it_is() -> None:
    fake = FakeMachine(next_release="6.12.1")
    boots = grub_boots(fake)
    line = boots.boot(boots.kernel(TEST_KERNEL), 'isolcpus=1,2 dyndbg="file a.c +p" price=$5').seen.command_line
    assert line.startswith('root=/dev/vda1 quiet isolcpus=1,2 "dyndbg=file a.c +p" price=$5 rdinit=')
    assert fake.requests == ["reboot", "confirm"]
    fake.next_release = DEFAULT_RELEASE
    fake.chosen = None
    assert boots.end().command_line == DEFAULT_LINE


@pytest.mark.parametrize("method", ["grub", "systemd-boot"])
def test_a_boot_loader_that_keeps_its_choice_is_refused_and_the_choice_is_removed(method: BootMethod) -> None:
    fake = FakeMachine(next_release="6.12.1", kept="next_entry=schedlab", systemd_boot=SYSTEMD_BOOT)
    boots = loader_boots(fake, method)
    with pytest.raises(BootFailed, match="did not forget"):
        boots.boot(boots.kernel(TEST_KERNEL))
    assert fake.kept == ""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("\x1efolder\n/boot/grub\n", "", "no configuration of GRUB"),
        ("\x1etool\ngrub\n", "", "no grub-reboot"),
        ("custom.cfg\n", "\n", "does not read custom.cfg"),
        ("\x1ecustom\n", "\x1ecustom\nmenuentry 'mine' {}\n", "has a /boot/grub/custom.cfg"),
        ("\x1eabstraction\n", "\x1eabstraction\nlvm\n", "cannot write in lvm"),
        ("ext2", "btrfs", "cannot write in btrfs"),
        ("ab-12", "", "cannot read its /boot"),
    ],
)
def test_a_grub_that_cannot_boot_once_is_refused_before_anything_changes(old: str, new: str, reason: str) -> None:
    fake = FakeMachine()
    fake.grub = fake.grub.replace(old, new, 1)
    with pytest.raises(CannotRunHere, match=reason):
        grub_boots(fake)
    assert not fake.requests


def test_a_word_that_grub_would_change_is_refused() -> None:
    boots = grub_boots(FakeMachine())
    with pytest.raises(BootFailed, match="backslash"):
        boots.boot(boots.kernel(None), "name=a'b")


@pytest.mark.parametrize(
    ("old", "reason"),
    [
        ("\nsystemd-boot", "not started by systemd-boot"),
        ("/bin/bootctl", "no bootctl"),
        (" rw", "not mounted for writing"),
        ("/efi", "no boot partition"),
        ("debian.conf", "no default entry"),
    ],
)
def test_a_systemd_boot_that_cannot_boot_once_is_refused_before_anything_changes(old: str, reason: str) -> None:
    fake = FakeMachine(systemd_boot=SYSTEMD_BOOT.replace(old, "", 1))
    with pytest.raises(CannotRunHere, match=reason):
        loader_boots(fake, "systemd-boot")
    assert not fake.requests

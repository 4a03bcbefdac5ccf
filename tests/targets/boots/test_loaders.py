"""The scripts of boot loaders, run by a shell in a folder of the test."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from schedlab.targets.boots.loaders import Command
from schedlab.targets.boots.shell import Done
from schedlab.targets.boots.systemd_boot import ENTRY, SystemdBoot

BOOTCTL = """#!/bin/sh
# Entries in ./loader/entries; the default entry is in the file default, else the entry whose name is the last.
cd "$(dirname "$0")"
case "$1" in
list) default=$(cat default || ls loader/entries | sort | tail -1)
    for entry in $(ls loader/entries); do
        printf '         type: Boot Loader Specification Type #1 (.conf)\\n        title: %s' $entry
        [ $entry = $default ] && printf ' (default) (selected)'
        printf '\\n           id: %s\\n       source: /efi/loader/entries/%s\\n\\n' $entry $entry
    done;;
set-oneshot) echo "$2" > once;;
esac
"""


class Facts:
    """A shell that answers with recorded facts."""

    def __init__(self, facts: Mapping[str, str]) -> None:
        self._text = "".join(f"\x1e{name}\n{value}\n" for name, value in facts.items())

    def run(self, script: str, data: bytes = b"", timeout: float = 60.0) -> Done:
        return Done(0, self._text, "")

    def drop(self) -> None:
        """Do nothing."""


@pytest.fixture
def boot(tmp_path: Path) -> Path:
    """A boot partition with an entry, and files of a kernel."""
    (tmp_path / "loader/entries").mkdir(parents=True)
    (tmp_path / "loader/entries/debian.conf").write_text("linux /debian\n")
    for name in ("kernel", "one", "two"):
        (tmp_path / name).write_text(name)
    bootctl = tmp_path / "bootctl"
    bootctl.write_text(BOOTCTL)
    bootctl.chmod(0o755)
    return tmp_path


def systemd_boot(boot: Path, default: str = "debian.conf") -> SystemdBoot:
    facts = {"tool": "bootctl", "loader": "systemd-boot", "mount": "rw", "folder": str(boot), "default": default}
    return SystemdBoot(Facts(facts), "box")


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin"
    return subprocess.run(["sh", "-c", script], env={"PATH": path}, capture_output=True, text=True, check=False)


def test_systemd_boot_gets_an_entry_that_is_chosen_once_and_removed(boot: Path) -> None:
    before = sorted(boot.rglob("*"))
    loader = systemd_boot(boot)
    done = shell(loader.prepare(f"{boot}/kernel", [f"{boot}/one", f"{boot}/two"], 'quiet dyndbg="file a.c +p"'), boot)
    assert done.returncode == 0, done.stderr
    assert (boot / "loader/entries" / ENTRY).read_text() == (
        'title schedlab\nlinux /schedlab/image\ninitrd /schedlab/initrd\noptions quiet dyndbg="file a.c +p"\n'
    )
    assert ((boot / "schedlab/image").read_text(), (boot / "schedlab/initrd").read_text()) == ("kernel", "onetwo")
    assert (boot / "once").read_text() == f"{ENTRY}\n"
    (boot / "once").unlink()
    assert shell(loader.clean(), boot).returncode == 0
    assert sorted(boot.rglob("*")) == before


def test_an_entry_that_would_be_the_default_is_removed_and_the_boot_refused(boot: Path) -> None:
    (boot / "loader/entries/debian.conf").rename(boot / "loader/entries/a-debian.conf")
    before = sorted(boot.rglob("*"))
    done = shell(systemd_boot(boot, "a-debian.conf").prepare(f"{boot}/kernel", [], "quiet"), boot)
    assert (done.returncode, "bootctl set-default a-debian.conf" in done.stderr) == (1, True)
    assert sorted(boot.rglob("*")) == before


def test_a_command_gets_kernel_initial_file_system_and_command_line(boot: Path) -> None:
    command = boot / "boot-once"
    command.write_text(
        f'#!/bin/sh\necho "$1" "$SCHEDLAB_IMAGE" "$(cat "$SCHEDLAB_INITRD")" "$SCHEDLAB_CMDLINE" >> {boot}/log\n'
    )
    command.chmod(0o755)
    loader = Command("boot-once", str(boot))
    done = shell(loader.prepare(f"{boot}/kernel", [f"{boot}/one", f"{boot}/two"], "a='b c' d"), boot)
    assert done.returncode == 0, done.stderr
    assert (boot / "log").read_text() == f"once {boot}/kernel onetwo a='b c' d\n"
    assert shell(loader.clean(), boot).returncode == 0
    assert (boot / "log").read_text().splitlines()[1].startswith("undo ")


def test_a_command_that_fails_fails_the_boot(boot: Path) -> None:
    assert shell(Command("false", str(boot)).prepare(f"{boot}/kernel", [], "quiet"), boot).returncode != 0

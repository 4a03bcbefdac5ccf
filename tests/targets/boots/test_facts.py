"""Facts of a machine that prints anything."""

from __future__ import annotations

from itertools import product

import pytest

from schedlab.errors import CannotRunHere
from schedlab.targets.boots import grub, machine, systemd_boot
from schedlab.targets.boots.shell import Done, Shell

NAMES = ("boot_id", "command_line", "mounts", "modules", "config", "folder", "default", "lockdown")


class Printing(Shell):
    """A machine that answers each script with the same text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def run(self, script: str, data: bytes = b"", timeout: float = 60.0) -> Done:
        return Done(0, self.text, "")

    def drop(self) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "content"), [*product(NAMES, ["", "\n", " \n \n", "x", "x / \n / \n/", "\x1e", "\udcff"])]
)
def test_no_text_is_more_than_wrong_facts(name: str, content: str) -> None:
    shell = Printing(f"greeting\n{machine.MARK}{name}\n{content}")
    found = machine.facts(shell)
    assert list(found.faults())
    for loader in (grub.Grub, systemd_boot.SystemdBoot):
        with pytest.raises(CannotRunHere):
            loader(shell, "box")

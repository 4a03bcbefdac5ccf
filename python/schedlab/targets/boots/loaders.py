"""Boot loaders that start a kernel for one boot, each in three scripts for a root shell on the machine."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Protocol

from schedlab.experiment.target_table import BootMethod
from schedlab.targets.boots.delivery import join_line
from schedlab.targets.boots.grub import Grub
from schedlab.targets.boots.shell import Shell
from schedlab.targets.boots.systemd_boot import SystemdBoot


class Loader(Protocol):
    """A boot loader. The next boot after :meth:`prepare` starts the kernel; later boots start the default kernel."""

    def prepare(self, image: str, initrds: Sequence[str], command_line: str) -> str:
        """Return a script that chooses a kernel, with the parts of its initial file system, for the next boot."""

    def verify(self) -> str:
        """Return a script that prints something if the next boot is not a default boot."""

    def clean(self) -> str:
        """Return a script that removes the files, and the choice for the next boot."""


class Command:
    """A command of the machine, for boot loaders that schedlab does not know.

    ``COMMAND once`` lets the next boot start the kernel ``$SCHEDLAB_IMAGE`` with the initial file system
    ``$SCHEDLAB_INITRD`` (empty without one) and the command line ``$SCHEDLAB_CMDLINE``; ``COMMAND undo`` removes its
    changes, and succeeds without changes.

    Args:
        command: words of a shell.
        folder: folder for the initial file system.
    """

    def __init__(self, command: str, folder: str) -> None:
        self._command, self._initrd = command, f"{folder}/initrd"

    def prepare(self, image: str, initrds: Sequence[str], command_line: str) -> str:
        """See :class:`Loader`."""
        values = {"IMAGE": image, "INITRD": self._initrd if initrds else "", "CMDLINE": command_line}
        variables = " ".join(f"SCHEDLAB_{name}={shlex.quote(value)}" for name, value in values.items())
        return f"set -e\n{join_line(initrds, self._initrd)}\nexport {variables}\n{self._command} once\nsync"

    def verify(self) -> str:
        """See :class:`Loader`. The command cannot be asked; the end of the boots verifies the default kernel."""
        return ":"

    def clean(self) -> str:
        """See :class:`Loader`."""
        return f"{self._command} undo"


def loader(method: BootMethod, command: str | None, shell: Shell, where: str, folder: str) -> Loader | None:
    """Return the boot loader of a method, None for kexec; CannotRunHere where it cannot boot a kernel once.

    Args:
        method: the method.
        command: the command of the method ``command``.
        shell: a root shell on the machine.
        where: the machine's name in messages.
        folder: schedlab's folder for boots on the machine.
    """
    match method:
        case "kexec":
            return None
        case "grub":
            return Grub(shell, where)
        case "systemd-boot":
            return SystemdBoot(shell, where)
        case "command":
            assert command is not None
            return Command(command, folder)

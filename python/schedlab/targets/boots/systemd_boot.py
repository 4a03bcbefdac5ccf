"""Boots through firmware and systemd-boot for one time: an entry of schedlab's, chosen for the next boot only.

The entry follows the Boot Loader Specification (type 1). systemd-boot removes the firmware's variable
``LoaderEntryOneShot`` before it starts the entry that the variable names (Boot Loader Interface), so that later boots
are default boots.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from schedlab.errors import CannotRunHere
from schedlab.targets.boots.delivery import copy_lines
from schedlab.targets.boots.machine import MARK, sections
from schedlab.targets.boots.shell import Shell
from schedlab.targets.protocol import Fault

ENTRY = "a-schedlab.conf"
"""Name of the entry. Where the configuration names no default entry, systemd-boot starts the entry with the newest name
(UAPI Version Format Specification). There letters are older than digits, ``a`` is the oldest letter, and ``-`` is older
than both."""

NOT_STARTED = "it was not started by systemd-boot"
"""Why most machines cannot use this boot loader."""

_VENDOR = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
"""Identity of the Boot Loader Interface's variables."""

_VARIABLES = "/sys/firmware/efi/efivars"
_CHOICE = f"{_VARIABLES}/LoaderEntryOneShot-{_VENDOR}"

_DEFAULT = "bootctl list --no-pager | awk '/^ *title: .*\\(default\\)/ { d = 1 } d && /^ *id: / { print $2; exit }'"
"""Script that prints the name of the default entry, as ``bootctl`` finds it by systemd-boot's rules."""

_FACTS = f"""printf '{MARK}tool\\n'; command -v bootctl
printf '{MARK}loader\\n'; tr -d '\\000' < {_VARIABLES}/LoaderInfo-{_VENDOR} | grep -a -o systemd-boot
printf '{MARK}mount\\n'; grep -o ' {_VARIABLES} efivarfs rw' /proc/mounts
printf '{MARK}folder\\n'; bootctl --print-boot-path
printf '{MARK}default\\n'; {_DEFAULT}
true"""


class SystemdBoot:
    """The systemd-boot of a machine. CannotRunHere where it cannot boot an entry once."""

    def __init__(self, shell: Shell, where: str) -> None:
        found = {name: text.strip() for name, text in sections(shell.run(_FACTS).output).items()}
        if fault := _fault(found):
            raise CannotRunHere(fault[0], where=where, todo=fault[1])
        self._default, self._root = found["default"], found["folder"].rstrip("/")

    def prepare(self, image: str, initrds: Sequence[str], command_line: str) -> str:
        """Return a script that copies a kernel to the boot partition and chooses it for the next boot.

        An entry that would be the default entry is removed again, and the script fails.
        """
        folder = f"{self._root}/schedlab"
        initrd = "initrd /schedlab/initrd\n" if initrds else ""
        entry = f"title schedlab\nlinux /schedlab/image\n{initrd}options {command_line}\n"
        remedy = f"its new entry would be the default entry: run 'bootctl set-default {self._default}' there"
        return "\n".join(
            [
                "set -e",
                f"mkdir -p {self._root}/loader/entries",
                *copy_lines(image, initrds, folder),
                f"printf %s {shlex.quote(entry)} > {self._entry}",
                f'[ "$({_DEFAULT})" = {shlex.quote(self._default)} ] || {{',
                f"{self.clean()}; echo {shlex.quote(remedy)} >&2; exit 1; }}",
                f"bootctl set-oneshot {ENTRY}",
                "sync",
            ]
        )

    def verify(self) -> str:
        """Return a script that prints the firmware's variable while it exists: nothing if the default entry is next."""
        return f"ls {_CHOICE} 2>/dev/null || true"

    def clean(self) -> str:
        """Return a script that removes the files, and the choice for the next boot."""
        return f"rm -rf {self._root}/schedlab {self._entry}; [ ! -e {_CHOICE} ] || bootctl set-oneshot ''"

    @property
    def _entry(self) -> str:
        return f"{self._root}/loader/entries/{ENTRY}"


def _fault(found: dict[str, str]) -> Fault | None:
    """Return why a machine cannot boot an entry once, and a remedy; None if it can."""
    kexec = "boot its kernels by kexec (the default method)"
    faults: list[tuple[str, Fault]] = [
        ("loader", (NOT_STARTED, kexec)),
        ("tool", ("it has no bootctl", "apt-get install systemd-boot")),
        ("mount", (f"{_VARIABLES} is not mounted for writing", f"mount -o remount,rw {_VARIABLES}")),
        ("folder", ("bootctl finds no boot partition", "mount the EFI system partition on /boot or /efi")),
        ("default", ("systemd-boot has no default entry", "choose an entry: bootctl set-default ID")),
    ]
    return next((fault for name, fault in faults if not found.get(name)), None)

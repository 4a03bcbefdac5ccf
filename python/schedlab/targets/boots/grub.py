"""Boots through firmware and GRUB for one time: an entry of schedlab's, chosen for the next boot only.

GRUB reads ``custom.cfg`` beside its configuration (41_custom), and starts once the entry that ``grub-reboot`` names
(00_header: ``next_entry``). GRUB clears that name before it starts the entry, so that later boots are default boots.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from schedlab.errors import CannotRunHere
from schedlab.kernels.parameters import words
from schedlab.targets.boots.delivery import copy_lines
from schedlab.targets.boots.machine import MARK, sections
from schedlab.targets.boots.shell import Shell
from schedlab.targets.protocol import Fault

ENTRY = "schedlab"
"""Name of the entry."""

FOLDER = "/boot/schedlab"
"""Folder for kernel and initial file system, where GRUB can read them."""

_FACTS = f"""for folder in /boot/grub /boot/grub2; do
[ -f $folder/grub.cfg ] || continue
printf '{MARK}folder\\n'; echo $folder
printf '{MARK}config\\n'; grep -o -e next_entry -e custom.cfg $folder/grub.cfg
printf '{MARK}custom\\n'; cat $folder/custom.cfg
for name in grub grub2; do
command -v $name-reboot >/dev/null || continue
printf '{MARK}tool\\n'; echo $name
printf '{MARK}abstraction\\n'; $name-probe -t abstraction $folder
printf '{MARK}type\\n'; $name-probe -t fs $folder
printf '{MARK}uuid\\n'; $name-probe -t fs_uuid /boot
printf '{MARK}path\\n'; $name-mkrelpath /boot
done; break; done; true"""

_WRITABLE = ("ext2", "fat", "xfs")
"""File systems in which GRUB can clear the name (GRUB manual, "The GRUB environment block")."""

_CHANGED = "'\\"
"""Characters before which GRUB writes a backslash, which kernels do not remove (grub-core/lib/cmdline.c)."""


class Grub:
    """The GRUB of a machine. CannotRunHere where it cannot boot an entry once."""

    def __init__(self, shell: Shell, where: str) -> None:
        found = {name: text.strip() for name, text in sections(shell.run(_FACTS).output).items()}
        if fault := _fault(found):
            raise CannotRunHere(fault[0], where=where, todo=fault[1])
        self._where = where
        self._tool, self._config = found["tool"], found["folder"]
        self._uuid, self._path = found["uuid"], found["path"]

    def prepare(self, image: str, initrds: Sequence[str], command_line: str) -> str:
        """Return a script that copies a kernel to ``/boot`` and chooses it for the next boot."""
        line = " ".join(map(self._quoted, words(command_line)))
        place = f"{self._path.rstrip('/')}/schedlab"
        initrd = f"  initrd {place}/initrd\n" if initrds else ""
        entry = (
            f"menuentry '{ENTRY}' --id {ENTRY} --unrestricted {{\n"
            f"  search --no-floppy --fs-uuid --set=root {self._uuid}\n"
            f"  linux {place}/image {line}\n{initrd}}}\n"
        )
        return "\n".join(
            [
                "set -e",
                *copy_lines(image, initrds, FOLDER),
                f"printf %s {shlex.quote(entry)} > {self._config}/custom.cfg",
                f"{self._tool}-reboot {ENTRY}",
                "sync",
            ]
        )

    def verify(self) -> str:
        """Return a script that prints the name of the next boot's entry: nothing if the default entry is next."""
        return f"{self._tool}-editenv {self._config}/grubenv list | grep ^next_entry=. || true"

    def clean(self) -> str:
        """Return a script that removes the files, and the choice for the next boot."""
        unset = f"{self._tool}-editenv {self._config}/grubenv unset next_entry"
        # GRUB leaves an empty choice in its environment.
        return f"rm -rf {FOLDER} {self._config}/custom.cfg; {unset}"

    def _quoted(self, word: str) -> str:
        """Return the word for GRUB, without double quotes: GRUB puts them around each word with a space."""
        if any(character in word for character in _CHANGED):
            raise CannotRunHere(
                f"{word} has a character before which GRUB writes a backslash", where=self._where, todo="use kexec"
            )
        return "'" + word.replace('"', "") + "'"


def _fault(found: dict[str, str]) -> Fault | None:
    """Return why a machine cannot boot an entry once, and a remedy; None if it can."""
    config, kind = set(found.get("config", "").split()), found.get("abstraction") or found.get("type")
    custom = found.get("custom", "")
    kexec = "boot its kernels by kexec (the default method)"
    faults: list[tuple[bool, Fault]] = [
        ("folder" not in found, ("it has no configuration of GRUB in /boot/grub or /boot/grub2", kexec)),
        ("tool" not in found, ("it has no grub-reboot", "apt-get install grub2-common")),
        (
            not {"next_entry", "custom.cfg"} <= config,
            ("its grub.cfg does not read custom.cfg or next_entry", "run update-grub, with 41_custom executable"),
        ),
        (
            bool(custom) and not custom.startswith(f"menuentry '{ENTRY}' "),
            (f"it has a {found.get('folder')}/custom.cfg already", "move its entries to /etc/grub.d/40_custom"),
        ),
        (kind not in _WRITABLE, (f"its GRUB cannot write in {kind}: the choice would stay for later boots", kexec)),
        (not found.get("uuid") or not found.get("path"), ("GRUB cannot read its /boot", kexec)),
    ]
    return next((fault for is_so, fault in faults if is_so), None)

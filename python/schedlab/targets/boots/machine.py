"""Facts of a machine that has to boot kernels under test, read through a shell without changing anything, and its state
while it restarts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.kernels.parameters import nonce_of
from schedlab.targets.boots.shell import Shell
from schedlab.targets.protocol import Fault

MARK = "\x1e"
"""Character before the name of each fact; no file that is read contains it."""

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

SEEN = f"""printf '{MARK}boot_id\\n'; cat {BOOT_ID}
printf '{MARK}release\\n'; uname -r
printf '{MARK}command_line\\n'; cat /proc/cmdline"""
"""Script that shows which system runs."""

LINKED = "/var/lib/schedlab/"
"""Folder to which schedlab's links in ``/lib/modules`` lead. A killed run leaves its links, and the next run removes
the links. The kernels of these links are not installed."""

KEXEC_FILE, EVERYWHERE = "CONFIG_KEXEC_FILE=y", "CONFIG_MMU=y"
"""Lines of a kernel's configuration; the second line shows that the configuration can be read."""

_FACTS = f"""{SEEN}
printf '{MARK}architecture\\n'; uname -m
printf '{MARK}user\\n'; id -u
printf '{MARK}modules\\n'; cat /proc/modules
printf '{MARK}mounts\\n'; cat /proc/mounts
printf '{MARK}boot\\n'; ls /boot
printf '{MARK}installed\\n'; for each in /lib/modules/*; do
case "$(readlink "$each")" in {LINKED}*) ;; *) echo "${{each##*/}}";; esac; done
printf '{MARK}kexec_load_disabled\\n'; cat /proc/sys/kernel/kexec_load_disabled
printf '{MARK}config\\n'
{{ zcat /proc/config.gz || cat /boot/config-$(uname -r); }} | grep -x -e {KEXEC_FILE} -e {EVERYWHERE}
printf '{MARK}lockdown\\n'; cat /sys/kernel/security/lockdown
printf '{MARK}tools\\n'; for tool in tar gzip; do command -v $tool; done
true"""

USE_GRUB = 'use --method grub, or boot_method = "grub" in [target]'
"""Remedy for machines that allow no kexec."""

_IMAGES = ("vmlinuz-{}", "vmlinux-{}")
_INITRDS = ("initrd.img-{}", "initramfs-{}.img", "initrd-{}", "initrd-{}.img")
"""Names in ``/boot`` of Debian and Ubuntu, Fedora, openSUSE, and of others."""


@dataclass(frozen=True)
class Facts:
    """A machine as its running system shows it."""

    seen: Seen
    architecture: str
    is_root: bool
    modules: tuple[str, ...]
    root_type: str
    boot: tuple[str, ...]
    installed: tuple[str, ...]
    kexec_disabled: bool
    without_kexec: bool
    locked: str
    tools: tuple[str, ...]

    def image(self, release: str) -> str | None:
        """Return the path of an installed kernel; None if the machine does not have it."""
        return self._named(_IMAGES, release)

    def initrd(self, release: str) -> str | None:
        """Return the path of an installed kernel's initial file system; None where it has none."""
        return self._named(_INITRDS, release)

    def releases(self) -> list[str]:
        """Return the releases of the installed kernels."""
        return sorted(name.removeprefix("vmlinuz-") for name in self.boot if re.match(r"vmlinuz-\d", name))

    def _named(self, forms: Sequence[str], release: str) -> str | None:
        names = (form.format(release) for form in forms)
        return next((f"/boot/{name}" for name in names if name in self.boot), None)

    def faults(self, *, kexec: bool = True) -> Iterator[Fault]:
        """Yield reasons why the machine cannot start kernels, by kexec or otherwise, each with a remedy."""
        if not self.is_root:
            yield "the user is not root", "log in as root: --target ssh:root@HOST"
        if self.architecture != "x86_64":
            yield f"its kernel is for {self.architecture}", "use a machine with x86_64"
        if kexec and self.without_kexec:
            yield "its kernel is built without CONFIG_KEXEC_FILE", f"{USE_GRUB}, or install a kernel with this option"
        if kexec and self.kexec_disabled:
            remedy = f"{USE_GRUB}, or remove the setting from /etc/sysctl.d and reboot"
            yield "kernel.kexec_load_disabled is 1 until the next boot", remedy
        if kexec and self.locked not in ("", "none"):
            remedy = f"{USE_GRUB}, or switch Secure Boot off"
            yield f"the kernel is locked down ({self.locked})", remedy
        for tool in {"tar", "gzip"} - set(self.tools):
            yield f"it has no {tool}", f"apt-get install {tool}"
        if self.initrd(self.seen.release) is None:
            yield (
                f"/boot has no initial file system of its running kernel {self.seen.release}",
                "install the kernel's package with its initramfs",
            )


def facts(shell: Shell) -> Facts:
    """Read the machine's facts; Unreachable without a connection."""
    found = sections(shell.run(_FACTS).output)
    mounts = (line.split() for line in found.get("mounts", "").splitlines())
    roots = [fields for fields in mounts if len(fields) > 2 and fields[1] == "/"]
    config, disabled = found.get("config", "").split(), found.get("kexec_load_disabled", "").strip()
    lockdown = re.search(r"\[(\w+)\]", found.get("lockdown", ""))
    return Facts(
        seen=_seen(found),
        architecture=found.get("architecture", "").strip(),
        is_root=found.get("user", "").strip() == "0",
        modules=tuple(fields[0] for line in found.get("modules", "").splitlines() if (fields := line.split())),
        root_type=roots[-1][2] if roots else "",
        boot=tuple(found.get("boot", "").splitlines()),
        installed=tuple(found.get("installed", "").splitlines()),
        kexec_disabled=disabled == "1",
        # Without CONFIG_KEXEC_CORE there is no such file (kernel/kexec_core.c).
        without_kexec=not disabled or (EVERYWHERE in config and KEXEC_FILE not in config),
        locked=lockdown[1] if lockdown else "",
        tools=tuple(line.rpartition("/")[2] for line in found.get("tools", "").splitlines()),
    )


def seen(shell: Shell, timeout: float) -> Seen:
    """Return the running system; Unreachable when the machine does not answer within the timeout in seconds."""
    return _seen(sections(shell.run(SEEN, timeout=timeout).output))


def sections(text: str) -> dict[str, str]:
    """Split the output of a script of this module into facts by name."""
    parts = (part.partition("\n") for part in text.split(MARK)[1:])
    return {name: content for name, _, content in parts}


def _seen(found: dict[str, str]) -> Seen:
    return Seen(*(found.get(name, "").strip() for name in ("boot_id", "release", "command_line")))


def require_other_machine(there: Seen, where: str) -> None:
    """Raise CannotRunHere where a restart would end this machine, or the host of this container."""
    try:
        here = BOOT_ID.read_text().strip()
    except OSError as error:
        raise CannotRunHere(
            f"this machine's boot cannot be identified: {error.strerror}", where=str(BOOT_ID)
        ) from error
    if not there.boot_id or there.boot_id == here:
        what = "is this machine itself, which schedlab never restarts" if there.boot_id else "does not show its boot_id"
        raise CannotRunHere(what, where=where, todo="name another machine")


def is_under_test(there: Seen) -> bool:
    """Whether the machine runs a kernel that schedlab started."""
    return nonce_of(there.command_line) is not None


class State(Enum):
    """The system that a machine runs while it restarts."""

    SILENT = "does not answer"
    BEFORE = "has not restarted yet"
    UNDER_TEST = "runs the kernel under test"
    DEFAULT = "runs a system that schedlab did not start"
    STRANGER = "runs the kernel of another run"


@dataclass(frozen=True)
class Seen:
    """What a machine shows of its system: the random number of the boot, the release and the command line."""

    boot_id: str
    release: str
    command_line: str


@dataclass(frozen=True)
class Wanted:
    """A restart: the boot that it leaves, and the nonce and the release of the new boot.

    Without a nonce, the restart leads to the default kernel.
    """

    leaves: str
    nonce: str | None
    release: str


def state(seen: Seen | None, wanted: Wanted) -> State:
    """Return the state of a machine that shows ``seen``, None where it does not answer."""
    if seen is None:
        return State.SILENT
    if seen.boot_id == wanted.leaves:
        return State.BEFORE
    nonce = nonce_of(seen.command_line)
    if nonce is None:
        return State.DEFAULT
    return State.UNDER_TEST if nonce == wanted.nonce else State.STRANGER


def is_over(seen: Seen | None, wanted: Wanted) -> bool:
    """Whether the restart has ended, in the wanted system or in another."""
    return state(seen, wanted) in (State.UNDER_TEST, State.DEFAULT, State.STRANGER)


def fault(seen: Seen | None, wanted: Wanted, seconds: float) -> str:
    """Return why a restart has not led to the wanted system after ``seconds``; empty when it has."""
    now = state(seen, wanted)
    limit = f"{seconds:.0f} s"
    if seen is None:
        return f"the machine did not answer within {limit} of the restart: its kernel or its network did not come up"
    if now is State.BEFORE:
        return f"the machine did not restart within {limit}"
    if now is State.STRANGER:
        return f"the machine runs kernel {seen.release} of another run"
    if now is State.DEFAULT and wanted.nonce is not None:
        return (
            f"the machine is back on its default kernel {seen.release} after {limit}: the kernel under test panicked, "
            "hung until its guard ended it, or the machine was reset"
        )
    if seen.release != wanted.release:
        return f"kernel {seen.release} came up in place of {wanted.release}"
    return ""

"""A machine without hardware: answers the scripts of a boot, and restarts in virtual time."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

from schedlab.targets.boots.boot import FOLDER, UNDO, Clock
from schedlab.targets.boots.shell import Done, Unreachable

DEFAULT_RELEASE, DEFAULT_LINE = "6.1.0-1-amd64", "BOOT_IMAGE=/boot/vmlinuz root=/dev/vda1 quiet"
GRUB = (
    "\x1efolder\n/boot/grub\n\x1econfig\nnext_entry\ncustom.cfg\n\x1ecustom\n\x1etool\ngrub\n"
    "\x1eabstraction\n\n\x1etype\next2\n\x1euuid\nab-12\n\x1epath\n/boot\n"
)
"""What a machine with GRUB on ext4 shows of it."""

SYSTEMD_BOOT = (
    "\x1etool\n/bin/bootctl\n\x1eloader\nsystemd-boot\n\x1emount\n rw\n\x1efolder\n/efi\n\x1edefault\ndebian.conf\n"
)
"""What a machine with systemd-boot shows of it."""

STARTING = 20.0
"""Seconds of a restart."""


@dataclass
class FakeMachine:
    """A machine. ``fate`` is what its next kernel does: ``up``, ``panics``, ``hangs``, ``freezes`` or ``stays``.

    A kernel that hangs is ended by its guard; a kernel that freezes is not.
    """

    fate: str = "up"
    guard: float = 100.0
    boots: int = 1
    release: str = DEFAULT_RELEASE
    line: str = DEFAULT_LINE
    now: float = 0.0
    silent_until: float = 0.0
    loaded: str | None = None
    next_release: str = DEFAULT_RELEASE
    default_line: str = DEFAULT_LINE
    user: str = "0"
    facts: dict[str, str] = field(default_factory=dict)
    grub: str = GRUB
    systemd_boot: str = "\x1eloader\n"
    chosen: str | None = None
    kept: str = ""
    files: dict[str, str] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    @property
    def clock(self) -> Clock:
        """The machine's virtual time."""
        return Clock(lambda: self.now, self._sleep)

    @property
    def boot_id(self) -> str:
        """The number of the running boot."""
        return f"boot-{self.boots}"

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def reset(self) -> None:
        """Press the reset button."""
        self._start(DEFAULT_RELEASE, self.default_line, STARTING)

    def drop(self) -> None:
        """End the connection."""

    def run(self, script: str, data: bytes = b"", timeout: float = 60.0) -> Done:  # noqa: PLR0911, PLR0912
        """Answer a script."""
        if self.now < self.silent_until:
            self.now += min(timeout, 5.0)
            raise Unreachable("no answer", where="fake")
        if request := re.fullmatch(rf"{FOLDER}/schedload boot (.*)", script):
            return self._request(request[1])
        if "\\n'; cat /proc/sys/kernel/random/boot_id" in script:
            return Done(0, self._facts(), "")
        if "command -v bootctl" in script:
            return Done(0, self.systemd_boot, "")
        if "for folder in /boot/grub " in script:
            return Done(0, self.grub, "")
        if script.startswith("grub-editenv"):
            return Done(0, self.kept, "")
        if script.startswith("ls /sys/firmware"):
            return Done(0, self.kept, "")
        if script == f"[ ! -e {UNDO} ] || sh {UNDO}":
            script = self.files.get(UNDO, "")
        if script.startswith(("rm -rf /boot/schedlab", "rm -rf /efi/schedlab", "boot-once undo")):
            self.chosen, self.kept = None, ""
        if "bootctl set-oneshot a-schedlab.conf" in script:
            options = re.search(r"\noptions (.*)\n", script)
            assert options
            self.chosen = options[1]
        if "boot-once once" in script:
            (line,) = re.findall(r"\nexport (.*)\nboot-once once\n", script)
            self.chosen = dict(word.split("=", 1) for word in shlex.split(line))["SCHEDLAB_CMDLINE"]
        if "grub-reboot schedlab" in script:
            line = re.search(r"  linux /boot/schedlab/image (.*)\n", script)
            assert line
            # The entry is a quoted word of the shell, and its words are quoted words of GRUB.
            named = shlex.split(line[1].replace("'\"'\"'", "'"))
            self.chosen = " ".join(f'"{word}"' if " " in word else word for word in named)
        if path := re.fullmatch(r"cat (\S+)", script):
            return Done(0, self.files.get(path[1], ""), "")
        if path := re.match(r"cat > (\S+)", script):
            self.files[path[1]] = data.decode(errors="replace")
        if f"; rm -rf {FOLDER};" in script:
            self.files.clear()
        return Done(0, "", "")

    def _request(self, text: str) -> Done:
        verb, *options = shlex.split(text)
        self.requests.append(verb)
        assert options[:2] == ["--boot-id", self.boot_id], text
        if verb == "load":
            self.loaded = options[options.index("--command-line") + 1]
        elif verb == "reboot":
            chosen = self.chosen if self.fate == "up" else None
            self._start(self.next_release if chosen else DEFAULT_RELEASE, chosen or self.default_line, STARTING)
        elif verb == "kexec" and self.fate != "stays":
            assert self.loaded is not None
            after = {"up": 0.0, "panics": 10.0, "hangs": self.guard, "freezes": 1e9}[self.fate]
            if self.fate == "up":
                self._start(self.next_release, self.loaded, STARTING)
            else:
                self._start(DEFAULT_RELEASE, self.default_line, after + 2 * STARTING)
        return Done(0, "", "")

    def _start(self, release: str, line: str, seconds: float) -> None:
        self.boots += 1
        self.release, self.line, self.loaded = release, line, None
        self.silent_until = self.now + seconds

    def _facts(self) -> str:
        facts = {
            "boot_id": self.boot_id,
            "release": self.release,
            "command_line": self.line,
            "architecture": "x86_64",
            "user": self.user,
            "modules": "virtio_net 1 0 - Live 0x0",
            "mounts": "/dev/vda1 / ext4 rw 0 0",
            "boot": f"vmlinuz-{DEFAULT_RELEASE}\ninitrd.img-{DEFAULT_RELEASE}\nvmlinuz-6.12.1\ninitrd.img-6.12.1",
            "installed": f"{DEFAULT_RELEASE}\n6.12.1",
            "kexec_load_disabled": "0",
            "lockdown": "[none] integrity confidentiality",
            "config": "CONFIG_KEXEC_FILE=y\nCONFIG_MMU=y",
            "tools": "/bin/tar\n/bin/gzip",
        } | self.facts
        return "".join(f"\x1e{name}\n{value}\n" for name, value in facts.items())

"""A guest's console: the phase of its boot, and signs of a fault.

firmware ──first output──▶ kernel ──"Run /init"──▶ init ──first reply──▶ trial ──last reply──▶ off
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Phase = Literal["firmware", "kernel", "init", "trial"]

_TIME = r"^(?:\[ *\d+\.\d+\](?:\[[ TC\d]+\])? )?"
_SIGNS: tuple[tuple[str, str], ...] = (
    ("panic", r"Kernel panic - not syncing"),
    ("soft lock-up", r"watchdog: BUG: soft lockup"),
    ("hard lock-up", r"(?:watchdog: |NMI watchdog: )?Watchdog detected hard LOCKUP"),
    ("RCU stall", r"rcu: INFO: \S+ (?:detected (?:expedited )?stalls|self-detected stall)"),
    ("hung task", r"INFO: task .+ blocked for more than"),
    ("workqueue lock-up", r"BUG: workqueue lockup"),
    ("oops", r"(?:BUG: |Oops: |Oops\b|kernel BUG at |int3: |general protection fault|Unable to handle kernel)"),
)
"""Patterns of the kernel's fault messages, in the order in which they are compared with a line (kernel/panic.c,
kernel/watchdog.c, kernel/hung_task.c, kernel/rcu/tree_stall.h, kernel/workqueue.c, arch/x86/kernel/dumpstack.c and
arch/x86/mm/fault.c, 6.1 and 6.12)."""

_PATTERNS = tuple((kind, re.compile(_TIME + sign)) for kind, sign in _SIGNS)
_INIT_STARTED = re.compile(_TIME + r"Run /init as init process")

BEFORE, AFTER = 5, 60
"""Lines of the console that are kept before and after a fault's first line: its message, registers, a call trace."""


@dataclass(frozen=True)
class Limits:
    """Seconds of this machine's time without output in a boot phase. A trial's limit comes from its timeout."""

    firmware: float = 60.0
    kernel: float = 120.0
    init: float = 120.0


class Console:
    """The text of a console, read line by line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rest = ""
        self._fault_line = 0
        self.fault: str | None = None
        """The first sign of a fault: ``soft lock-up: watchdog: BUG: …``."""
        self.phase: Phase = "firmware"

    def feed(self, text: str) -> None:
        """Add output."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._add(line.rstrip("\r"))

    def _add(self, line: str) -> None:
        self._lines.append(line)
        if self.phase == "firmware" and line:
            self.phase = "kernel"
        if self.phase == "kernel" and _INIT_STARTED.search(line):
            self.phase = "init"
        if self.fault is not None:
            return
        for kind, pattern in _PATTERNS:
            if pattern.search(line):
                self._fault_line = len(self._lines) - 1
                self.fault = f"{kind}: {re.sub(_TIME, '', line).strip()}"
                return

    def tail(self) -> str:
        """Return the lines around the fault, or the last lines."""
        lines = [*self._lines, self._rest] if self._rest else self._lines
        if self.fault is None:
            return "\n".join(lines[-AFTER:])
        return "\n".join(lines[max(self._fault_line - BEFORE, 0) : self._fault_line + AFTER])

    @property
    def text(self) -> str:
        """The complete console output."""
        return "\n".join([*self._lines, self._rest])

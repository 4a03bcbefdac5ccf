"""One boot of a guest: QEMU is started, watched and ended, even if schedlab is killed.

The console shows the phase of the boot, and signs of a fault:

firmware ──first output──▶ kernel ──"Run /init"──▶ init ──first reply──▶ trial ──last reply──▶ off
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from schedlab.errors import CannotRunHere
from schedlab.targets.vm import qemu
from schedlab.targets.vm.host_files import served
from schedlab.targets.vm.jobs import Stream
from schedlab.tunables.journal import frames
from schedlab.tunables.journal.frames import Garbled, Reply
from schedlab.workloads.launcher import background

POLL = 0.05
"""Seconds between two reads of the guest's output: a file that grows sends no event."""

LAST_WORDS = 3.0
"""Seconds after a fault in which the guest may print the rest of its message, or switch off."""

LONGEST = 10
"""Longest duration of a boot phase, in multiples of the silence that the phase allows."""

LARGEST_CONSOLE = 32 << 20
"""Bytes on the console above which a guest is ended: the console is kept in memory."""

PIECE = 4 << 20
"""Bytes of results that are read at once, and the largest number of bytes that are kept behind a reply."""

LAST_LINES = 3
"""Number of QEMU's and virtiofsd's last error lines that a message quotes: the cause often precedes other errors."""


class BootFailed(Exception):
    """A guest that has ended or is silent: ``reason`` is one line, ``tail`` the related part of the console."""

    def __init__(self, reason: str, tail: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.tail = tail


class Boot:
    """A running guest, created by :func:`started`."""

    def __init__(self, process: subprocess.Popen[bytes], files: qemu.Files, errors: Path, limits: Limits) -> None:
        self.process = process
        self.console = Console()
        self.functions = files.functions
        self._files = files
        self._limits = limits
        self._stream = Stream()
        self._replies = 0
        self._errors = errors
        self._read = {files.console: 0, files.results: 0, errors: 0}

    def answer(self, limit: float | None = None) -> Reply:
        """Wait for the reply to the guest's next request; BootFailed when the guest ends or a limit is exceeded.

        ``limit`` is a trial's in seconds. Before the first reply the limits of the boot phases apply, from the last
        output on the console: a guest that prints is alive, even on a busy machine. A fault of the kernel takes
        precedence over a reply, so that a trial with a fault never passes.
        """
        self._replies += 1
        reply = self._next(limit)
        if reply.number != self._replies:
            raise self._failed(f"the guest sent reply {reply.number}, not reply {self._replies}")
        return reply

    def _next(self, limit: float | None) -> Reply:
        phase, printed, since = self.console.phase, 0, time.monotonic()
        phase_start = since
        while True:
            ended = self.process.poll() is not None
            has_more = self._read_output()
            if self.console.fault is not None:
                self._await_last_words()
                raise self._failed(f"the guest's kernel has a fault, {self.console.fault}")
            if self._read[self._files.console] > LARGEST_CONSOLE:
                raise self._failed(f"the guest printed more than {LARGEST_CONSOLE >> 20} MiB on its console")
            if (reply := self._take()) is not None:
                return reply
            if ended and not has_more:
                raise self._failed(
                    f"the guest ended in phase {self._phase(limit)}{self._error_lines() or self._guess()}"
                )
            now, size = time.monotonic(), self._read[self._files.console]
            if self.console.phase != phase:
                phase, phase_start = self.console.phase, now
            if limit is None and size != printed:
                printed, since = size, now
            allowed = getattr(self._limits, phase) if limit is None else limit
            if now - since > allowed:
                raise self._failed(f"the guest printed nothing more for {allowed:g} s in phase {self._phase(limit)}")
            if limit is None and now - phase_start > (longest := LONGEST * allowed):
                raise self._failed(f"the guest did not come out of phase {phase} in {longest:g} s")
            if not has_more:
                time.sleep(POLL)

    def _phase(self, limit: float | None) -> str:
        return self.console.phase if limit is None else "trial"

    def _failed(self, reason: str) -> BootFailed:
        return BootFailed(reason, self.console.tail())

    def _take(self) -> Reply | None:
        try:
            return self._stream.take()
        except Garbled as error:
            raise self._failed(f"the guest's results are damaged: {error}") from error

    def _await_last_words(self) -> None:
        deadline = time.monotonic() + LAST_WORDS
        while time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(POLL)
        self._read_output()

    def _read_output(self) -> bool:
        """Read console and results; return whether there are more results."""
        # Results first: then the console includes all messages that the kernel printed before a reply.
        results = self._files.results
        self._stream.feed(self._more(results, max(PIECE - self._stream.pending, 0)))
        unread = results.stat().st_size - self._read[results] if results.exists() else 0
        # A guest does not wait for this program, so that several replies may be unread.
        if unread > frames.LARGEST:
            raise self._failed(f"the guest sends results without end: more than {frames.LARGEST >> 20} MiB are unread")
        # At most one byte over the limit is read, which is enough to detect an endless console.
        self.console.feed(self._more(self._files.console, LARGEST_CONSOLE + 1).decode(errors="replace"))
        return unread > 0

    def _more(self, path: Path, most: int = -1) -> bytes:
        with suppress(FileNotFoundError), path.open("rb") as file:
            file.seek(self._read[path])
            data = file.read(most)
            self._read[path] += len(data)
            return data
        return b""

    def _guess(self) -> str:
        """Suggest a cause for a guest that ended without any output."""
        silent = self.console.phase == "firmware"
        return (
            ", before its kernel printed anything: is the image complete, and the memory sufficient?" if silent else ""
        )

    def _error_lines(self) -> str:
        """The last error lines of QEMU, or of virtiofsd."""
        text = self._more(self._errors).decode(errors="replace").strip()
        return f": {'; '.join(text.splitlines()[-LAST_LINES:])}" if text else ""


def _write(path: Path, initramfs: bytes) -> None:
    try:
        path.write_bytes(initramfs)
    except OSError as error:
        raise CannotRunHere(
            f"a guest's initial file system of {len(initramfs) >> 20} MiB cannot be written: {error.strerror}",
            where=str(path.parent.parent),
            todo="free space in this folder, which contains the guest's programs and results",
        ) from error


@contextmanager
def started(machine: qemu.Machine, initramfs: bytes, scratch: Path, limits: Limits | None = None) -> Iterator[Boot]:
    """Boot a machine; the exit ends QEMU and removes its files, which are in a private folder below ``scratch``.

    CannotRunHere when there is no room for the files.
    """
    with TemporaryDirectory(prefix="boot-", dir=scratch) as folder:
        place = Path(folder)
        names = ("initramfs", "console", "results", "share", "functions")
        files = qemu.Files(*(place / name for name in names))
        _write(files.initramfs, initramfs)
        errors = place / "errors"
        with ExitStack() as stack:
            if machine.host_files:
                stack.enter_context(served(files.share, place, errors))
            process = stack.enter_context(background(qemu.arguments(machine, files), place / "report", errors))
            yield Boot(process, files, errors, limits or Limits())


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

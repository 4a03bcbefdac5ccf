"""One sched_ext scheduler: the process that loads it and keeps it loaded.

The process runs under ``schedload exec`` in its own session: Ctrl-C on the terminal does not reach it, and it ends
with schedlab, even after SIGKILL. The kernel removes a scheduler whose process has ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack

from schedlab.errors import CannotRunHere, TrialFailure
from schedlab.targets.sched_ext.kernel import Kernel, Log, Status
from schedlab.tunables.signals import deferred_signals
from schedlab.workloads.tools import SCHEDLOAD, need

START_SECONDS = 30.0
"""Limit for loading. The BPF verifier may take seconds for a large scheduler, and switching every task more."""

LAST_WORDS = 5.0
"""Seconds from SIGINT, which users end these programs with, to SIGKILL."""

GRACE = 10.0
"""Further seconds for the launcher to end and for the kernel to switch every task back."""

PAUSE = 0.01
"""Seconds between two polls of the state during loading and unloading, when no trial runs."""

LARGEST_OUTPUT = 1 << 20
"""Bytes of output above which only the end is kept: most of these programs print statistics forever."""

KEPT_OUTPUT = 64 << 10
"""Bytes of output that are kept. The kernel's debug dump, printed last, has 32 KiB (SCX_EXIT_DUMP_LEN, ext.c)."""

SHOWN_LINES, SHOWN = 8, 1000
"""Last lines of the output, and their characters, that a failure's reason quotes."""


class Scheduler:
    """A scheduler from its start to its stop; ``words`` are its command line."""

    def __init__(self, words: Sequence[str], kernel: Kernel) -> None:
        self.words = tuple(words)
        self.line = shlex.join(words)
        self._kernel = kernel
        self._files = ExitStack()
        self._output = self._report = -1
        self._log = Log(-1)
        self._process: subprocess.Popen[bytes] | None = None
        self._loaded_status: Status | None = None

    @property
    def ops(self) -> str:
        """The scheduler's name in the kernel; empty before it is loaded."""
        return self._loaded_status.ops if self._loaded_status else ""

    def start(self) -> None:
        """Load the scheduler; TrialFailure when that fails. Call :meth:`stop` afterwards in any case."""
        before = self._kernel.status()
        if before is None or before.loaded:
            reason = f"{before.shown} is loaded already" if before else "the kernel has no sched_ext"
            raise TrialFailure(f"sched_ext: '{self.line}' was not started: {reason}")
        with deferred_signals():
            self._start_process()
        self._loaded_status = self._wait_until_loaded(before)

    def _start_process(self) -> None:
        self._output = self._memory_file("sched_ext output")
        self._report = self._memory_file("sched_ext report")
        self._log = self._files.enter_context(self._kernel.log())
        # Append mode: after a truncation the next line must not leave a hole before it.
        fcntl.fcntl(self._output, fcntl.F_SETFL, os.O_APPEND)
        options = [f"--last-words={LAST_WORDS}s", f"--parent={os.getpid()}", f"--report={self._report}"]
        self._process = subprocess.Popen(
            [need(SCHEDLOAD), "exec", *options, "--", *self.words],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            pass_fds=(self._report,),
        )

    def fault(self) -> str:
        """Explain why the scheduler is not in effect; empty while it is loaded and its process lives."""
        assert self._process is not None
        assert self._loaded_status is not None
        self._truncate_output()
        now = self._kernel.status()
        if now is None or now.state != "enabled":
            state = now.state if now else "gone"
            return self._explained(f"is no longer loaded (state {state!r}): ejected by the kernel, or ended by itself")
        if now.enable_seq != self._loaded_status.enable_seq:
            return self._explained(f"was ejected or ended, and {now.shown} was loaded after it")
        if now.ops != self._loaded_status.ops:
            return self._explained(f"is not the loaded scheduler: that is {now.shown}")
        if self._process.poll() is not None:
            return self._explained("is loaded, but its process is gone")
        return ""

    def stop(self) -> str:
        """End the process and wait until the kernel has removed the scheduler.

        Return a remark when the process had to be killed, else an empty text. CannotRunHere when the scheduler stays
        loaded: all later trials would run under it.
        """
        remark = ""
        if self._process is not None:
            alive = self._process.poll() is None
            self._end_process()
            self._wait_until_removed()
            if alive and self._exit_state() == "signal 9":
                remark = f"sched_ext: '{self.line}' did not end within {LAST_WORDS:g} s of SIGINT and was killed"
        self._files.close()
        self._process = self._loaded_status = None
        return remark

    def _wait_until_loaded(self, before: Status) -> Status:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while True:
            ended, now = self._process.poll() is not None, self._kernel.status()
            if ended:
                raise TrialFailure(self._explained("was not loaded"))
            # scx_enable counts last of all. Backports from before 6.12 have no counter.
            counted = before.enable_seq is None or (now is not None and now.enable_seq != before.enable_seq)
            if now and now.state == "enabled" and now.ops and counted:
                return now
            if time.monotonic() > deadline:
                state = f"state {now.state!r}" if now else "no state"
                raise TrialFailure(self._explained(f"was not loaded within {START_SECONDS:g} s: {state}"))
            self._truncate_output()
            time.sleep(PAUSE)

    def _end_process(self) -> None:
        process = self._process
        assert process is not None
        for number, seconds in ((signal.SIGINT, LAST_WORDS + 1), (signal.SIGTERM, LAST_WORDS + 1)):
            process.send_signal(number)
            try:
                process.wait(seconds)
                return
            except subprocess.TimeoutExpired:
                continue
        process.kill()
        process.wait()

    def _wait_until_removed(self) -> None:
        """Wait until the kernel has removed this process's scheduler; a scheduler of somebody else stays."""
        deadline = time.monotonic() + GRACE
        while (now := self._kernel.status()) is not None and now.loaded and self._is_own(now):
            if time.monotonic() > deadline:
                raise CannotRunHere(
                    f"{now.shown} is still loaded {GRACE:g} s after the end of '{self.line}'; the run has ended",
                    where="sched_ext",
                    todo="a pinned BPF link keeps it ('bpftool struct_ops list'); SysRq-S removes any scheduler",
                )
            time.sleep(PAUSE)

    def _is_own(self, now: Status) -> bool:
        """Whether this process loaded the scheduler; assumed for one that is being loaded or removed."""
        return self._loaded_status is None or now.enable_seq == self._loaded_status.enable_seq

    def _explained(self, what: str) -> str:
        """The fault with the messages of the kernel and the program. An ejected program prints before it ends."""
        assert self._process is not None
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            ended = ""
        else:
            ended = f"; its process has ended ({self._exit_state()})"
        messages = "; ".join(self._log.messages())
        printed = "\n".join(self._printed().splitlines()[-SHOWN_LINES:])[-SHOWN:]
        name = f"{self.ops!r} ('{self.line}')" if self.ops else f"'{self.line}'"
        sources = [f"the kernel says: {messages}"] * bool(messages) + [f"it printed: {printed or 'nothing'}"]
        return "; ".join([f"sched_ext: {name} {what}{ended}", *sources])

    def _exit_state(self) -> str:
        """How the process ended: ``exit code 1``, ``signal 9``."""
        assert self._process is not None
        try:
            report = json.loads(os.pread(self._report, KEPT_OUTPUT, 0))
        except ValueError:  # the launcher could not start the program; its message is in the output
            return f"exit code {self._process.returncode}"
        return f"signal {report['signal']}" if report["signal"] is not None else f"exit code {report['exit_code']}"

    def _printed(self) -> str:
        size = os.fstat(self._output).st_size
        return os.pread(self._output, KEPT_OUTPUT, max(0, size - KEPT_OUTPUT)).decode(errors="replace").strip()

    def _truncate_output(self) -> None:
        """Keep only the end of a large output; a line printed during the truncation may be lost."""
        size = os.fstat(self._output).st_size
        if size > LARGEST_OUTPUT:
            end = os.pread(self._output, KEPT_OUTPUT, size - KEPT_OUTPUT)
            os.ftruncate(self._output, 0)
            os.write(self._output, end)

    def _memory_file(self, name: str) -> int:
        handle = os.memfd_create(name)
        self._files.callback(os.close, handle)
        return handle

"""One sched_ext scheduler: the process that loads the scheduler and keeps the scheduler loaded.

The process runs under ``schedload exec`` in its own session: Ctrl-C on the terminal does not reach the process. The
process ends with schedlab, even after SIGKILL. The kernel removes a scheduler whose process has ended.
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
from schedlab.targets.sched_ext.protocol import (
    ABSENT,
    BUSY,
    GONE,
    GRACE,
    KEPT,
    KEPT_OUTPUT,
    LARGEST_OUTPUT,
    LAST_WORDS,
    MARK,
    NOT_LOADED,
    ORPHANED,
    REFUSED,
    REPLACED,
    SHOWN,
    SHOWN_LINES,
    START_SECONDS,
)  # fmt: skip
from schedlab.tunables.signals import deferred_signals
from schedlab.workloads.tools import SCHEDLOAD, need

PAUSE = 0.01
"""Seconds between two polls of the state during loading and unloading, when no trial runs."""


class Scheduler:
    """A scheduler from its start to its stop; ``words`` is the process's command line."""

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
        """The scheduler's name in the kernel; empty before the scheduler is loaded."""
        return self._loaded_status.ops if self._loaded_status else ""

    def start(self) -> None:
        """Load the scheduler; TrialFailure when that fails. Call :meth:`stop` afterwards in any case."""
        before = self._kernel.status()
        if before is None or before.loaded:
            reason = BUSY.format(before.shown) if before else ABSENT
            raise TrialFailure(f"{MARK} '{self.line}' was not started: {reason}")
        with deferred_signals():
            self._start_process()
        self._loaded_status = self._wait_until_loaded(before)

    def _start_process(self) -> None:
        self._output = self._memory_file("sched_ext output")
        self._report = self._memory_file("sched_ext report")
        self._log = self._files.enter_context(self._kernel.log())
        # Append mode: after a truncation no hole must precede the next line.
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
        """Explain why the scheduler is not in effect; empty while the scheduler is loaded and its process runs."""
        assert self._process is not None
        assert self._loaded_status is not None
        self._truncate_output()
        now = self._kernel.status()
        if now is None or now.state != "enabled":
            return self._explained(GONE.format(repr(now.state if now else "gone")))
        if (now.enable_seq, now.ops) != (self._loaded_status.enable_seq, self._loaded_status.ops):
            return self._explained(REPLACED.format(now.shown))
        if self._process.poll() is not None:
            return self._explained(ORPHANED)
        return ""

    def stop(self) -> str:
        """End the process and wait until the kernel has removed the scheduler.

        Return a remark when the process had to be killed, otherwise an empty text. CannotRunHere when the scheduler
        stays loaded: all later trials would run under it.
        """
        remark = ""
        if self._process is not None:
            alive = self._process.poll() is None
            self._end_process()
            self._wait_until_removed()
            if alive and self._exit_state() == "signal 9":
                remark = f"{MARK} '{self.line}' did not end within {LAST_WORDS:g} s of SIGINT and was killed"
        self._files.close()
        self._process = self._loaded_status = None
        return remark

    def _wait_until_loaded(self, before: Status) -> Status:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while True:
            ended, now = self._process.poll() is not None, self._kernel.status()
            if ended:
                raise TrialFailure(self._explained(REFUSED))
            # scx_enable increments the counter as its last step. Backports from before 6.12 have no counter.
            counted = before.enable_seq is None or (now is not None and now.enable_seq != before.enable_seq)
            if now and now.state == "enabled" and now.ops and counted:
                return now
            if time.monotonic() > deadline:
                state = repr(now.state if now else "gone")
                raise TrialFailure(self._explained(NOT_LOADED.format(f"{START_SECONDS:g}", state)))
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
        """Wait until the kernel has removed this process's scheduler. Schedulers of other processes stay loaded."""
        deadline = time.monotonic() + GRACE
        while (now := self._kernel.status()) is not None and now.loaded and self._is_own(now):
            if time.monotonic() > deadline:
                raise CannotRunHere(
                    f"{KEPT.format(now.shown, f'{GRACE:g}', repr(self.line))}; the run has ended",
                    where="sched_ext",
                    todo=(
                        "remove the BPF link that keeps the scheduler loaded ('bpftool struct_ops list'); "
                        "SysRq-S removes any scheduler"
                    ),
                )
            time.sleep(PAUSE)

    def _is_own(self, now: Status) -> bool:
        """Whether this process loaded the scheduler; assumed for a scheduler that is being loaded or removed."""
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
        sources = [f"message of the kernel: {messages}"] * bool(messages) + [
            f"the program printed: {printed or 'nothing'}"
        ]
        return "; ".join([f"{MARK} {name} {what}{ended}", *sources])

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

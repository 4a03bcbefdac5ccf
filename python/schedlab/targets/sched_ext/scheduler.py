"""One sched_ext scheduler: a process that loads it, and that it goes with.

It runs under ``schedload exec``, in a session of its own: a Ctrl-C on the terminal does not reach it, and nothing of it
is left when schedlab is killed, by SIGKILL too. A scheduler whose process has ended is taken out by the kernel.
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
"""How long loading may take. The BPF verifier may take seconds for a large scheduler, and switching every task more."""

LAST_WORDS = 5.0
"""Seconds from SIGINT, by which these programs are ended by hand, to SIGKILL."""

GRACE = 10.0
"""Seconds beyond that for the launcher to end, and for the kernel to switch every task back."""

PAUSE = 0.01
"""Seconds between two looks while it is being loaded or stopped, when no trial runs."""

LARGEST_OUTPUT = 1 << 20
"""Bytes of output above which only the end is kept: most of these programs print statistics without end."""

KEPT_OUTPUT = 64 << 10
"""Bytes of that end. The kernel's debug dump, printed last, has 32 KiB (SCX_EXIT_DUMP_LEN, kernel/sched/ext.c)."""

SHOWN_LINES, SHOWN = 8, 1000
"""Last lines, and characters of them, that go into a failure's reason."""


class Scheduler:
    """A scheduler from its start to its stop; ``words`` are its command."""

    def __init__(self, words: Sequence[str], kernel: Kernel) -> None:
        self.words = tuple(words)
        self.line = shlex.join(words)
        self._kernel = kernel
        self._held = ExitStack()
        self._output = self._report = -1
        self._log = Log(-1)
        self._process: subprocess.Popen[bytes] | None = None
        self._own: Status | None = None

    @property
    def ops(self) -> str:
        """The name under which the kernel has it; empty until it is loaded."""
        return self._own.ops if self._own else ""

    def start(self) -> None:
        """Load it; TrialFailure when it does not come to that. After that, :meth:`stop` is due in any case."""
        before = self._kernel.status()
        if before is None or before.loaded:
            told = f"{before.shown} is loaded already" if before else "the kernel has no sched_ext"
            raise TrialFailure(f"sched_ext: '{self.line}' was not started: {told}")
        with deferred_signals():
            self._begin()
        self._own = self._loaded(before)

    def _begin(self) -> None:
        self._output = self._memory("sched_ext output")
        self._report = self._memory("sched_ext report")
        self._log = self._held.enter_context(self._kernel.log())
        # Appending, so that cutting the file short does not leave a hole where the next line goes.
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
        """Why a trial that runs under it is none; empty while it is loaded and its process lives."""
        assert self._process is not None
        assert self._own is not None
        self._bound()
        now = self._kernel.status()
        if now is None or now.state != "enabled":
            state = now.state if now else "gone"
            return self._explained(f"is no longer loaded (state {state!r}): ejected by the kernel, or ended by itself")
        if now.enable_seq != self._own.enable_seq:
            return self._explained(f"was ejected or ended, and {now.shown} was loaded after it")
        if now.ops != self._own.ops:
            return self._explained(f"is not what is loaded: that is {now.shown}")
        if self._process.poll() is not None:
            return self._explained("is loaded without it")
        return ""

    def stop(self) -> str:
        """End it and see that the kernel has taken it out; a remark when it had to be killed, else empty.

        CannotRunHere when it is still loaded: whatever is measured then would be measured under it.
        """
        remark = ""
        if self._process is not None:
            alone = self._process.poll() is None
            self._end_process()
            self._await_out()
            if alone and self._end() == "signal 9":
                remark = f"sched_ext: '{self.line}' did not end within {LAST_WORDS:g} s of SIGINT and was killed"
        self._held.close()
        self._process = self._own = None
        return remark

    def _loaded(self, before: Status) -> Status:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while True:
            ended, now = self._process.poll() is not None, self._kernel.status()
            if ended:
                raise TrialFailure(self._explained("was not loaded"))
            # Counted last of all (scx_enable); kernels with a backport from before 6.12 do not count.
            counted = before.enable_seq is None or (now is not None and now.enable_seq != before.enable_seq)
            if now and now.state == "enabled" and now.ops and counted:
                return now
            if time.monotonic() > deadline:
                state = f"state {now.state!r}" if now else "no state"
                raise TrialFailure(self._explained(f"was not loaded within {START_SECONDS:g} s: {state}"))
            self._bound()
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

    def _await_out(self) -> None:
        """Wait until the kernel no longer has what this process loaded; somebody else's is not its to end."""
        deadline = time.monotonic() + GRACE
        while (now := self._kernel.status()) is not None and now.loaded and self._is_own(now):
            if time.monotonic() > deadline:
                raise CannotRunHere(
                    f"{now.shown} is still loaded {GRACE:g} s after the end of '{self.line}'; the run has ended",
                    where="sched_ext",
                    todo="a pinned BPF link keeps it ('bpftool struct_ops list'); SysRq-S takes any scheduler out",
                )
            time.sleep(PAUSE)

    def _is_own(self, now: Status) -> bool:
        """Whether what is loaded now came with this process: what is still on its way in or out is taken for it."""
        return self._own is None or now.enable_seq == self._own.enable_seq

    def _explained(self, what: str) -> str:
        """The fault with what the kernel and the program say of it, which an ejected program prints before it ends."""
        assert self._process is not None
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            ended = ""
        else:
            ended = f"; its process has ended ({self._end()})"
        kernel = "; ".join(self._log.told())
        printed = "\n".join(self._printed().splitlines()[-SHOWN_LINES:])[-SHOWN:]
        name = f"{self.ops!r} ('{self.line}')" if self.ops else f"'{self.line}'"
        said = [f"the kernel says: {kernel}"] * bool(kernel) + [f"it printed: {printed or 'nothing'}"]
        return "; ".join([f"sched_ext: {name} {what}{ended}", *said])

    def _end(self) -> str:
        """How the process ended: ``exit code 1``, ``signal 9``."""
        assert self._process is not None
        try:
            report = json.loads(os.pread(self._report, KEPT_OUTPUT, 0))
        except ValueError:  # the launcher could not start it; its message is in the output
            return f"exit code {self._process.returncode}"
        return f"signal {report['signal']}" if report["signal"] is not None else f"exit code {report['exit_code']}"

    def _printed(self) -> str:
        size = os.fstat(self._output).st_size
        return os.pread(self._output, KEPT_OUTPUT, max(0, size - KEPT_OUTPUT)).decode(errors="replace").strip()

    def _bound(self) -> None:
        """Keep only the end of a large output; a line that is printed at this very moment may be lost."""
        size = os.fstat(self._output).st_size
        if size > LARGEST_OUTPUT:
            last = os.pread(self._output, KEPT_OUTPUT, size - KEPT_OUTPUT)
            os.ftruncate(self._output, 0)
            os.write(self._output, last)

    def _memory(self, name: str) -> int:
        handle = os.memfd_create(name)
        self._held.callback(os.close, handle)
        return handle

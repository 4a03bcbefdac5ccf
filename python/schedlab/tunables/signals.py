"""Signals as exceptions, so that `finally` blocks run, and blocks that no signal interrupts."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a run."""


class Interrupted(KeyboardInterrupt):
    """A signal ends the run. The class is not an `Exception`, so that no handler of `Exception` suppresses the
    signal."""

    def __init__(self, signum: int) -> None:
        self.signum = signum
        super().__init__(f"interrupted by {signal.Signals(signum).name}")

    @property
    def exit_code(self) -> int:
        """The exit status that a shell reports for a process ended by this signal: 128 + its number."""
        return 128 + self.signum


class _Catching:
    """State of the outermost block of :func:`restore_on_signals`: its process, and the signal that it has received."""

    process: int | None = None
    received: int | None = None


def received() -> int | None:
    """Return the signal that ended the newest block of :func:`restore_on_signals` in this process; None without it.

    A library may replace `Interrupted` by an exception of its own, such as an ImportError.
    """
    return _Catching.received


@contextmanager
def restore_on_signals() -> Iterator[None]:
    """In the block, the first SIGINT, SIGTERM or SIGHUP raises `Interrupted` in the main thread.

    Later signals have no effect, so that a burst cannot interrupt the undo or the last commit. The previous handlers
    are restored at the end. A block inside another block has no effect. A block outside the main thread has no effect
    either, because Python runs handlers in the main thread only. A signal that the process ignores from its start stays
    ignored: SIGHUP after nohup(1), and SIGINT in the background job of a script.
    """
    if threading.current_thread() is not threading.main_thread() or _Catching.process == os.getpid():
        yield
        return

    def interrupt(signum: int, frame: FrameType | None) -> None:
        if _Catching.received is None:
            _Catching.received = signum
            raise Interrupted(signum)

    def repeat(ignored: sys.UnraisableHookArgs) -> None:
        """Raise again what Python has discarded, as in a destructor, a moment later."""
        if isinstance(ignored.exc_value, Interrupted):
            _Catching.received = None
            threading.Timer(0.01, signal.pthread_kill, (main, ignored.exc_value.signum)).start()
        else:
            hook(ignored)

    main = threading.get_ident()
    _Catching.received = None
    before = {number: signal.getsignal(number) for number in ENDING}
    hook, sys.unraisablehook = sys.unraisablehook, repeat
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, interrupt)
        _Catching.process = os.getpid()
        yield
    finally:
        _Catching.process = None
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook


@contextmanager
def kept_handlers() -> Iterator[None]:
    """Put back the handlers of ending signals that a library replaces in the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Defer ending signals to the end of the block, where their previous handlers run.

    A signal mask does not suffice, because it covers a single thread: another thread would receive the signal, and
    Python would run the handler in the main thread, in the middle of the block.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []

    def note(signum: int, frame: FrameType | None) -> None:
        noted.append(signum)

    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for signum in dict.fromkeys(noted):
            signal.raise_signal(signum)

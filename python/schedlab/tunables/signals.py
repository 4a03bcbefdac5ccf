"""Signals as exceptions, so that `finally` blocks run, and blocks that no signal interrupts."""

from __future__ import annotations

import signal
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


@contextmanager
def restore_on_signals() -> Iterator[None]:
    """In the block, the first SIGINT, SIGTERM or SIGHUP raises `Interrupted` in the main thread.

    Later signals have no effect, so that a burst cannot interrupt the undo or the last commit. The previous handlers
    are restored at the end. Outside the main thread the block has no effect, because Python runs handlers in the
    main thread only. A SIGHUP that the process ignores from its start (nohup) stays ignored.
    """

    interrupted = False

    def interrupt(signum: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise Interrupted(signum)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if not (number == signal.SIGHUP and handler is signal.SIG_IGN):
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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

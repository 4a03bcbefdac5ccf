"""Signals become exceptions, so that `finally` blocks run; and an undo under way is not cut short by another."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a run to end."""


class Interrupted(KeyboardInterrupt):
    """A signal asked the run to end. Like KeyboardInterrupt it is no `Exception`, so that nothing swallows it."""

    def __init__(self, signum: int) -> None:
        self.signum = signum
        super().__init__(f"interrupted by {signal.Signals(signum).name}")

    @property
    def exit_code(self) -> int:
        """What a shell reports for a process that this signal ended: 128 + its number."""
        return 128 + self.signum


@contextmanager
def restore_on_signals() -> Iterator[None]:
    """In the block, SIGINT, SIGTERM and SIGHUP raise `Interrupted` in the main thread.

    Handlers are as before at the end. Outside the main thread it does nothing: Python runs handlers in the main
    thread only. A SIGHUP that the process was started to ignore (nohup) stays ignored.
    """

    def interrupt(signum: int, frame: FrameType | None) -> NoReturn:
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
def deferred_signals() -> Iterator[None]:
    """In the block, ending signals are noted and delivered after it, to whatever handled them before.

    It works by handlers and not by a signal mask, because a mask holds for one thread: another would take the
    signal, and Python would still run its handler in the main thread, in the middle of the block.
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

"""The ``schedlab`` command: one subcommand a file. No other package prints or exits."""

from __future__ import annotations

import gc
import signal
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from types import FrameType


def main() -> None:
    """Entry point. ``--version`` prints before other modules are imported, because scripts often read the version."""
    end_in_silence()
    if sys.argv[1:] in (["--version"], ["-V"]):
        from schedlab.cli.version import version

        print(f"schedlab {version()}")
        return
    # Imports make many objects and hardly any garbage: fewer collections save a twentieth of a short command.
    gc.set_threshold(50_000)
    from schedlab.cli.app import run

    run()


def end_in_silence() -> None:
    """Let SIGINT end the command at once and without a traceback, in place of Python's handler.

    Python's handler raises an exception in the middle of an import, where libraries replace it by errors of their own.
    Modules that are imported before this call import little, because the handler of Python is active until then.
    A command that has something to put back catches signals later (``restore_on_signals``). A SIGINT that the process
    ignores from its start stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Not SIG_DFL: polars then installs a handler that ignores the signal.
        signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: FrameType | None) -> None:
    """End as by the default action of the signal, so that a shell notices the signal."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)

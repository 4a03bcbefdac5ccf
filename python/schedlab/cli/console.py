"""The consoles of the command line: nothing that a user or a benchmark wrote is taken for markup or breaks them."""

from __future__ import annotations

import sys

from rich.console import Console as RichConsole
from rich.text import Text

NARROWEST = 80
"""Tables lose columns below this many; a narrower terminal wraps their lines instead."""


class Console(RichConsole):
    """Prints data as it is; a reader that has gone is an exception for the edge, not an exit with 1."""

    def on_broken_pipe(self) -> None:
        """See :func:`schedlab.cli.app.run`."""
        raise BrokenPipeError

    def say(self, label: str, text: str, style: str = "yellow") -> None:
        """A line with a coloured label, never cut or folded: it may hold a command to copy."""
        self.print(Text.assemble((label, style), " ", text), soft_wrap=True)


def make(*, stderr: bool = False) -> Console:
    """A console on standard output or error: no markup, no highlighting, at least 80 columns."""
    console = Console(stderr=stderr, markup=False, highlight=False)
    console.width = max(console.width, NARROWEST)
    return console


def make_streams_safe() -> None:
    """Have streams that cannot encode a character print a replacement; a closed one goes nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

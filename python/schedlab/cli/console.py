"""The consoles of the command line. Text from users and benchmarks is never interpreted as markup."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Literal

from rich.console import Console as RichConsole
from rich.table import Table
from rich.text import Text

NARROWEST = 80
"""Columns of the narrowest console. Tables would lose columns below; a narrower terminal wraps their lines instead."""


class Console(RichConsole):
    """A console that prints data unchanged, and raises BrokenPipeError when the reader of its pipe has ended."""

    def on_broken_pipe(self) -> None:
        """See :func:`schedlab.cli.app.run`."""
        raise BrokenPipeError

    def say(self, label: str, text: str, style: str = "yellow") -> None:
        """Print a line with a coloured label. It is never cut or folded, because it may contain a command to copy."""
        self.print(Text.assemble((label, style), " ", text), soft_wrap=True)


def make(*, stderr: bool = False) -> Console:
    """Return a console on standard output or error: no markup, no highlighting, at least 80 columns."""
    console = Console(stderr=stderr, markup=False, highlight=False)
    console.width = max(console.width, NARROWEST)
    return console


def table(*columns: str, right: Collection[str] = (), no_wrap: Collection[str] = ()) -> Table:
    """Return a table without lines; columns are left-aligned and folded except where named."""
    result = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for column in columns:
        justify: Literal["right", "left"] = "right" if column in right else "left"
        result.add_column(column, overflow="fold", justify=justify, no_wrap=column in no_wrap)
    return result


def make_streams_safe() -> None:
    """Make streams print a replacement for characters that they cannot encode. A closed stream discards its output."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

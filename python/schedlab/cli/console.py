"""The consoles of the command line. Neither the consoles nor the terminal interpret text from users and benchmarks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import Any, Literal

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from schedlab.cli.appearance import Color, appearance
from schedlab.notation.terminal import escaped, fold

NARROWEST = 80
"""Columns of the narrowest console. Tables would lose columns below; a narrower terminal wraps their lines instead."""


class Console(RichConsole):
    """A console that escapes control characters, and raises BrokenPipeError when the reader of its pipe has ended."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape a string before rich computes its width; see rich."""
        return super().render_str(escaped(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Escape the text of every segment; see rich. Segments with rich's control sequences stay unchanged."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(escaped(text), style)

    def out(self, *objects: Any, sep: str = " ", end: str = "\n", style: Any = None, highlight: Any = None) -> None:
        """Escape text that rich prints without folding; see rich."""
        super().out(*(escaped(str(each)) for each in objects), sep=sep, end=end, style=style, highlight=highlight)

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError, which :func:`schedlab.cli.app.run` handles, where rich would exit."""
        raise BrokenPipeError

    def say(self, label: str, text: str, style: str = "yellow") -> None:
        """Print a line with a coloured label; on a terminal, fold the line between words, but not within commands."""
        label, line = escaped(label), escaped(f"{label} {text}")
        printed = Text(fold(line, self.width, len(label) + 1) if self.file.isatty() else line)
        printed.stylize(style, 0, len(label))
        self.print(printed, soft_wrap=True)

    def command(self, label: str, text: str, style: str = "yellow") -> None:
        """Print a line with a coloured label. The line is never folded, because the text is a command to copy."""
        self.print(Text.assemble((escaped(label), style), " ", escaped(text)), soft_wrap=True)

    def hint(self, label: str, text: str) -> None:
        """Print a line as :meth:`command` does, but not under ``--quiet``: the command succeeds without the line. An
        empty text is not printed."""
        if text and not appearance.quiet:
            self.command(label, text, "dim")


def make(*, stderr: bool = False) -> Console:
    """Return a console on standard output or error: no markup, emoji names or highlighting, at least 80 columns."""
    color = appearance.effective_color
    # Rich would take FORCE_COLOR for a terminal with a cursor, and keep bold text under NO_COLOR.
    system: Literal["auto", "standard"] | None = "auto" if color is Color.AUTO else "standard"
    system = None if color is Color.NEVER else system
    console = Console(
        stderr=stderr,
        markup=False,
        emoji=False,
        highlight=False,
        color_system=system,
        force_terminal=True if color is Color.ALWAYS else None,
        _environ={name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")},
    )
    console.width = max(console.width, NARROWEST)
    return console


def table(*columns: str, right: Collection[str] = (), no_wrap: Collection[str] = ()) -> Table:
    """Return a table without lines; columns are left-aligned and folded except where named."""
    result = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for column in columns:
        justify: Literal["right", "left"] = "right" if column in right else "left"
        result.add_column(column, overflow="fold", justify=justify, no_wrap=column in no_wrap)
    return result

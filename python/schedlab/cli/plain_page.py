"""A page of text and tables without rich, whose import and layout take a quarter of the time of a short command."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from unicodedata import east_asian_width

from schedlab.cli.appearance import Color, appearance
from schedlab.notation.terminal import escaped, fold

STYLES = {"bold": 1, "dim": 2, "yellow": 33}
"""Parameters of the control sequence Select Graphic Rendition (ECMA-48) by name."""

_GAP = "  "


class Page:
    """Text for standard output or standard error, escaped and then written at once. Tables are not folded."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._stream = sys.stderr if stderr else sys.stdout
        self._has_styles = appearance.effective_color is Color.ALWAYS or (
            appearance.effective_color is Color.AUTO
            and self._stream.isatty()
            and os.environ.get("TERM") not in ("dumb", "unknown")
        )
        self._lines: list[str] = []

    def say(self, label: str, text: str, style: str) -> None:
        """Add a line with a styled label; on a terminal, fold the line between words."""
        label, line = escaped(label), escaped(f"{label} {text}")
        if self._stream.isatty():
            line = fold(line, shutil.get_terminal_size().columns, len(label) + 1)
        self.text(self._styled(label, style) + line[len(label) :])

    def text(self, text: str = "") -> None:
        """Add text that contains no text of users."""
        self._lines.append(text)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, dims_last: bool = False) -> None:
        """Add a table whose first column is left-aligned, and an empty line. ``dims_last`` dims the last row."""
        cells = [[escaped(cell) for cell in row] for row in (headings, *rows)]
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
        for number, (first, *others) in enumerate(cells):
            padded = [first + " " * (widths[0] - _width(first))]
            padded += [" " * (width - _width(cell)) + cell for cell, width in zip(others, widths[1:], strict=True)]
            is_dim = number == 0 or (dims_last and number == len(rows))
            line = _GAP.join(padded)
            self.text(self._styled(line, "dim") if is_dim else line)
        self.text()

    def write(self) -> None:
        """Write the page. BrokenPipeError if the reader of a pipe has ended."""
        self._stream.write("\n".join([*self._lines, ""]))
        self._stream.flush()

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self._has_styles else text


def _width(text: str) -> int:
    """Return the columns of a text on a terminal: two for each wide character."""
    return len(text) if text.isascii() else sum(1 + (east_asian_width(character) in "WF") for character in text)

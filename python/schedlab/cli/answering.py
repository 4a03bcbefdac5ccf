"""Output of an answer: in one of four formats, on the terminal or in a file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.appearance import appearance
from schedlab.notation.terminal import escaped

if TYPE_CHECKING:
    from schedlab.report.answer import Answer
    from schedlab.report.render.layout import Text


NARROWEST = 80
"""Fewest columns of text. On a narrower terminal the lines wrap instead of losing columns."""


class AnswerFormat(StrEnum):
    """The formats of every answer."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


AnswerForm = Annotated[
    AnswerFormat,
    typer.Option("--format", help="text for a terminal, markdown for a mail, html for a browser, json for scripts."),
]


def present(answer: Answer, form: AnswerFormat, output: Path | None = None, width: int | None = None) -> None:
    """Print an answer, or write it to a file. ``width`` is the number of columns of text."""
    if form is AnswerFormat.TEXT:
        from schedlab.report.render import text

        if output is None:
            print_lines(text.lines(answer, width or terminal_width()))
            return
        content = text.to_text(answer, width or NARROWEST)
    else:
        content = import_module(f"schedlab.report.render.{form}").render(answer)
    if output is None:
        sys.stdout.write(escaped(content))
    else:
        from schedlab.files.output_file import remedy, write_whole

        write_whole(output, content, remedy("--output"))


def terminal_width() -> int:
    """Return the number of columns of a text on standard output."""
    return max(shutil.get_terminal_size().columns, NARROWEST) if sys.stdout.isatty() else NARROWEST


def print_lines(lines: Iterable[Text]) -> None:
    """Print lines, with styles on a terminal."""
    from schedlab.report.render.layout import shown

    styles = appearance.styles(sys.stdout)
    sys.stdout.write("".join(f"{shown(line, styles=styles)}\n" for line in lines))

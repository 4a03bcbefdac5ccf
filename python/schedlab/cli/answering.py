"""Output of an answer: in one of four formats, on the terminal or in a file."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.options import store_words

if TYPE_CHECKING:
    from schedlab.report.answer import Answer
    from schedlab.store.location import Location


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


def stored(store: Location) -> list[str] | None:
    """Return the words that name a store in further commands; None for a store that ends with this command."""
    return None if store.temporary else store_words(store)


def present(answer: Answer, form: AnswerFormat, output: Path | None = None, width: int | None = None) -> None:
    """Print an answer, or write it to a file. ``width`` is the number of columns of text."""
    from schedlab.cli.report_output import present_text, write

    if form is AnswerFormat.TEXT:
        from schedlab.report.render import text

        present_text(text.render(answer), output, width)
        return
    write(import_module(f"schedlab.report.render.{form}").render(answer), output)

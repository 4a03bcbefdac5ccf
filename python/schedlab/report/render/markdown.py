"""An answer in GitHub's Markdown (GitHub Flavored Markdown Spec 0.29, tables), readable without rendering too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from schedlab.report import answer as document
from schedlab.results.words import DIFFERENT

_MARKS = re.compile(r"([\\`*\[\]<>|]|\b_|_\b)")


def render(answer: document.Answer) -> str:
    """Return the complete answer."""
    return "\n".join(_lines(answer)) + "\n"


def escape(text: str) -> str:
    """Escape the marks in a text; a line's end becomes a space."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """Yield the lines of an aligned table; ``right`` lists the columns that are aligned to the right."""
    cells = [list(head), *map(list, rows)]
    widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = (text.rjust(w) if r else text.ljust(w) for text, w, r in zip(row, widths, right, strict=True))
        return f"| {' | '.join(padded)} |"

    yield line(head)
    yield line(["-" * (width - 1) + ":" if r else "-" * width for width, r in zip(widths, right, strict=True)])
    yield from map(line, rows)


def _lines(answer: document.Answer) -> Iterator[str]:
    badges = f" [{', '.join(answer.badges)}]" if answer.badges else ""
    yield f"# {escape(answer.title + badges)}"
    if answer.question:
        yield f"\n> {escape(answer.question)}"
    if answer.sentences:
        yield ""
    for sentence in answer.sentences:
        subject = f"**{escape(sentence.subject)}**: " if sentence.subject else ""
        yield f"- {subject}{escape(sentence.text)}"
    if answer.warnings:
        yield ""
    for warning in answer.warnings:
        yield f"- **{escape(warning.seen)}**{f' → {escape(warning.todo)}' if warning.todo else ''}"
    if answer.settings:
        yield ""
        rows = [[escape(setting.name), escape(setting.text or "-")] for setting in answer.settings]
        yield from table(["variant", "sets"], rows, [False, False])
    for part in answer.parts:
        yield from _part(part, 2)
    if answer.facts:
        yield ""
        yield from table(["", ""], [[escape(name), escape(text)] for name, text in answer.facts], [False, False])
    for command in answer.commands:
        yield f"\n{escape(command.reason)}:\n\n```sh\n{command.command}\n```"


def _part(part: document.Part, level: int) -> Iterator[str]:
    """Yield the lines of a part below an empty line; ``level`` is the level of its heading."""
    match part:
        case document.Paragraph(text):
            yield f"\n{escape(text)}"
        case document.Listing(_, title):
            yield from _heading(title, level)
            yield ""
            yield from (f"- {escape(item)}" for item in part.shown)
            if part.hidden:
                yield f"- and {part.hidden} more"
        case document.Code(lines):
            yield "\n```"
            yield from lines
            yield "```"
        case document.Table():
            yield from _table(part, level)
        case document.Section(title, parts, page_only=False, folded=False):
            yield from _heading(title, level)
            for inner in parts:
                yield from _part(inner, level + 1)


def _heading(title: str, level: int) -> Iterator[str]:
    if title:
        yield f"\n{'#' * level} {escape(title)}"


def _table(part: document.Table, level: int) -> Iterator[str]:
    yield from _heading(part.title, level)
    shown = [place for place, column in enumerate(part.columns) if not column.page_only and column.kind != "bar"]
    head = [escape(part.columns[place].heading) for place in shown]
    rows = [[_cell(line.cells[place]) for place in shown] for line in part.shown]
    yield ""
    yield from table(head, rows, [part.columns[place].kind == "number" for place in shown])
    if part.hidden:
        yield f"\nand {part.hidden} more {part.more}"
    yield from (f"\n{escape(note)}" for note in part.notes)


def _cell(cell: document.Cell) -> str:
    text = f"**{escape(cell.text)}**" if cell.tone in DIFFERENT else escape(cell.text)
    return f"{text} {escape(cell.remark)}".strip() if cell.remark else text

"""An answer for a terminal, 80 columns wide or more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from schedlab.report import answer as document
from schedlab.report.render.layout import Column, Text, fold, shown, styled, table
from schedlab.results.words import Word

STYLES: dict[document.Tone, str] = {
    Word.BETTER: "green",
    Word.WORSE: "red",
    Word.EQUIVALENT: "cyan",
    Word.INCONCLUSIVE: "dim",
    Word.UNCONFIRMED: "yellow",
    document.CONTROL: "dim",
    document.QUIET: "dim",
    document.WARNING: "yellow",
}
"""Styles of tones. What is undecided is less bright than a result."""

_STYLES: dict[document.Style, str] = {"plain": "", "quiet": "dim", "strong": "bold", "warning": "yellow"}


def to_text(answer: document.Answer, width: int) -> str:
    """Return the answer in lines of this width, without styles and without blanks at the ends of lines."""
    return "".join(f"{shown(line, styles=False)}\n" for line in lines(answer, width))


def lines(answer: document.Answer, width: int) -> Iterator[Text]:
    """Yield the lines of the answer."""
    badges = f" [{', '.join(answer.badges)}]" if answer.badges else ""
    yield from fold(styled(f"{answer.title}{badges}", "bold"), width)
    yield from fold(styled(answer.question, "italic"), width)
    if answer.sentences:
        yield []
    for sentence in answer.sentences:
        subject = f"{sentence.subject}: " if sentence.subject else ""
        yield from fold([*styled(subject, "bold"), *styled(sentence.text, STYLES.get(sentence.tone, ""))], width, 2)
    if answer.warnings:
        yield []
    for todo, of_remedy in groupby(answer.warnings, key=lambda warning: warning.todo):
        for warning in of_remedy:
            yield from fold([*styled("! ", "yellow"), *styled(warning.seen)], width, 2)
        if todo:
            yield from _indented(fold(styled(f"→ {todo}", "dim"), width - 2, 2))
    if answer.settings:
        yield []
        sets = [styled(setting.text or "-", "dim") for setting in answer.settings]
        variants = Column("variant", [styled(setting.name) for setting in answer.settings], "name")
        yield from table([variants, Column("sets", sets, "remark")], width)
    for part in answer.parts:
        yield from _separated(_part(part, width))
    if answer.facts:
        yield []
    for name, fact in answer.facts:
        yield from fold(styled(f"{name}: {fact}", "dim"), width, 2)
    if answer.commands:
        yield []
        yield styled("Next", "bold")
    for command in answer.commands:
        # A command is not folded, so that it can be copied.
        yield styled(f"  {command.command}")
        yield from _indented(fold(styled(command.reason, "dim"), width - 4), 4)


def _separated(lines: Iterator[Text]) -> Iterator[Text]:
    """Yield lines below an empty line, if there are any."""
    for number, line in enumerate(lines):
        if not number:
            yield []
        yield line


def _indented(lines: Iterable[Text], by: int = 2) -> Iterator[Text]:
    return ([*styled(" " * by), *line] for line in lines)


def _part(part: document.Part, width: int) -> Iterator[Text]:
    match part:
        case document.Paragraph(text, style):
            yield from fold(styled(text, _STYLES[style]), width)
        case document.Listing():
            yield from _listing(part, width)
        case document.Code(lines):
            yield from map(styled, lines)
        case document.Table():
            yield from _table(part, width)
        case document.Section(title, parts, page_only=False):
            yield from fold(styled(title, "bold"), width)
            inner = [made for each in parts if (made := list(_part(each, width - 2)))]
            for number, of_part in enumerate(inner):
                if number:
                    yield []
                yield from _indented(of_part)


def _listing(listing: document.Listing, width: int) -> Iterator[Text]:
    if listing.items:
        yield from fold(styled(listing.title, "bold"), width)
    for item in listing.shown:
        yield from fold(styled(item, _STYLES[listing.style]), width, 2)
    if listing.hidden:
        yield styled(f"and {listing.hidden} more", "dim")


def _table(part: document.Table, width: int) -> Iterator[Text]:
    yield from fold(styled(part.title, "bold"), width)
    lines = part.shown
    if any(column.group for column in part.columns):
        for number, (_, of_group) in enumerate(groupby(lines, key=lambda line: line.group)):
            if number:
                yield []
            group = list(of_group)
            yield from fold(_group_heading(part.columns, group[0]), width, 2)
            yield from _indented(table(_columns(part.columns, group), width - 2))
    else:
        yield from table(_columns(part.columns, lines), width)
    if part.hidden:
        yield styled(f"and {part.hidden} more {part.more}", "dim")
    for note in part.notes:
        yield from fold(styled(note, "dim"), width)


def _group_heading(columns: Sequence[document.Column], line: document.Line) -> Text:
    """Return the cells that a group shares, the first in bold, figures with the heading of their column."""
    shared = [(column, cell) for column, cell in zip(columns, line.cells, strict=True) if column.group]
    others = (f", {f'{column.heading} ' if column.kind == 'number' else ''}{cell.whole}" for column, cell in shared[1:])
    return [*styled(shared[0][1].text, "bold"), *styled("".join(others))]


def _columns(columns: Sequence[document.Column], lines: Sequence[document.Line]) -> list[Column]:
    return [
        Column(column.heading, [_cell(line, line.cells[place]) for line in lines], column.kind, column.beside)
        for place, column in enumerate(columns)
        if not (column.page_only or column.group) and column.kind != "bar"
    ]


def _cell(line: document.Line, cell: document.Cell) -> Text:
    text = styled(cell.text, STYLES.get(cell.tone or line.tone, ""))
    return [*text, *styled(f"{' ' if cell.text else ''}{cell.remark}", "dim")] if cell.remark else text

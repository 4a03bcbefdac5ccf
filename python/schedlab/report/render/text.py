"""An answer for a terminal, 80 columns wide or more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from schedlab.report import answer as document
from schedlab.report.render.columns import Column, Columns, fold_words
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


def render(answer: document.Answer) -> RenderableType:
    """Return the answer as one renderable."""
    return Group(*_parts(answer))


def to_text(content: document.Answer | RenderableType, width: int) -> str:
    """Return an answer as plain text of this width, without spaces at the ends of lines."""
    console = Console(width=width, no_color=True, highlight=False, markup=False, force_terminal=False)
    with console.capture() as capture:
        console.print(render(content) if isinstance(content, document.Answer) else content)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


@dataclass(frozen=True)
class Prose:
    """A paragraph, folded between words but not between a figure and its unit; ``indent`` from the second line on."""

    text: Text
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.text.plain:
            return
        first, *others = fold_words(self.text, options.max_width - self.indent).split("\n")
        yield first
        yield from (Text(" " * self.indent).append_text(line) for line in others)


def _parts(answer: document.Answer) -> Iterator[RenderableType]:
    badges = f" [{', '.join(answer.badges)}]" if answer.badges else ""
    yield Prose(Text(f"{answer.title}{badges}", style="bold"))
    if answer.question:
        yield Prose(Text(answer.question, style="italic"))
    if answer.sentences:
        yield Text()
    for sentence in answer.sentences:
        subject = f"{sentence.subject}: " if sentence.subject else ""
        yield Prose(Text.assemble((subject, "bold"), (sentence.text, STYLES.get(sentence.tone, ""))), 2)
    if answer.warnings:
        yield Text()
    for todo, of_remedy in groupby(answer.warnings, key=lambda warning: warning.todo):
        yield from (Prose(Text.assemble(("! ", "yellow"), warning.seen), 2) for warning in of_remedy)
        if todo:
            yield Padding(Prose(Text(f"→ {todo}", style="dim"), 2), (0, 0, 0, 2))
    if answer.settings:
        yield Text()
        yield Columns([
            Column("variant", [Text(setting.name) for setting in answer.settings], "name"),
            Column("sets", [Text(setting.text or "-", style="dim") for setting in answer.settings], "remark"),
        ])  # fmt: skip
    for part in answer.parts:
        yield from _separated(part)
    if answer.facts:
        yield Text()
    for name, fact in answer.facts:
        yield Prose(Text(f"{name}: {fact}", style="dim"), 2)
    if answer.commands:
        yield Text("\nNext", style="bold")
    for command in answer.commands:
        yield Text(f"  {command.command}", no_wrap=True, overflow="ignore")
        yield Padding(Prose(Text(command.reason, style="dim")), (0, 0, 0, 4))


def _separated(part: document.Part) -> Iterator[RenderableType]:
    """Yield a part below an empty line."""
    made = list(_part(part))
    if made:
        yield Text()
    yield from made


def _part(part: document.Part) -> Iterator[RenderableType]:
    match part:
        case document.Paragraph(text, style):
            yield Prose(Text(text, style=_STYLES[style]))
        case document.Listing():
            yield from _listing(part)
        case document.Code(lines):
            yield from (Text(line, no_wrap=True, overflow="ignore") for line in lines)
        case document.Table():
            yield from _table(part)
        case document.Section(title, parts, page_only=False):
            yield Prose(Text(title, style="bold"))
            for number, inner in enumerate(parts):
                made = [Padding(each, (0, 0, 0, 2)) for each in _part(inner)]
                if made and number:
                    yield Text()
                yield from made


def _listing(listing: document.Listing) -> Iterator[RenderableType]:
    if listing.title and listing.items:
        yield Prose(Text(listing.title, style="bold"))
    for item in listing.items[: listing.most]:
        yield Prose(Text(item, style=_STYLES[listing.style]), 2)
    if listing.most is not None and len(listing.items) > listing.most:
        yield Text(f"and {len(listing.items) - listing.most} more", style="dim")


def _table(table: document.Table) -> Iterator[RenderableType]:
    if table.title:
        yield Prose(Text(table.title, style="bold"))
    lines = table.lines[: table.most]
    if any(column.group for column in table.columns):
        for number, (_, of_group) in enumerate(groupby(lines, key=lambda line: line.group)):
            if number:
                yield Text()
            group = list(of_group)
            yield _group_heading(table.columns, group[0])
            yield Padding(_columns(table.columns, group), (0, 0, 0, 2))
    else:
        yield _columns(table.columns, lines)
    if table.hidden:
        yield Text(f"and {table.hidden} more {table.more}", style="dim")
    yield from (Prose(Text(note, style="dim")) for note in table.notes)


def _group_heading(columns: Sequence[document.Column], line: document.Line) -> Prose:
    """Return the cells that a group shares, the first in bold, figures with the heading of their column."""
    shared = [(column, cell) for column, cell in zip(columns, line.cells, strict=True) if column.group]
    heading = Text(shared[0][1].text, style="bold")
    for column, cell in shared[1:]:
        name = f"{column.heading} " if column.kind == "number" else ""
        heading.append(f", {name}{cell.whole}", style="not bold")
    return Prose(heading, 2)


def _columns(columns: Sequence[document.Column], lines: Sequence[document.Line]) -> Columns:
    return Columns([
        Column(column.heading, [_cell(line, line.cells[place]) for line in lines], column.kind, column.beside)
        for place, column in enumerate(columns)
        if not (column.page_only or column.group) and column.kind != "bar"
    ])  # fmt: skip


def _cell(line: document.Line, cell: document.Cell) -> Text:
    text = Text(cell.text, style=STYLES.get(cell.tone or line.tone, ""))
    return text.append(f"{' ' if cell.text else ''}{cell.remark}", style="dim") if cell.remark else text

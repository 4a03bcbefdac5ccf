"""The document of an answer. Every command composes one (:mod:`schedlab.report.answers`), and every format renders it
(:mod:`schedlab.report.render`). Neither computes: texts and figures come from the findings.

    Answer
    ├── title, question, facts            what was asked, where, how
    ├── sentences                         one for each variant, for people who decide
    ├── warnings                          about the whole answer, beside the sentences
    ├── settings                          what each variant sets
    ├── parts ── Section ── Table         the first table is the summary
    │                    ├─ Paragraph, Listing, Code
    │                    └─ Plot          for pages; a table has the same figures
    ├── commands                          what to run next, and why
    └── data                              the fields of the JSON object

All but the answer are named tuples, which a short command loads in a tenth of the time of data classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from pydantic import BaseModel

Style = Literal["plain", "quiet", "strong", "warning"]

Tone = str
"""Meaning of a text, which formats show as a colour: a verdict's word (:class:`.Word`), :data:`CONTROL`,
:data:`QUIET`, :data:`WARNING`, or empty."""

CONTROL: Tone = "control"
"""The A/A control, which repeats the baseline."""

QUIET: Tone = "quiet"
"""A text of less weight."""

WARNING: Tone = "warning"
"""A text that needs attention."""


class Span(NamedTuple):
    """A bar or an interval with its middle, on the axis of its column; None for an unknown end or without a middle."""

    low: float | None
    high: float | None
    middle: float | None = None


class Cell(NamedTuple):
    """A cell of a table.

    Attributes:
        text: the figure or name as printed.
        value: what to sort by; None: the text.
        tone: the meaning of the text.
        depth: strength of a heat map's colour, 0 to 1; None outside heat maps.
        span: what a column of kind ``bar`` draws.
        remark: a quiet text after the text.
        tip: a sentence that a browser shows beside the pointer.
        link: address of the text in a page: ``#row-3``.
    """

    text: str
    value: float | None = None
    tone: Tone = ""
    depth: float | None = None
    span: Span | None = None
    remark: str = ""
    tip: str = ""
    link: str = ""

    @property
    def whole(self) -> str:
        """Text and remark."""
        return f"{self.text} {self.remark}".strip()


Kind = Literal["name", "number", "remark"]
"""Kind of a column of texts, see :class:`Column`."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        heading: the heading.
        kind: a ``name`` may be folded at marks, a ``number`` never, a ``remark`` between words; a ``bar`` draws each
            cell's :class:`Span`, in pages only.
        axis: axis of a bar: ``linear`` from the least to the greatest end in the lines of a group, ``share`` from 0 to
            1, ``ratio`` symmetric around 1.
        beside: whether the column stays in the table of the column before it, where a terminal is narrow.
        group: whether all lines of a group share the cell. Terminals and Markdown show the first columns of this kind
            as a heading above each group, pages as columns.
        page_only: whether terminals and Markdown leave the column out.
    """

    heading: str
    kind: Literal["name", "number", "remark", "bar"] = "number"
    axis: Literal["linear", "share", "ratio"] = "linear"
    beside: bool = False
    group: bool = False
    page_only: bool = False


class Line(NamedTuple):
    """A line of a table, with a cell for each column. Lines of one ``group`` are about the same row. ``facets`` are
    the values by which a page lets its reader choose lines."""

    cells: Sequence[Cell]
    group: str = ""
    tone: Tone = ""
    facets: Mapping[str, str] = {}


class Table(NamedTuple):
    """A table, or a heat map, whose cells have a depth.

    Attributes:
        columns: the columns; the first names the lines.
        lines: the lines; where there may be many, the most important first.
        title: heading of the table; may be empty.
        notes: explanations below the table.
        most: lines that terminals and Markdown show; None for all. Pages show all. A single further line is shown.
        more: what further lines are: ``points`` in ``and 12 more points``.
        delta: margin of equivalence, on axes of kind ``ratio``.
    """

    columns: Sequence[Column]
    lines: Sequence[Line]
    title: str = ""
    notes: Sequence[str] = ()
    most: int | None = None
    more: str = "lines"
    delta: float = 0.05

    @property
    def hidden(self) -> int:
        """Number of lines that terminals and Markdown leave out."""
        return _hidden(self.most, self.lines)

    @property
    def shown(self) -> Sequence[Line]:
        """The lines that terminals and Markdown show."""
        return self.lines[: self.most] if self.hidden else self.lines


class Paragraph(NamedTuple):
    """A text."""

    text: str
    style: Style = "plain"


class Listing(NamedTuple):
    """A list of texts; ``most`` as in a table, but pages fold the further texts."""

    items: Sequence[str]
    title: str = ""
    style: Style = "plain"
    most: int | None = None

    @property
    def hidden(self) -> int:
        """Number of texts that terminals and Markdown leave out."""
        return _hidden(self.most, self.items)

    @property
    def shown(self) -> Sequence[str]:
        """The texts that terminals and Markdown show."""
        return self.items[: self.most] if self.hidden else self.items


class Code(NamedTuple):
    """Lines that are shown as they are: commands, a file, a table that a source printed. A page offers the lines as
    ``file``, unless this name is empty."""

    lines: Sequence[str]
    file: str = ""


class Plot(NamedTuple):
    """A plot of a page.

    Attributes:
        name: name of the specification in ``vega/plots.json``, which ``docs/make_plots.py`` makes.
        caption: what the plot shows.
        data: objects with the fields that the specification names; empty for the plots of a run's rows, which share
            the data of their page.
        texts: values of the specification's placeholders, such as ``@measure``.
        key: key of the row or curve whose values are drawn.
    """

    name: str
    caption: str
    data: Sequence[Mapping[str, Any]] = ()
    texts: Mapping[str, Any] = {}
    key: str = ""


class Section(NamedTuple):
    """Parts under a heading.

    Attributes:
        title: the heading.
        parts: the parts.
        key: anchor in a page; empty: made from the title.
        folded: whether the section has details: a page shows only its heading at first, Markdown leaves it out.
        opened: whether a page shows a folded section from the first.
        outcome: what a page shows beside the heading.
        page_only: whether terminals and Markdown leave the section out.
    """

    title: str
    parts: Sequence[Part]
    key: str = ""
    folded: bool = False
    opened: bool = False
    outcome: Sequence[Cell] = ()
    page_only: bool = False


Part = Paragraph | Listing | Code | Table | Plot | Section


class Sentence(NamedTuple):
    """The answer on one subject: ``pinned`` is ``faster for reads (+15 to +68 %)``. ``tone`` is its verdict."""

    subject: str
    text: str
    tone: Tone = ""


class Setting(NamedTuple):
    """What a variant sets: ``slice 12 ms``; a baseline may set nothing."""

    name: str
    text: str


class Warning(NamedTuple):
    """A limit of the whole answer: its name, which does not change, the observation, the remedy."""

    kind: str
    seen: str
    todo: str = ""


class Next(NamedTuple):
    """A command to run next, and the reason."""

    command: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a command says.

    Attributes:
        kind: the command's name: ``sweep``.
        title: the subject: ``run 3: slices``.
        data: the fields of the JSON object.
        question: the question of the experiment.
        badges: marks of the whole answer: ``simulated``, ``quick``, ``interrupted``.
        facts: names and texts of where and how: machine, design, time.
        sentences: the answer.
        warnings: limits of the whole answer.
        settings: what each variant sets.
        parts: the summary table, then details.
        commands: what to run next.
        shared: what the plots of a run's rows share in a page, ready for JSON.
    """

    kind: str
    title: str
    data: BaseModel | Mapping[str, Any]
    question: str = ""
    badges: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    sentences: Sequence[Sentence] = ()
    warnings: Sequence[Warning] = ()
    settings: Sequence[Setting] = ()
    parts: Sequence[Part] = ()
    commands: Sequence[Next] = ()
    shared: Mapping[str, Any] = field(default_factory=dict)

    def plots(self) -> Iterator[Plot]:
        """Yield the plots of all sections."""
        yield from _plots(self.parts)


def _hidden(most: int | None, of: Sequence[object]) -> int:
    """Return how many are left out; never one, which would take as much room as the line that counts it."""
    hidden = 0 if most is None else len(of) - most
    return hidden if hidden > 1 else 0


def _plots(parts: Sequence[Part]) -> Iterator[Plot]:
    for part in parts:
        if isinstance(part, Plot):
            yield part
        elif isinstance(part, Section):
            yield from _plots(part.parts)


def headings(kind: Kind, *texts: str) -> dict[str, Kind]:
    """Return columns of one kind for :func:`table`."""
    return dict.fromkeys(texts, kind)


def table(columns: Mapping[str, Kind], lines: Sequence[Sequence[str | Cell]], **options: Any) -> Table:
    """Return a table from headings with their kinds, and lines of cells or plain texts; ``options`` as in Table."""
    made = [Line([cell if isinstance(cell, Cell) else Cell(cell) for cell in line]) for line in lines]
    return Table([Column(heading, kind) for heading, kind in columns.items()], made, **options)

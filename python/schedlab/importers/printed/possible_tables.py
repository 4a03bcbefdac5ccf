"""Search for lines that no reader recognised but that may be a table: paragraphs with figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schedlab.importers.printed.layout import option
from schedlab.importers.printed.lines import Line, is_rule

_FEWEST_COLUMNS = 2
_LONGEST_FIGURE = 40
_UNITS = frozenset(
    {"%", "ns", "us", "µs", "μs", "ms", "s", "sec", "MB/s", "GB/s", "ops/s", "kB", "KB", "MB", "GB", "W", "J"}
)
"""Units that a space may separate from their figure."""
_FIGURE = re.compile(
    r"[-+~±(*\[]*\d[-\d.,%()*\[\]±+/~]*(?:(?<=\d)[a-zA-Zµμ][a-zA-Zµμ%/]{0,5})?[)*\]%,;]*|[-+±/()*\[\]%]+|pct\)|[nN]/?[aA]N?"
)
_FIELD = re.compile(r"\s{2,}|[|\t]|[;,](?! )")
"""Ends of fields. Within a sentence, a space follows a comma."""
_SPACED_BRACKET = re.compile(r"(?<=[(\[])\s+")


@dataclass(frozen=True)
class PossibleTable:
    """The lines ``lines[first:end]``. ``is_separated``: the lines have columns, not only figures at their ends."""

    first: int
    end: int
    is_separated: bool = True

    def option(self, lines: Sequence[Line]) -> str:
        """Return a ``--table`` option to try."""
        return option(f"{lines[self.first].number}-{lines[self.end - 1].number}")


def possible_tables(lines: Sequence[Line], taken: Mapping[int, int]) -> Iterator[PossibleTable]:
    """Yield the parts of paragraphs in which at least two lines end with two or more figures.

    A part begins one line above the first such line, which may be a header. ``taken`` maps the first index of each
    table that was read to its end.
    """
    for start, stop in _paragraphs(lines, taken):
        inside = [place for place in range(start, stop) if trailing_figures(lines[place].text) > 1]
        if len(inside) > 1 or any(_is_alone(lines, place, start) for place in inside):
            yield PossibleTable(_above(lines, inside[0], start), inside[-1] + 1)


def paragraphs_with_figures(
    lines: Sequence[Line], results: Sequence[Line], taken: Mapping[int, int]
) -> Iterator[PossibleTable]:
    """Yield every paragraph with a line that ends with a figure, or that contains a figure in one of several columns.

    Paragraphs without figures in ``results`` are patches and mail headers.
    """
    for start, stop in _paragraphs(lines, taken):
        if not any(_has_figure_column(line.text) or trailing_figures(line.text) for line in results[start:stop]):
            continue
        texts = [line.text for line in lines[start:stop]]
        is_separated = any(_has_figure_column(text) or trailing_figures(text) > 1 for text in texts)
        if is_separated or any(map(trailing_figures, texts)):
            yield PossibleTable(start, stop, is_separated)


def trailing_figures(text: str) -> int:
    """Return the number of figures that end a line; ``n/a`` counts as a figure in a line with a figure."""
    figures, missing, after_unit = 0, 0, False
    spaced = text.replace("|", " ").replace(";", " ")
    for word in reversed((spaced if " " in spaced.strip() else spaced.replace(",", " ")).split()):
        if word in _UNITS and not after_unit:
            after_unit = True
            continue
        if len(word) > _LONGEST_FIGURE or not _FIGURE.fullmatch(word):
            break
        figures += any(map(str.isdigit, word))
        missing += word[0] in "nN"
        after_unit = False
    return figures and figures + missing


def _has_figure_column(text: str) -> bool:
    fields = [field.strip(' "') for field in _FIELD.split(text.strip().strip("|"))]
    return len(fields) > 1 and any(
        any(map(str.isdigit, field[:_LONGEST_FIGURE])) and trailing_figures(field) == len(field.split())
        for field in fields
    )


def _above(lines: Sequence[Line], at: int, start: int) -> int:
    """Return the index of the line above ``lines[at]``, past rules, in the paragraph that begins at ``start``."""
    begin = at - 1
    while begin > start and is_rule(lines[begin].text):
        begin -= 1
    return max(start, begin)


def _is_alone(lines: Sequence[Line], at: int, start: int) -> bool:
    """Whether a row and its header form a table: the row has bars, or as many columns as the line above."""
    row = lines[at].text
    above = lines[at - 1].text if at > start else ""
    columns = [len(re.split(r"\s{2,}", _SPACED_BRACKET.sub("", text.strip()))) for text in (above, row)]
    return row.count("|") > 1 or columns[0] == columns[1] > _FEWEST_COLUMNS


def _paragraphs(lines: Sequence[Line], taken: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the first index and the end of each sequence of lines that are neither empty nor already read."""
    at = 0
    while at < len(lines):
        start = at
        while at < len(lines) and lines[at].text and at not in taken:
            at += 1
        if at > start:
            yield start, at
        at = taken.get(at, at + 1)

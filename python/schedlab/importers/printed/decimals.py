"""Decimal commas: ``0,28 %`` is no 28, and ``1,344`` beside it no thousand.

A comma with three digits behind it may be either. What tells is the company it keeps: other figures of its paragraph,
or of the rest of the text, that can only be read one way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from schedlab.importers.printed.page import Line

_FIGURE = r"(?<![\w.,/:])[-+]?"
_END = r"(?![\w,./:-]|\s*,)"
_DECIMAL = re.compile(rf"{_FIGURE}(?:\d+,\d{{1,2}}|(?:0|\d{{4,}}),\d+|\d+,\d{{4,}}){_END}")
_EITHER = re.compile(rf"({_FIGURE}\d+),(\d+){_END}")
_GROUPED = re.compile(rf"{_FIGURE}\d{{1,3}}(?:,\d{{3}}){{2,}}|{_FIGURE}\d{{1,3}}(?:,\d{{3}})*\.\d")
_LEAST = 2
"""Figures with decimal commas that a paragraph must have: one alone may be a list of two numbers."""


def with_points(page: Sequence[Line]) -> list[Line]:
    """The lines with decimal points where the text has decimal commas; every column keeps its place."""
    out = list(page)
    parts = list(_paragraphs(page))
    texts = ["\n".join(page[at].text for at in part) for part in parts]
    sure = [len(_DECIMAL.findall(text)) >= _LEAST and not _GROUPED.search(text) for text in texts]
    if not any(sure):
        return out
    grouped = any(re.search(r"\d,\d{3},\d{3}|\d,\d{3}\.\d", text) for text in texts)
    for part, text, certain in zip(parts, texts, sure, strict=True):
        if certain or not (grouped or _GROUPED.search(text)):
            for at in part:
                out[at] = _pointed(page[at])
    return out


def _paragraphs(page: Sequence[Line]) -> Iterator[range]:
    start = 0
    for at, line in enumerate(page):
        if line.blank:
            if at > start:
                yield range(start, at)
            start = at + 1
    if start < len(page):
        yield range(start, len(page))


def _pointed(line: Line) -> Line:
    return replace(line, text=_EITHER.sub(r"\1.\2", line.text), tabbed=_EITHER.sub(r"\1.\2", line.tabbed))

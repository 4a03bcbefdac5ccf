"""What stands above a table: its title, and text that tells benchmark, unit and direction."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from schedlab.importers.printed import units
from schedlab.importers.printed.page import Line
from schedlab.importers.printed.rows import is_separator

_FAR = 14
_FULL_LINE = 55
_HEADING_WORDS = 8
_FACT = re.compile(r"(?P<key>[A-Z]\w+(?: \w+)?)\s+:\s+(?P<value>\S.*)\Z")
_NAMES = frozenset({"benchmark", "test", "workload"})
"""Whose values name what was run; other facts (``Unit``, ``Statistic``, ``Machine``) are no titles."""
_UNIT = re.compile(rf"^Units?\s*:\s*({units.IN_NAMES})(?!\w)", re.MULTILINE)
_LEGEND = re.compile(r"\s*(?P<sign>[x+*%#@O])\s+(?P<name>\S+)\s*\Z")
_UNIT_AT_END = re.compile(rf"(?:\bin ({units.IN_NAMES})|\(({units.IN_NAMES})\)):?\Z")
_UNIT_AND_DIRECTION = re.compile(r"\(([^\s,()]+), (?:lower|higher) is better\)\Z")
_SENTENCE = re.compile(r"[.,;]\Z")


def title_above(page: Sequence[Line], at: int, floor: int) -> str:
    """The heading right above ``page[at]``, over rules and up to two blank lines; empty when that is a sentence."""
    blanks = 0
    for place in range(at - 1, floor - 1, -1):
        text = page[place].text.strip()
        if not text:
            blanks += 1
            if blanks > 2:
                return ""
        elif match := _FACT.match(text):
            if match["key"].lower() in _NAMES:
                return match["value"].strip()
        elif not is_separator(text):
            title = re.sub(r"\s+", " ", text.strip("|*#=~ ").removeprefix("- ")).strip()
            return "" if _is_sentence(title, page[place - 1].text.strip() if place > floor else "") else title
    return ""


def _is_sentence(text: str, above: str) -> bool:
    """Whether a line is the end of a sentence or paragraph rather than a heading."""
    if text.endswith((" wrote:", " writes:")):
        return True
    if text.endswith(":"):
        return False
    return _SENTENCE.search(text) is not None or (len(above) > _FULL_LINE and not above.endswith((":", ".")))


def text_above(page: Sequence[Line], at: int, floor: int) -> str:
    """The last lines above, nearest first, for words that tell benchmark, unit or direction."""
    found = [page[place].text.strip() for place in range(at - 1, max(floor, at - _FAR) - 1, -1)]
    return "\n".join(text for text in found if text and not is_separator(text))


def legend_above(page: Sequence[Line], at: int, signs: Collection[str]) -> dict[str, str]:
    """What ministat's signs stand for: ``x without_patch`` in a line of its own above its table."""
    found: dict[str, str] = {}
    for place in range(at - 1, max(-1, at - _FAR), -1):
        match = _LEGEND.match(page[place].text)
        if match and match["sign"] in signs:
            found.setdefault(match["sign"], match["name"])
    return found


def headings_of(text: str) -> str:
    """Of the lines above a table those that head or command something; sentences mention many a benchmark."""
    lines = (line for line in text.splitlines() if not _SENTENCE.search(line))
    return "\n".join(
        line for line in lines if line[:1] in "$#" or len(line.split()) <= _HEADING_WORDS or _names_something(line)
    )


def _names_something(line: str) -> bool:
    match = _FACT.match(line)
    return match is not None and match["key"].lower() in _NAMES


def unit_said(text: str) -> str:
    """The unit in a line such as ``Unit   : MB/sec (higher is better)``; empty when there is none."""
    match = _UNIT.search(text)
    return match[1] if match else ""


def unit_in(title: str) -> str:
    """The unit that ends a title such as ``wakeup latency in usec:`` or ``latency (us)``; empty when none does."""
    match = _UNIT_AT_END.search(title)
    return match[1] or match[2] if match else ""


def unit_with_direction(title: str) -> str:
    """The unit in a title that says all of its metric, as schedlab's do: ``hackbench time (s, lower is better)``."""
    match = _UNIT_AND_DIRECTION.search(title)
    return match[1] if match else ""

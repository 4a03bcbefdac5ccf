"""A line cut into figures and words: the grammar of a printed cell, whatever the table's layout.

cell     value  [spread]  [change]
value    1,234.5   9.2s   704 ms   12%   1.2e+09   -   nan   <not counted>
spread   ± 3%   +- 0.31%   ( +-  1.31% )   +/- 4.25   (var: 2.84%)   (0.45)
change   (  1.84%)   *  1.84%*   (-8.1% regression)   (       )   + 3%
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from schedlab.importers.printed import units
from schedlab.results import Spread

_GROUPED = r"\d{1,3}(?:,\d\d)*(?:[,']\d{3})+(?:\.\d+)?"
# Some programs drop the letter of an exponent of two digits: 6.21+05.
_DIGITS = rf"(?:\d\.\d+[+-]\d\d(?!\d)|(?:{_GROUPED}|\d+,\d{{1,2}}(?=%)|\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)"
_NUMBER = rf"[~≈]?[-+]?{_DIGITS}"
_NONE = (
    r"(?:-{1,3}|~|[nN]/?[aA]|NA|-?[nN]a[nN]|[-+]?[iI]nf(?:inity)?|<not (?:supported|counted)>|OOM|ERR|FAIL|failed|"
    r"crash(?:ed)?|[~≈]?\d+(?:\.\d+)?–\d+(?:\.\d+)?)"
)
_END = r"(?=$|,(?!\d)|[\s|(*;\[\]±±~\ufffd]|\+-|\+/-)"
_SIGN = r"(?:\+-|\+/-|-/\+|Â±|[±\ufffdą])"
_PERCENT = r"(?:%|pct|percent)"
_SIGNED = rf"[-+]?\s?{_DIGITS}"

_CHANGE = re.compile(
    rf"\*\s*(?P<star>{_SIGNED}|-?nan|[-+]?inf(?:inity)?)\s*{_PERCENT}\s*\*"
    rf"|[(\[]\s*(?:%?diff:?|delta:?|Δ:?)?\s*(?P<plain>{_SIGNED}|-?nan|[-+]?inf(?:inity)?)\s*{_PERCENT}\s*"
    rf"(?:improvement|regression|better|worse|faster|slower|higher|lower|less|more|gain|loss)?\s*(?:[)\]]|\Z)"
    rf"|\(\s*(?P<unsigned>[-+]\s?{_DIGITS})\s*\)"
    rf"|(?P<empty>\(\s*-?\s*%?\s*\))",
    re.IGNORECASE,
)
_SPREAD = re.compile(
    rf"{_SIGN}\s*(?P<bare>{_DIGITS})\s*(?P<bare_percent>%?)"
    rf"|\(\s*(?:{_SIGN}|(?P<name>var|rsd|cov|stddev|std|sd|σ)\.?\s*[:=]?)\s*(?P<held>{_DIGITS})\s*(?P<held_percent>%?)"
    rf"\s*(?P<after>stddev|std|stderr)?\s*\)",
    re.IGNORECASE,
)
_ABSOLUTE = re.compile(rf"\(\s*(?P<absolute>{_DIGITS})\s*\)")
_BRACKETED = re.compile(rf"\[\s*{_DIGITS}\s*\](?=\s*\()")
"""A coefficient of variation before the change (``[0.02] (1.42 pct)``), as a share or in per cent: nothing tells."""
_NORMALISED = re.compile(rf"\(\s*[-+]?(?:{_DIGITS}|nan|inf)s\)")
_FIGURE = re.compile(
    rf"(?P<number>{_NUMBER})(?P<unit>{units.GLUED})?{_END}(?: (?P<apart>{units.APART})(?=$|[\s|,;)]))?"
    rf"|(?P<none>{_NONE})(?=$|[\s|*(;,])"
)
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d{1,2}")
_DROPPED_LETTER = re.compile(r"(?<=\d)(?=[+-]\d\d\Z)")
_LOOSE = re.compile(rf"(?P<sign>[-+])\s(?P<digits>{_DIGITS})%(?=$|[\s|])")
_WORD = re.compile(r"\S+")

MISSING_WORDS = re.compile(rf"(?:{_NONE}|x|X|\?|baseline|BASELINE|base|reference|ref\.?|none)\Z")
"""What stands in a cell that has no figure."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One printed cell as far as its own characters tell; positions are offsets in the line.

    ``value`` is None where the source prints that there is none; ``change`` is None for an empty pair of parentheses
    too, which ``change_text`` tells from a cell without any. ``change_percent`` is False where nothing says that it is
    a change in per cent.
    """

    start: int
    end: int
    text: str
    value: float | None
    unit: str = ""
    change: float | None = None
    change_text: str = ""
    change_percent: bool = True
    star: bool | None = None
    spread: float | None = None
    spread_percent: bool = False
    spread_kind: Spread = ""
    repeats: int | None = None

    @property
    def marked(self) -> bool:
        """Whether a change is printed with it, be it an empty one."""
        return bool(self.change_text)

    @property
    def percent(self) -> bool:
        """Whether it is a bare percentage."""
        return self.unit == "%" and not self.marked


@dataclass(frozen=True, slots=True)
class Word:
    """Anything that is no figure."""

    start: int
    end: int
    text: str


def number(text: str) -> float:
    """A printed number, with thousands separated by commas or not, as a float."""
    if text.replace(".", "", 1).isdigit():
        return float(text)
    plain = text.lstrip("~≈").replace("'", "").replace(" ", "")
    plain = plain.replace(",", "." if _DECIMAL_COMMA.fullmatch(plain) else "")
    return float(_DROPPED_LETTER.sub("e", plain))


def percentage(text: str) -> float | None:
    """The figure of a printed change; None for nan and inf."""
    lowered = text.strip().lower()
    return None if "nan" in lowered or "inf" in lowered else number(text)


@lru_cache(maxsize=64)
def tokens(text: str) -> tuple[Figure | Word, ...]:
    """Figures, each with its spread and change, and words, in their order."""
    found: list[Figure | Word] = []
    at, length = 0, len(text)
    while at < length:
        if text[at].isspace():
            at += 1
        elif match := _FIGURE.match(text, at):
            figure = _figure(text, match)
            found.append(figure)
            at = figure.end
        elif found and text[at] in "+-" and isinstance(found[-1], Figure) and (match := _LOOSE.match(text, at)):
            found.append(Figure(at, match.end(), match[0], number(match["sign"] + match["digits"]), "%"))
            at = match.end()
        else:
            match = _WORD.match(text, at)
            assert match is not None
            found.append(Word(at, match.end(), match[0]))
            at = match.end()
    return tuple(found)


def _figure(text: str, match: re.Match[str]) -> Figure:
    """The figure that ``match`` begins, with the spread and the change that follow it."""
    none, digits, unit, apart = match.group("none", "number", "unit", "apart")
    end = match.end()
    change, spread = _NO_CHANGE, _NO_SPREAD
    while (at := _skip_spaces(text, end)) < len(text) and text[at] in _QUALIFIERS:
        if change is _NO_CHANGE and (found := _CHANGE.match(text, at)):
            change = _change(found)
        elif spread is _NO_SPREAD and (found := _SPREAD.match(text, at)):
            spread = _spread(found)
        elif spread is _NO_SPREAD and (found := _ABSOLUTE.match(text, at)):
            spread = number(found["absolute"]), False, "unknown"
        elif not (found := _NORMALISED.match(text, at) or _BRACKETED.match(text, at)):
            break
        end = found.end()
    value = None if none is not None else number(digits)
    value = value if value is not None and math.isfinite(value) else None
    return Figure(match.start(), end, none or digits, value, unit or apart or "", *change, *spread)


_NO_CHANGE: tuple[float | None, str, bool, bool | None] = (None, "", True, None)
_NO_SPREAD: tuple[float | None, bool, Spread] = (None, False, "")
_QUALIFIERS = frozenset("(*[+-±Âą\ufffd")


def _skip_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at] == " ":
        at += 1
    return at


def _change(match: re.Match[str]) -> tuple[float | None, str, bool, bool | None]:
    star, plain, unsigned, empty = match.group("star", "plain", "unsigned", "empty")
    if empty is not None:
        return None, "()", True, False
    printed = star or plain or unsigned
    return percentage(printed), printed.strip(), unsigned is None, star is not None


def _spread(match: re.Match[str]) -> tuple[float | None, bool, Spread]:
    held = match["held"] is not None
    digits = match["held"] if held else match["bare"]
    percent = bool(match["held_percent"] if held else match["bare_percent"])
    name = (match["name"] or match["after"] or "").lower()
    kind: Spread = "standard deviation" if name.startswith(("std", "sd", "σ")) else "unknown"
    if name == "stderr":
        kind = "standard error"
    return number(digits), percent, kind

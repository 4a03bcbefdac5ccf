"""A text as lines to read tables from: quoting taken off, tabs made spaces, and what can hold no table blanked.

Patches, diffstats and mail headers hold numbers in columns that are nobody's results; they become empty lines, so that
line numbers stay and a table never runs across them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from schedlab.importers.printed.decode import Numbered

_QUOTE = re.compile(r"[ \t]{0,3}(?:[A-Z]{0,3}>[ \t]?)+")
_MARK = re.compile(r"[A-Z]{0,3}>[ \t]?")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PATCH_HEAD = re.compile(
    r"(?:diff (?:--git |-\S)|index [0-9a-f]{7}|--- \S|\+\+\+ \S|Index: \S|(?:new|deleted) file mode)"
)
_DIFFSTAT = re.compile(r"\s*\S*[./]\S*(?: => \S+)?\s*\|\s+(?:\d+ [+-]+|\d+ *$|Bin )|\s*\d+ files? changed")
_MAIL = re.compile(
    r"(?:From|To|Cc|CC|Date|Subject|Sent|Message-I[Dd]|References|In-Reply-To|Reply-To|Received|Return-Path|Delivered-To|"
    r"Sender|X-[\w-]+|ARC-[\w-]+|DKIM-Signature|Authentication-Results|Received-SPF|List-[\w-]+|Precedence|User-Agent|"
    r"MIME-Version|Content-[\w-]+|(?:Signed-off|Reviewed|Acked|Tested|Reported|Suggested|Co-developed)-by|Link|Fixes): "
)

_LONGEST = 1500


@dataclass(frozen=True, slots=True)
class Line:
    """``number`` in the source from 1; ``text`` to read; ``tabbed`` the same with its tabs; ``depth`` of quoting."""

    number: int
    text: str
    tabbed: str
    depth: int

    @property
    def blank(self) -> bool:
        """Whether nothing is left to read."""
        return not self.text


def page(numbered: Sequence[Numbered]) -> list[Line]:
    """The lines to read tables from, one for each line given."""
    lines = [_unquoted(number, text) for number, text in numbered]
    return _without_patches(_without_bars(_without_headers(lines)))


def _unquoted(number: int, text: str) -> Line:
    depth = 0
    if ">" in text[:12] and (quote := _QUOTE.match(text)):
        depth, text = len(_MARK.findall(quote[0])), text[quote.end() :]
    return _line(number, text, depth)


def _line(number: int, text: str, depth: int) -> Line:
    # No table is that wide; what is, is data without line ends.
    tabbed = text.rstrip() if len(text) <= _LONGEST else ""
    return Line(number, tabbed.expandtabs() if "\t" in tabbed else tabbed, tabbed, depth)


def _emptied(line: Line) -> Line:
    return replace(line, text="", tabbed="")


def _without_headers(lines: list[Line]) -> list[Line]:
    """Mail headers and trailers, with the lines on which a header goes on."""
    out, inside = [], False
    for line in lines:
        header = ": " in line.text[:40] and _MAIL.match(line.text) is not None
        inside = header or (inside and line.text[:1] == " " and line.depth == 0 and line.number < 200)
        out.append(_emptied(line) if inside else line)
    return out


def _without_bars(lines: list[Line]) -> list[Line]:
    """Quoting with bars: ``| text``, told from a table's border by its being the only bar in each line of the run."""
    out, at = list(lines), 0
    while at < len(out):
        end = at
        while end < len(out) and out[end].text.lstrip().startswith("|"):
            end += 1
        if end > at and all(line.text.count("|") == 1 for line in out[at:end]):
            for place in range(at, end):
                line = out[place]
                rest = line.tabbed.lstrip()[1:].removeprefix(" ")
                out[place] = _line(line.number, rest, line.depth + 1)
        at = max(end, at + 1)
    return out


def _without_patches(lines: list[Line]) -> list[Line]:
    out = []
    old = new = 0
    for line in lines:
        text = line.text
        if old > 0 or new > 0:
            mark = text[:1]
            if mark in ("", " ", "+", "-", "\\"):
                old -= mark in ("", " ", "-")
                new -= mark in ("", " ", "+")
                out.append(_emptied(line))
                continue
            # A hunk whose context lost its leading spaces on the way cannot be counted through.
            old = new = 0
        if text.startswith("@@") and (hunk := _HUNK.match(text)):
            old, new = int(hunk[1] or 1), int(hunk[2] or 1)
            out.append(_emptied(line))
        elif (
            _PATCH_HEAD.match(text)
            or ("|" in text and _DIFFSTAT.match(text))
            or (" changed" in text and _DIFFSTAT.match(text))
        ):
            out.append(_emptied(line))
        else:
            out.append(line)
    return out

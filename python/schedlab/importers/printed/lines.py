"""Lines that may contain a table: quoting removed, tabs expanded, and patches and mail headers blanked.

Patches, diffstats and mail headers contain numbers in columns that are not results. Such lines become empty lines, so
that line numbers do not change and no table extends across a removed line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from schedlab.importers.printed.mail import Numbered
from schedlab.results.imported import ImportProblem, Table

_QUOTE = re.compile(r"[ \t]{0,3}(?:[A-Z]{0,3}>[ \t]?)+")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PATCH_HEAD = re.compile(
    r"(?:diff (?:--git |-\S)|index [0-9a-f]{7}|(?:---|\+\+\+) \S*/\S*(?:\t|$)"
    r"|Index: \S*[./]\S+\.\w+$|(?:new|deleted) file mode)"
)
_DIFFSTAT = re.compile(r"\s*\S*[./]\S*(?: => \S+)?\s*\|\s+(?:\d+ [+-]+|0 *$|Bin )|\s*\d+ files? changed")
_MAIL = re.compile(
    r"(?:From|To|Cc|CC|Date|Subject|Sent|Message-I[Dd]|References|In-Reply-To|Reply-To|Received|Return-Path|Delivered-To|"
    r"Sender|X-[\w-]+|ARC-[\w-]+|DKIM-Signature|Authentication-Results|Received-SPF|List-[\w-]+|Precedence|User-Agent|"
    r"MIME-Version|Content-[\w-]+|(?:Signed-off|Reviewed|Acked|Tested|Reported|Suggested|Co-developed)-by|Link|Fixes): "
)
_RULE = re.compile(r"(?=.*([\-=+_.|~*#─-╿]\s?){3})[\s\-=+_.|~*#:─-╿]+\Z")
_FACT = re.compile(r"(?:(?P<key>[A-Z]\w+(?: \w+)?)\s+|(?:Units?|Interpretation|Statistic)\s*):\s+(?P<value>\S.*)\Z")
"""A line of a box above a table: ``Benchmark  : tbench4``, ``Unit  : MB/sec``."""
_FULL_LINE = 55
"""Characters of a line above which the next line may continue its sentence."""
_LONGEST_TITLE = 200
"""Characters; a longer line is not a heading."""
_QUOTE_WIDTH = 80
"""Number of characters at the beginning of a line that are searched for quote marks."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the source: its ``number`` from 1, its ``text`` without quoting, and whether it was ``quoted``.

    ``tabbed`` is the text before its tabs were expanded; empty if the line has no tabs.
    """

    number: int
    text: str
    quoted: bool = False
    tabbed: str = ""


@dataclass(frozen=True)
class Part:
    """The result of a grammar, read up to but not including the line with index ``end``.

    ``understood`` says how the first lines of a table of a stated layout were divided.
    """

    end: int
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    understood: tuple[str, ...] = ()


def malformed(source: str, line: Line, why: str) -> ImportProblem:
    """Return the error for a line inside a table that cannot be read."""
    return ImportProblem(
        f'a line of a table is malformed: {why}: "{line.text.strip()[:100]}"',
        where=f"{source}:{line.number}",
        todo="correct the line or remove the line from the file; a table is imported completely or not at all",
    )


def unquoted(numbered: Sequence[Numbered]) -> list[Line]:
    """Return the lines without quoting."""
    return _without_bars([_unquoted(number, text) for number, text in numbered])


def results_only(lines: Iterable[Line]) -> list[Line]:
    """Return the lines; blank the lines of patches, diffstats and mail headers."""
    return list(_without_patches(_without_headers(lines)))


def is_rule(text: str) -> bool:
    """Whether a line only draws a rule (``-----``, ``- - -``, ``+---+``)."""
    return bool(text) and not text[0].isalnum() and _RULE.match(text) is not None


def dedented(lines: list[Line], is_first: Callable[[str], bool]) -> list[Line]:
    """Return the lines without the indentation of output of tools, as in lists and in code blocks of Markdown.

    ``is_first`` returns whether a line without indentation can be the first line of a run.
    """
    widths = {len(line.text) - len(line.text.lstrip()) for line in lines if is_first(line.text.strip())}
    width = min(widths, default=0)
    if not width:
        return lines
    return [replace(line, text=line.text[width:], tabbed="") if line.text[:width].isspace() else line for line in lines]


def borders(unquoted: Sequence[Line], results: Sequence[Line]) -> set[int]:
    """Return the indices of lines at which another text begins: below quoted text, a mail's header, or a patch.

    ``results`` are the ``unquoted`` lines without headers and patches.
    """
    removed = {at for at, line in enumerate(results) if unquoted[at].text and not line.text}
    visible = [at for at, line in enumerate(unquoted) if line.text]
    return removed | {at for before, at in pairwise(visible) if unquoted[before].quoted != unquoted[at].quoted}


def number_or_text(text: str) -> str | int | float:
    """Return a number if the number prints as the same text: ``6.10`` is the name of a kernel, not 6.1."""
    if re.fullmatch(r"\d{1,15}(\.\d{1,15})?", text):
        number = float(text) if "." in text else int(text)
        return number if str(number) == text else text
    return text


def title_above(lines: Sequence[Line], at: int, floor: int) -> str:
    """Return the heading above ``lines[at]``, past rules and up to two blank lines; "" if the text there is a sentence.

    In a box of facts, the heading is the line that names the benchmark.
    """
    blanks = 0
    for place in range(at - 1, floor - 1, -1):
        text = lines[place].text.strip()
        if not text:
            blanks += 1
            if blanks > 2:
                return ""
        elif len(text) > _LONGEST_TITLE:
            return ""
        elif fact := _FACT.match(text):
            if (fact["key"] or "").lower() in ("benchmark", "test", "workload"):
                return fact["value"].strip()
        elif not is_rule(text):
            title = " ".join(text.strip("|*#=~ ").removeprefix("- ").split())
            above = lines[place - 1].text.strip() if place > floor else ""
            return "" if _is_sentence(title, above) else title
    return ""


def _is_sentence(text: str, above: str) -> bool:
    """Whether a line ends a sentence or paragraph; ``above`` is the previous line."""
    if text.endswith((" wrote:", " writes:")):
        return True
    if text.endswith(":"):
        return False
    return text.endswith((".", ",", ";")) or (len(above) > _FULL_LINE and not above.endswith((":", ".")))


def _unquoted(number: int, text: str) -> Line:
    quoted = False
    if ">" in text[:12] and (quote := _QUOTE.match(text, 0, _QUOTE_WIDTH)):
        quoted, text = True, text[quote.end() :]
    return _line(number, text.rstrip(), quoted)


def _line(number: int, text: str, quoted: bool) -> Line:
    return Line(number, text.expandtabs(), quoted, text) if "\t" in text else Line(number, text, quoted)


def emptied(line: Line) -> Line:
    """Return a line without its text."""
    return Line(line.number, "", line.quoted)


def _without_headers(lines: Iterable[Line]) -> Iterator[Line]:
    """Blank mail headers and trailers, and the lines on which a header continues."""
    inside = False
    for line in lines:
        header = ": " in line.text[:40] and _MAIL.match(line.text) is not None
        inside = header or (inside and line.text[:1] == " " and not line.quoted and line.number < 200)
        yield emptied(line) if inside else line


def _without_bars(lines: list[Line]) -> list[Line]:
    """Remove quoting with bars: ``| text`` with a single bar in each of several consecutive lines."""
    out, at = list(lines), 0
    while at < len(out):
        end = at
        while end < len(out) and out[end].text.lstrip().startswith("|"):
            end += 1
        if end > at and all(line.text.count("|") == 1 for line in out[at:end]):
            for place in range(at, end):
                text = (out[place].tabbed or out[place].text).lstrip()[1:].removeprefix(" ")
                out[place] = _line(out[place].number, text, True)
        at = max(end, at + 1)
    return out


def _without_patches(lines: Iterable[Line]) -> Iterator[Line]:
    old = new = 0
    for line in lines:
        text = line.text
        mark = text[:1]
        if (old > 0 or new > 0) and mark in ("", " ", "+", "-", "\\"):
            old -= mark in ("", " ", "-")
            new -= mark in ("", " ", "+")
            yield emptied(line)
            continue
        # The lines of a hunk cannot be counted if its context lost the leading spaces.
        old = new = 0
        if text.startswith("@@") and (hunk := _HUNK.match(text)):
            old, new = int(hunk[1] or 1), int(hunk[2] or 1)
            yield emptied(line)
        elif _PATCH_HEAD.match(text) or (("|" in text or " changed" in text) and _DIFFSTAT.match(text, 0, 300)):
            yield emptied(line)
        else:
            yield line

"""Text between the runs of tools, line by line: headings, commands, counters, times, and markup.

A line is a heading unless it is one of the other kinds. Text that is left out has no name, value or host that could
distinguish runs; a line in other words is a heading or is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

LONGEST = 90
"""Longest heading in characters."""
_MOST_WORDS = 8
"""Most words of a heading that neither ends with a colon nor has markup."""
_MARKUP = "#*=~_`:|-–—<>+^ \t"
_LANGUAGE = r"(?:text|txt|plain|plaintext|console|shell|sh|bash|log|output|none|c|diff|json|yaml|csv|markdown)"
_NAME_OF_TAG = r"(?:h\d|b|p|pre|code|summary|details|strong|em|br|hr|div|span|tt|samp|blockquote|li|ul|ol)"
_BLOCK = re.compile(
    rf"```{_LANGUAGE}?|\{{(?:noformat|code)(?::{_LANGUAGE})?\}}|\[/?(?:code|quote|pre|spoiler)\]"
    rf"|#\+(?:begin|end)_\w+(?: +{_LANGUAGE})?|(?:</?{_NAME_OF_TAG} ?/?>)+",
    re.IGNORECASE,
)
"""Lines that begin or end a block in Markdown, Jira, BBCode, Org or HTML, and have no name of their own."""
_TAG = re.compile(rf"</?{_NAME_OF_TAG}(?: open| class=\"[^\"]*\")? ?/?>", re.IGNORECASE)
_SHELL = re.compile(r"(?:\$|\+{1,2}|#(?!#))[ \t]+(?=\S)")
"""Prompt of a shell, or the mark of ``set -x``. A ``#`` also marks headings and comments."""
_HOST = re.compile(r"(?:\S*[\w.-]+@[\w.-]+\S*[ :]?\S*[$#]|\[[^\]]*@[^\]]*\][$#])[ \t]+(?=\S)")
"""Prompt with user and host."""
_LOOP = re.compile(
    rf"\++ +(?:(?:[a-z]|run|iter|rep|count)=\d{{1,4}}|\(\(.*\)\)|'?\[+'? .*|for \w+ in .*|seq .*)"
    rf"|{_SHELL.pattern}(?:sleep .*|date\b.*|uptime|free\b.*|sync|cat /proc/\w+)"
)
"""Control of a loop in the trace of ``set -x``, and commands between runs that change nothing."""

_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?"
_DAY = r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Mo|Di|Mi|Do|Fr|Sa|So|lun|mar|mer|jeu|ven|sam|dim)[a-z]{0,6}\.?,?"
_DATE = r"(?:[A-Z][a-zé]{2,8}\.? +\d{1,2}|\d{1,2}\.? +[A-Za-zé]{3,9}\.?)"
_TIMES = re.compile(
    rf"(?<![\w.-])\d{{4}}-?\d\d-?\d\d[T _-]?(?:{_CLOCK}|\d\d:\d\d|\d{{6}})(?: ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?"
    rf"|\b\d\d?\.\d\d?\.\d{{4}},? {_CLOCK}"
    rf"|{_DAY} +{_DATE}(?:,? +\d{{4}})?,? +{_CLOCK}(?: +[A-Z]{{3,5}})?(?: +\d{{4}})?"
    rf"|(?<![\d.:]){_CLOCK}(?![\d.:])|\b1[5-9]\d{{8}}(?:\.\d+)?\b"
)
"""Dates with a clock, clocks with seconds, and seconds since 1970, within a line. A date alone may name a build."""
_STATES_TIMES = re.compile(
    r"(?:real|user|sys)\s+(?:\d+m)?\d+[.,]\d+s?"  # time of shells, time -p
    r"|\d+[.,]\d+u(?:ser)? \d+[.,]\d+s(?:ystem)? .*%.*|\d+inputs\+\d+outputs .*swaps"  # time of csh, GNU time
    r"|.*\bup\b.*\bload averages?: .*|load averages?: [\d., ]+|(?:\d+\.\d\d ){3}\d+/\d+ \d+",  # uptime, /proc/loadavg
    re.IGNORECASE,
)
"""Complete lines that state times or the load."""
_OF_PERF = re.compile(r"perf version \S+")
_COUNTER = (
    r"(?:iteration|iter|run|loop|round|pass|rep|repeat|repetition|attempt|try|trial|sample|test|"
    r"lauf|durchlauf|wiederholung|essai|passage)"
)
_NOT_OF_LARGER = r"(?![\d.,:]*\d|[ \t]*(?:ns|us|µs|ms|s|sec|min|k|m|g|%)\b)"
_COUNTED = re.compile(
    rf"(?:\b(?:{_COUNTER}s?|i)[ \t]*[#:=(-]?[ \t]*#?(?P<number>\d{{1,4}})"
    rf"(?:[ \t]*(?:/|of|out of|von|sur)[ \t]*\d{{1,4}}\b)?{_NOT_OF_LARGER}\)?"
    rf"|\[(?P<bracketed>\d{{1,4}})(?:/\d{{1,4}})?\]"
    rf"|(?P<ordinal>1st|2nd|3rd|\d+th|first|second|third|fourth|fifth)[ \t]+{_COUNTER}\b)",
    re.IGNORECASE,
)
"""Counter of repetitions: ``iteration 1``, ``run 2/10``, ``second run``."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_ALONE = re.compile(r"[\W_]*(\d{1,4})(?:[ \t]*(?:/|of)[ \t]*\d{1,4})?[\W_]*|(\d{1,4})回目[\W_]*")
"""A line that is only a number, such as ``echo $i`` prints."""
_LONE_NUMBER = re.compile(r"(?P<before>\D*?)(?P<number>\d{1,3})(?P<after>\D*)")
_VERSION = re.compile(
    r"=\W*\d|\b(?:v|patch(?:es)?|series|rev(?:ision)?|version|kernel|rc|commit|config|variant|cpus?|node|option|step)\W*\d",
    re.IGNORECASE,
)
"""Names with a number that are no counters of runs."""
_WARM_UP = re.compile(r"warm(?:ing)?[ _-]?up|discard|outlier|throw[ -]?away|ignore(?:d)?\b|priming", re.IGNORECASE)
_PLAIN_WORD = re.compile(
    r"(?:start|begin|runn?|end|finish|result|output|benchmark)(?:ing|ed|s)?|done|the|of|on|at|by|took|tests?",
    re.IGNORECASE,
)
"""Words that do not distinguish runs."""
_WORD = re.compile(r"\w[\w+/-]*(?:\.\w+)*")
_FIGURE = re.compile(r"[-+(\[]*\d[\d.,]*[%)\]]*[a-zµ]{0,4}", re.IGNORECASE)
_UNAME = re.compile(r"Linux \S+ (?P<release>\d+\.\d+\S*) .*")


@dataclass(frozen=True)
class TextLine:
    """A line between runs.

    Attributes:
        at: index of the line.
        text: text without blanks at its ends.
        is_command: whether the line is a command of a shell or of a tool.
        counter: number of the run that the line states, if the numbers of all such lines count the runs.
    """

    at: int
    text: str
    is_command: bool = False
    counter: int | None = None

    @property
    def key(self) -> str:
        """The text without markup, times and counters, to compare lines; of ``uname -a`` the complete text."""
        if _UNAME.fullmatch(self.text):
            return self.text.casefold()
        return " ".join(self._plain("#").casefold().strip(_MARKUP).split())

    @property
    def name(self) -> str:
        """The text without markup, times and counters; of a command without prompt; of ``uname -a`` the release."""
        if uname := _UNAME.fullmatch(self.text):
            return uname["release"]
        text = self._plain(" ").replace("`", "").replace("**", "")
        text = text[prompt.end() :] if (prompt := _SHELL.match(text)) else text
        return " ".join(text.strip(_MARKUP).removesuffix("()").strip(_MARKUP + ",").split())

    def _plain(self, mark: str) -> str:
        text = _TIMES.sub(mark, self.text)
        return text if self.counter is None else _COUNTED.sub(mark, text, count=1)


def text_line(at: int, text: str, *, is_of_tool: bool) -> TextLine:
    """Return a line, whose text has no blanks at its ends, without the tags of HTML."""
    text = _TAG.sub("", text).strip() if "<" in text else text
    return TextLine(
        at, text, (is_of_tool and " " in text) or bool(_HOST.match(text) or (_SHELL.match(text) and text[0] != "#"))
    )


def is_blank(text: str) -> bool:
    """Return whether a line is blank, a rule, or the beginning or end of a block."""
    return not any(map(str.isalnum, text)) or _BLOCK.fullmatch(text) is not None


def keys_of(lines: Iterable[TextLine]) -> tuple[str, ...]:
    """Return the key of each line."""
    return tuple(line.key for line in lines)


def shape_of(text: str) -> str:
    """Return the text with ``#`` in the place of each number."""
    return re.sub(r"\d[\d.,]*", "#", text)


def marks_warm_up(text: str) -> bool:
    """Return whether a line marks a run that is not measured."""
    return _WARM_UP.search(text) is not None


def is_certain(line: TextLine) -> bool:
    """Return whether a line ends with a colon, or has the markup of a heading, or is a command."""
    text = line.text
    marked = text[:2] in ("==", "##", "**", "--", "++") or (text[:1] == "#" and not text[1:2].isalnum())
    return text.endswith(":") or line.is_command or marked or _UNAME.fullmatch(text) is not None


def is_heading(line: TextLine) -> bool:
    """Return whether a line can be a heading, unlike a sentence or a row of figures."""
    name = line.name
    if not name or len(name) > LONGEST or line.text.endswith((" wrote:", " writes:", " schrieb:")):
        return False
    words = name.split()
    is_short = len(words) <= _MOST_WORDS and name[-1] not in ".,;!?" and sum(map(_is_figure, words)) < 2
    has_fields = sum(map(name.count, ",;|")) > 2
    return is_certain(line) or (is_short and not has_fields)


def _is_figure(word: str) -> bool:
    return _FIGURE.fullmatch(word) is not None


@dataclass(frozen=True)
class Counted:
    """Text between runs without the lines that only count the runs or state times.

    ``counting`` are these lines. ``unsure``: a line that may count the runs, or may be a heading.
    """

    gaps: Sequence[Sequence[TextLine]]
    counting: Sequence[TextLine]
    unsure: TextLine | None


def without_counters(gaps: Sequence[Sequence[TextLine]], runs: Sequence[int]) -> Counted:
    """Separate the lines of the gaps that only count the runs or state times, and find the counters in other lines.

    ``runs`` is the number of runs below each gap: a counter counts single runs. Its numbers follow each other.
    """
    perf = {line.text for gap in gaps for line in gap if _OF_PERF.fullmatch(line.text)}
    templates: dict[str, list[int]] = {}
    weak: dict[str, list[tuple[TextLine, int]]] = {}
    for line in (line for gap in gaps for line in gap):
        if match := _COUNTED.search(line.text):
            templates.setdefault(_template(line.text), []).append(_number(match))
        elif _ALONE.fullmatch(line.text):
            continue
        elif (match := _LONE_NUMBER.fullmatch(line.text)) and not (line.is_command or _VERSION.search(line.text)):
            weak.setdefault(match.expand(r"\g<before>#\g<after>"), []).append((line, int(match["number"])))
    follow = {template for template, numbers in templates.items() if _follow(numbers)}
    counted, counting = list[list[TextLine]](), list[TextLine]()
    alone = _alone(gaps)
    alone_at = {line.at for line in alone}
    several = any(count > 1 for gap, count in zip(gaps, runs, strict=True) if any(line.at in alone_at for line in gap))
    for gap in gaps:
        counted.append([])
        for line in gap:
            match = _COUNTED.search(line.text) if _template(line.text) in follow else None
            known = replace(line, counter=_number(match)) if match else line
            is_counting = line.at in alone_at or _only_counts(known) or (line.text in perf and len(perf) == 1)
            (counting if is_counting else counted[-1]).append(known)
    unsure = _restarts(gaps, counting)
    unsure += [lines[1][0] for lines in weak.values() if len(lines) > 1 and _follow([number for _, number in lines])]
    # Two numbers may also be the values of a setting.
    if several or (alone and len(alone) + (_number_alone(alone[0]) == 2) < 3):
        unsure.append(alone[-1])
    return Counted(counted, counting, unsure[0] if unsure else None)


def _restarts(gaps: Sequence[Sequence[TextLine]], counting: Sequence[TextLine]) -> list[TextLine]:
    """Return the counters that begin again without other text above: the runs may be of another kernel."""
    by_place = {line.at: line for line in counting}
    restarts, before, has_heading = list[TextLine](), None, False
    for gap in gaps:
        has_heading |= any(line.at not in by_place for line in gap)
        for line in (by_place[line.at] for line in gap if line.at in by_place):
            if line.counter is None:
                continue
            if before is not None and line.counter <= before and not has_heading:
                restarts.append(line)
            before, has_heading = line.counter, False
    return restarts


def only_counts(text: str) -> bool:
    """Return whether a line alone can only count a run or state times."""
    return _only_counts(TextLine(0, text, counter=0))


def _only_counts(line: TextLine) -> bool:
    """Return whether a line has only a counter, times, and words that do not distinguish runs."""
    if _STATES_TIMES.fullmatch(line.text) or _LOOP.fullmatch(line.text):
        return True
    return all(map(_PLAIN_WORD.fullmatch, _WORD.findall(line.key)))


def _alone(gaps: Sequence[Sequence[TextLine]]) -> list[TextLine]:
    """Return the lines that are only a number, if the numbers count the runs below each heading."""
    lines, before = list[TextLine](), None
    for gap in gaps:
        numbers = [(line, number) for line in gap if (number := _number_alone(line)) is not None]
        has_other_text = len(gap) > len(numbers)
        for line, number in numbers:
            begins = number <= 1 or (number == 2 and before is None)
            if not (number == (before or 0) + 1 or (begins and (has_other_text or before is None))):
                return []
            before = number
            lines.append(line)
        before = None if has_other_text and not numbers else before
    return lines


def _template(text: str) -> str:
    """Return the text of a line with ``#`` in the place of its counter."""
    return _COUNTED.sub("#", text, count=1).casefold()


def _number_alone(line: TextLine) -> int | None:
    match = _ALONE.fullmatch(line.text)
    return int(match[1] or match[2]) if match else None


def _number(match: re.Match[str]) -> int:
    if number := match["number"] or match["bracketed"]:
        return int(number)
    ordinal = match["ordinal"].lower()
    return _ORDINALS.index(ordinal) + 1 if ordinal in _ORDINALS else int(re.sub(r"\D", "", ordinal))


def _follow(numbers: Sequence[int]) -> bool:
    """Return whether numbers begin with at most 2, as the first run may be without a number, and follow each other."""
    return (
        bool(numbers)
        and numbers[0] <= 2
        and all(after == before + 1 or after in (0, 1, numbers[0]) for before, after in pairwise(numbers))
    )

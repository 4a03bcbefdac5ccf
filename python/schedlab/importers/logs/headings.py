"""Division of a text with runs of tools into the parts below its headings: one rule for all tools.

    6.12.8:               heading: the runs below it are a column
    <output of a tool>
    iteration 2           text that only counts the runs or states times does not separate them
    <output of a tool>
    6.13.0:               next heading, next column
    <output of a tool>

Text between two runs separates them. If the text may be a heading or prose, the import is refused, so that runs of two
kernels are never pooled in silence. A heading of several lines has levels; a shorter heading replaces the inner levels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile
from typing import NamedTuple

from schedlab.results.imported import ImportProblem
from schedlab.workloads.log_reader import Log

Stack = tuple[str, ...]
"""The levels of the heading above a run, the outermost first."""

_LONGEST = 90
"""Longest heading in characters."""
_MOST_WORDS = 8
"""Most words of a heading that neither ends with a colon nor has markup."""
_MOST_LEVELS = 12
_MARKUP = "#*=~_`:|-–—<>+ \t"
_PROMPT = re.compile(r"(?:[$+]+|#(?!#)|\S*[\w.-]+@[\w.-]+\S*[ :]?\S*[$#]|\[[^\]]*@[^\]]*\][$#])[ \t]+(?=\S)")
"""Prompt before a command of a shell, or the mark of ``set -x``. A ``#`` also marks headings and comments."""

_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AP]M)?"
_DAY = r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\.?,?"
_DATE = r"(?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +\d{1,2}|\d{1,2}\.? +[A-Z][a-z]{2,8})"
_TIMES = re.compile(
    rf"\b\d{{4}}-\d\d-\d\d(?:[T ]{_CLOCK})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?"
    rf"|{_DAY} +{_DATE}(?:,? +\d{{4}})?(?:,? +{_CLOCK})?(?: +[A-Z]{{3,5}})?(?: +\d{{4}})?"
    rf"|(?<![\d.]){_CLOCK}(?![\d.:])"
)
"""Dates of date(1) and of ISO 8601, and clocks, within a line."""
_STATES_TIMES = re.compile(
    r"(?:real|user|sys)\s+(?:\d+m)?\d+[.,]\d+s?"  # time of shells, time -p
    r"|\d+[.,]\d+u(?:ser)? \d+[.,]\d+s(?:ystem)? .*%.*|\d+inputs\+\d+outputs .*swaps"  # time of csh, GNU time
    r"|.*\bup\b.*\bload averages?: .*|load averages?: [\d., ]+|(?:\d+\.\d\d ){3}\d+/\d+ \d+"  # uptime, /proc/loadavg
    r"|perf version \S+|1\d{9}(?:\.\d+)?",  # date +%s
    re.IGNORECASE,
)
"""Complete lines that state times, the load, or the version of perf."""
_COUNTER = r"(?:iteration|iter|run|loop|round|pass|rep|repeat|repetition|attempt|try|trial|sample)"
_COUNTED = re.compile(
    rf"\b(?:{_COUNTER}s?[ \t]*[#:=(-]?[ \t]*#?\d{{1,6}}"
    rf"|(?:1st|2nd|3rd|\d+th|first|second|third|fourth|fifth)[ \t]+{_COUNTER})"
    r"\b(?:[ \t]*(?:/|of|out of)[ \t]*\d{1,6}\b)?",
    re.IGNORECASE,
)
"""Counter of repetitions: ``iteration 1``, ``run 2/10``, ``second run``."""
_NUMBER_ALONE = re.compile(r"[\W_]*(\d{1,6})(?:[ \t]*(?:/|of)[ \t]*\d{1,6})?[\W_]*")
"""A line that is only a number, such as ``echo $i`` prints."""
_PLAIN_WORD = re.compile(
    r"(?:start|begin|runn?|end|finish|result|output|test|benchmark)(?:ing|ed|s)?|done|the|of|on|at", re.IGNORECASE
)
"""Words that do not distinguish runs, beside a counter or a time."""
_WORD = re.compile(r"\w[\w.+/-]*")
_FIGURE = re.compile(r"[-+(\[]*\d[\d.,]*[%)\]]*[a-zµ]{0,4}", re.IGNORECASE)


class TextLine(NamedTuple):
    """A line between runs: its index and text."""

    at: int
    text: str


@dataclass(frozen=True)
class Kinds:
    """How the lines of a text are classified, by their index and their text without blanks at its ends.

    Attributes:
        is_output: whether the line is output of a tool.
        begins: whether the line, which is output, can be the first of a run.
        command: the part before the tool's name of a command line; None for other lines.
        tables: indices of lines of tables, which are neither output nor text.
    """

    is_output: Callable[[int, str], bool]
    begins: Callable[[int, str], bool]
    command: Callable[[str], str | None]
    tables: Collection[int] = ()


@dataclass(frozen=True)
class Part:
    """Lines of a text that belong to one column, as ranges of indices. ``heading``: the heading's last line, if any."""

    stack: Stack
    heading: TextLine | None
    lines: Sequence[range]


@dataclass(frozen=True)
class Division:
    """A text divided by its headings.

    ``counting``: lines between runs that only count the runs or state times.
    """

    parts: Sequence[Part]
    counting: Sequence[TextLine]


@dataclass
class _Segment:
    """Consecutive output of tools, as ranges of indices, and the text above it."""

    above: list[TextLine]
    lines: list[range]
    heading: TextLine | None = None
    stack: Stack = ()


def divide(log: Log, kinds: Kinds) -> Division:
    """Divide a log below its headings; runs without headings between them are one part.

    Raises:
        ImportProblem: text between two runs may be a heading or prose.
    """
    segments, below = _segments(log.lines, kinds)
    counting = _counting([segment.above for segment in segments])
    for segment in segments:
        segment.above = [line for line in segment.above if line not in counting]
    below = [line for line in below if not _is_counting(line.text)]
    if not _is_repetition([segment.above for segment in segments], below):
        _state_headings(log, segments, below)
    parts = []
    for stack in dict.fromkeys(segment.stack for segment in segments):
        of_stack = [segment for segment in segments if segment.stack == stack]
        parts.append(Part(stack, of_stack[0].heading, [each for segment in of_stack for each in segment.lines]))
    return Division(parts, sorted(counting))


def name_of(text: str) -> str:
    """Return the text of a heading without its markup, or of a command without its prompt."""
    if prompt := _PROMPT.match(text):
        text = text[prompt.end() :]
    return text.strip(_MARKUP).replace("`", "").replace("**", "")


def _segments(lines: Iterable[str], kinds: Kinds) -> tuple[list[_Segment], list[TextLine]]:
    """Return the segments of output, and the text below the last segment."""

    def separates(line: TextLine) -> bool:
        return line in commands or _is_certain(line.text)

    segments, text = list[_Segment](), list[TextLine]()
    commands: dict[TextLine, None] = {}
    prefixes: set[str] = set()
    end = 0
    for at, line in enumerate(map(str.strip, lines)):
        if at in kinds.tables:
            text, end = [], at + 1
        elif kinds.is_output(at, line):
            if not segments or (text and (kinds.begins(at, line) or any(map(separates, text)))):
                # The options of a command hold for the runs below further headings.
                segments.append(_Segment(text, [range(each.at, each.at + 1) for each in list(commands)[-1:]]))
                end = at
            if (ranges := segments[-1].lines) and ranges[-1].stop == end:
                ranges[-1] = range(ranges[-1].start, at + 1)
            else:
                ranges.append(range(end, at + 1))
            text, end = [], at + 1
        elif (prefix := kinds.command(line)) is not None:
            commands[TextLine(at, line)] = None
            prefixes.add(_key(prefix))
            text.append(TextLine(at, line))
        elif not _is_blank(line):
            text.append(TextLine(at, line))
    if len(prefixes) < 2:
        # Commands that differ only in the tool's own options do not separate runs.
        for segment in segments:
            segment.above = [each for each in segment.above if each not in commands]
    return segments, text


def _is_blank(text: str) -> bool:
    """Return whether a line is blank, a rule, or the fence of a block in Markdown."""
    return text.startswith("```") or not any(map(str.isalnum, text))


def _counting(gaps: Sequence[Sequence[TextLine]]) -> set[TextLine]:
    """Return the lines between runs that only count the runs, state times, or are always the same commands.

    Args:
        gaps: text above each segment; the first gap is not between runs.
    """
    first, *between = gaps or [()]
    numbers = [
        (line, int(match[1])) for gap in between for line in gap if (match := _NUMBER_ALONE.fullmatch(line.text))
    ]
    # The numbers begin again below each heading, and the first run may be without a number.
    ascending = all(
        after <= 2 or after == before + 1 for (_, before), (_, after) in pairwise([(TextLine(0, ""), 0), *numbers])
    )
    counting = {line for line, _ in numbers} if ascending else set()
    counting |= {line for gap in between for line in gap if _is_counting(line.text)}
    rest = [[line for line in gap if line not in counting] for gap in between]
    commands = [gap for gap in rest if gap and _is_of_commands(gap)]
    above = list(takewhile(lambda line: _is_of_commands([line]), reversed(first)))[::-1]
    if len(commands) > 1 and len({_keys(gap) for gap in (*commands, above) if gap}) == 1:
        counting.update(line for gap in commands for line in gap)
    return counting


def _is_counting(text: str) -> bool:
    """Return whether a line only counts a run or states times."""
    if _STATES_TIMES.fullmatch(text):
        return True
    rest = _COUNTED.sub(" ", _TIMES.sub(" ", text))
    return rest != text and all(map(_PLAIN_WORD.fullmatch, _WORD.findall(rest)))


def _key(text: str) -> str:
    """Return the text of a line without markup, times and counters, to compare lines of different gaps."""
    return " ".join(_COUNTED.sub("#", _TIMES.sub("#", text)).casefold().strip(_MARKUP).split())


def _keys(gap: Iterable[TextLine]) -> tuple[str, ...]:
    return tuple(_key(line.text) for line in gap)


def _is_repetition(gaps: Sequence[Sequence[TextLine]], below: Sequence[TextLine]) -> bool:
    """Return whether the gaps between the segments are the same, so that the segments are repetitions of one run.

    The text above the first segment may contain further lines. If the first segment has no text above it, the gaps are
    separators only if they also stand below the last segment, or are more than one.
    """
    first, *between = list(map(_keys, gaps)) or [()]
    if not any(between):
        return True
    if len(set(between)) > 1:
        return False
    separator = between[0]
    return first[-len(separator) :] == separator or (
        not first and (len(between) > 1 or _keys(below)[: len(separator)] == separator)
    )


def _state_headings(log: Log, segments: Sequence[_Segment], below: Sequence[TextLine]) -> None:
    """Set heading and stack of every segment; ImportProblem for text that may be a heading or prose."""
    stack, heading = Stack(), None
    of_commands = {_is_of_commands(segment.above) for segment in segments if segment.above}
    prose: dict[Stack, tuple[str, ...]] = {}
    for number, segment in enumerate(segments):
        if number and len(of_commands) > 1 and segment.above and _is_of_commands(segment.above):
            # Below headings of words, a command may be one of the same variant.
            raise _uncertain(log, segment.above[-1])
        if own := _heading(segment.above):
            names = tuple(name_of(line.text) for line in own)
            stack, heading = (*stack[: max(len(stack) - len(names), 0)], *names), own[-1]
            above = segment.above[: -len(own)]
            # Runs below the same heading and different prose may be runs of different kernels.
            if above and number and prose.setdefault(stack, _keys(above)) != _keys(above):
                raise _uncertain(log, above[-1])
        elif segment.above and number:
            raise _uncertain(log, segment.above[-1])
        prose.setdefault(stack, _keys(segment.above[: -len(own)] if own else segment.above))
        segment.heading, segment.stack = heading, stack
    _require_order(log, [segment for segment in segments if segment.above])
    if not segments[0].above and below and _is_heading(below[0].text):
        # The lines may be captions, each below its run.
        raise _uncertain(log, below[0])


def _is_of_commands(gap: Sequence[TextLine]) -> bool:
    """Return whether all lines are commands of a shell; a line with ``#`` may also be a heading or comment."""
    return all(_PROMPT.match(line.text) and line.text[0] != "#" for line in gap)


def _require_order(log: Log, segments: Sequence[_Segment]) -> None:
    """Raise ImportProblem if a heading returns, unless all return in turn, as where variants are run alternately.

    Otherwise a heading that returns may be the name of a test below the heading of a variant.
    """
    every = [segment.stack for segment in segments]
    visits = [stack for stack, _ in groupby(every)]
    order = list(dict.fromkeys(every))
    if len(order) < len(visits) and not (_is_in_turn(visits, order) or _is_in_turn(every, order)):
        again = next(stack for at, stack in enumerate(visits) if stack in visits[:at])
        raise _uncertain(log, [segment for segment in segments if segment.stack == again][-1].above[-1])


def _is_in_turn(stacks: Sequence[Stack], order: Sequence[Stack]) -> bool:
    """Return whether the headings return in a fixed order, or all in each round in any order."""
    rounds = [stacks[at : at + len(order)] for at in range(0, len(stacks), len(order))]
    in_fixed_order = all(stack == order[at % len(order)] for at, stack in enumerate(stacks))
    return in_fixed_order or all(sorted(each) == sorted(order) for each in rounds)


def _heading(gap: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines of a heading at the end of a gap; empty if the last line of the gap is prose."""
    heading: list[TextLine] = []
    for line in reversed(gap[-_MOST_LEVELS:]):
        if not _is_heading(line.text):
            break
        heading.insert(0, line)
    return heading


def _is_heading(text: str) -> bool:
    """Return whether a line can be a heading, unlike a sentence or a row of figures."""
    name = name_of(text)
    if not name or len(name) > _LONGEST or text.endswith((" wrote:", " writes:")):
        return False
    if _is_certain(text):
        return True
    words = name.split()
    return len(words) <= _MOST_WORDS and name[-1] not in ".,;!?" and sum(map(_is_figure, words)) < 2


def _is_certain(text: str) -> bool:
    """Return whether a line ends with a colon, or has the markup of a heading or the prompt of a command."""
    marked = text[:2] in ("==", "##", "**", "--") or (text[0] == "#" and not text[1:2].isalnum())
    return text.endswith(":") or bool(_PROMPT.match(text)) or (marked and bool(name_of(text)))


def _is_figure(word: str) -> bool:
    return _FIGURE.fullmatch(word) is not None


def _uncertain(log: Log, line: TextLine) -> ImportProblem:
    return log.problem(
        f'text between runs may be a heading or prose: "{line.text[:80]}"',
        line.at + 1,
        "--column NAME=FIRST-LAST for the lines of each column, or --name NAME if all runs are one column",
    )

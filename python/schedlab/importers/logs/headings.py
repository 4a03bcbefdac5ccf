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

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, takewhile

from schedlab.importers.logs.between import (
    TextLine,
    is_blank,
    is_certain,
    is_heading,
    keys_of,
    marks_warm_up,
    shape_of,
    text_line,
    without_counters,
)
from schedlab.results.imported import ImportProblem
from schedlab.workloads.log_reader import Log


@dataclass(frozen=True)
class Level:
    """One level of a heading, equal to others by its ``key``: without counters, times and markup."""

    key: str
    name: str = field(compare=False)


Stack = tuple[Level, ...]
"""The levels of the heading above a run, the outermost first."""

_MOST_LEVELS = 12


@dataclass(frozen=True)
class Kinds:
    """How the lines of a text are classified, by their index and their text without blanks at its ends.

    Attributes:
        is_output: whether the line is output of a tool.
        begins: whether the line, which is output, can be the first of a run.
        is_command: whether the line is a tool's command line, which is read with the run below.
        tables: indices of lines of tables, which are neither output nor text.
    """

    is_output: Callable[[int, str], bool]
    begins: Callable[[int, str], bool]
    is_command: Callable[[str], bool]
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
    """Consecutive output of tools.

    Attributes:
        above: text above the output.
        lines: ranges of indices; empty for a table.
        is_other: whether another text (a mail, a quotation) begins above the output.
        runs: number of lines like the first.
        first: shape of the first line.
        shapes: shapes of all lines.
        within: text within the output that may be a heading.
    """

    above: Sequence[TextLine]
    lines: list[range]
    is_other: bool = False
    runs: int = 0
    first: str = ""
    shapes: set[str] = field(default_factory=set)
    within: TextLine | None = None
    heading: TextLine | None = None
    stack: Stack = ()


def divide(log: Log, kinds: Kinds) -> Division:
    """Divide a log below its headings; runs without headings between them are one part.

    Raises:
        ImportProblem: text between two runs may be a heading or prose.
    """
    segments, below = _segments(log, kinds)
    above = list(chain.from_iterable(segment.above for segment in segments)) if len(segments) > 1 else []
    if marked := next((line for line in above if marks_warm_up(line.text)), None):
        raise _uncertain(log, marked, "text marks a run that is not measured")
    counted = without_counters(
        [*(segment.above for segment in segments), below], [*(each.runs for each in segments), 0]
    )
    *gaps, below_last = counted.gaps
    counting = {line.at: line for line in counted.counting}
    counting |= _same_commands(gaps)
    for segment, gap in zip(segments, gaps, strict=True):
        segment.above = [line for line in gap if line.at not in counting]
    if counted.unsure is not None:
        raise _uncertain(log, counted.unsure, "text may count the runs or be a heading")
    if not _is_repetition([segment.above for segment in segments], below_last):
        _state_headings(log, segments, below_last)
    elif other := [segment for segment in segments[1:] if segment.is_other and segment.lines]:
        raise _uncertain(
            log, TextLine(other[0].lines[0].start, ""), "the run is in another mail, or below a quotation or patch"
        )
    by_stack: dict[Stack, list[_Segment]] = {}
    for segment in segments:
        if segment.lines:
            by_stack.setdefault(segment.stack, []).append(segment)
    parts = [
        Part(stack, of_stack[0].heading, [each for segment in of_stack for each in segment.lines])
        for stack, of_stack in by_stack.items()
    ]
    between = {line.at for segment in segments[1:] for line in segment.above} | counting.keys()
    return Division(parts, [line for at, line in sorted(counting.items()) if at in between])


def _segments(log: Log, kinds: Kinds) -> tuple[list[_Segment], list[TextLine]]:
    """Return the segments of output, and the text below the last segment."""
    segments, text = list[_Segment](), list[TextLine]()
    command: range | None = None
    end, is_other, is_table = 0, False, False
    for at, line in enumerate(map(str.strip, log.lines)):
        is_other = is_other or at in log.borders
        if at in kinds.tables:
            if text or not segments:
                segments.append(_Segment(text, [], is_other))
                is_other = False
            text, end, is_table = [], at + 1, True
        elif kinds.is_output(at, line):
            begins, shape = kinds.begins(at, line), shape_of(line)
            if (
                not segments
                or is_table
                or is_other
                or (text and (begins or any(map(is_certain, text)) or shape == segments[-1].first))
            ):
                # The options of a command hold for the runs below further headings.
                segments.append(_Segment(text, [command] if command else [], is_other, first=shape))
                end, is_other, is_table = at, False, False
            elif text and segments[-1].within is None:
                segments[-1].within = next((line for line in text if is_heading(line)), None)
            if (within := segments[-1].within) is not None and shape in segments[-1].shapes:
                # The output begins again without its first line.
                raise _uncertain(log, within)
            segments[-1].shapes.add(shape)
            ranges = segments[-1].lines
            if ranges and ranges[-1].stop == end:
                ranges[-1] = range(ranges[-1].start, at + 1)
            else:
                ranges.append(range(end, at + 1))
            segments[-1].runs += shape == segments[-1].first
            text, end = [], at + 1
        elif not is_blank(line):
            if any(rest and kinds.is_output(at, rest) and kinds.begins(at, rest) for rest in _rests(line)):
                raise _uncertain(log, TextLine(at, line), "a heading and output of a tool are in one line")
            is_command = kinds.is_command(line)
            command = range(at, at + 1) if is_command else command
            text.append(text_line(at, line, is_of_tool=is_command))
    return segments, [line for line in text if not is_blank(line.text)]


def _rests(line: str) -> Iterator[str]:
    """Yield the parts of a line below a mark that may end a heading."""
    return (line.partition(mark)[2] for mark in (": ", " - ", "\t"))


def _same_commands(gaps: Sequence[Sequence[TextLine]]) -> dict[int, TextLine]:
    """Return the lines of gaps that contain only commands, if the commands are the same in all such gaps."""
    first, *between = gaps or [()]
    commands = [gap for gap in between if gap and _is_of_commands(gap)]
    above = list(takewhile(lambda line: line.is_command, reversed(first)))[::-1]
    if len(commands) < 2 or len({keys_of(gap) for gap in (*commands, above) if gap}) > 1:
        return {}
    return {line.at: line for gap in commands for line in gap}


def _is_of_commands(gap: Sequence[TextLine]) -> bool:
    return all(line.is_command for line in gap)


def _is_repetition(gaps: Sequence[Sequence[TextLine]], below: Sequence[TextLine]) -> bool:
    """Return whether the gaps between the segments are the same, so that the segments are repetitions of one run.

    The text above the first segment may contain further lines. If the first segment has no text above it, the gaps are
    separators only if they also stand below the last segment.
    """
    first, *between = list(map(keys_of, gaps)) or [()]
    if not any(between):
        return True
    if len(set(between)) > 1:
        return False
    separator = between[0]
    return first[-len(separator) :] == separator or (not first and keys_of(below)[: len(separator)] == separator)


def _state_headings(log: Log, segments: Sequence[_Segment], below: Sequence[TextLine]) -> None:
    """Set heading and stack of every segment; ImportProblem for text that may be a heading or prose."""
    _require_no_figures(log, segments)
    stack, heading = Stack(), None
    is_known = True
    prose: dict[Stack, tuple[str, ...]] = {}
    stacks: set[Stack] = set()
    for number, segment in enumerate(segments):
        own = _heading(segment.above)
        above = segment.above[: len(segment.above) - len(own)]
        if own:
            if number and _is_of_commands(segment.above) and heading is not None and not heading.is_command:
                # Below headings of words, a command may be one of the same variant.
                raise _uncertain(log, own[-1])
            levels = tuple(Level(line.key, line.name) for line in own)
            outer = stack[: max(len(stack) - len(levels), 0)] if not segment.is_other else ()
            stack, heading, is_known = (*outer, *levels), own[-1], True
            # Runs below the same heading and different prose may be runs of different kernels.
            if above and number and prose.setdefault(stack, keys_of(above)) != keys_of(above):
                raise _uncertain(log, above[-1])
            if segment.is_other and stack in stacks:
                raise _uncertain(log, own[-1], "the heading is also in another mail, or above a quotation or patch")
        elif above and number and segment.lines:
            raise _uncertain(log, above[-1])
        elif (above or segment.is_other) and number:
            is_known = False
        if segment.lines and not is_known:
            raise _uncertain(log, TextLine(segment.lines[-1].start, ""), "the run has no heading of its own")
        prose.setdefault(stack, keys_of(above))
        segment.heading, segment.stack = heading, stack
        stacks.add(stack)
    first, *others = segments
    headed = [segment for segment in others if segment.above and segment.lines]
    lines = [segment.above[-1] for segment in headed]
    if any(map(is_certain, [*lines, *(first.above[-1:] if first.lines else ())])):
        # Beside headings with a colon or markup, a line without is no heading with certainty.
        for line in lines:
            if not is_certain(line):
                raise _uncertain(log, line)
    _require_order(log, [first, *headed])
    _require_no_captions(log, [segment.above for segment in segments], below)


def _require_no_figures(log: Log, segments: Sequence[_Segment]) -> None:
    """Raise ImportProblem if every gap has a line with another figure, beside headings: the run above may print it."""
    first, *between = [{shape_of(line.text): line for line in segment.above} for segment in segments if segment.above]
    shapes = set.intersection(*map(set, between)) if len(between) > 1 else set()
    for shape in (shape for shape in shapes if "#" in shape):
        lines = [gap[shape] for gap in between]
        has_headings = any(len(gap) > 1 for gap in between)
        is_unlike = len({line.text for line in lines}) == len(lines) and not any(map(is_certain, lines))
        if is_unlike and (shape not in first or has_headings):
            raise _uncertain(log, lines[0], "text may be a heading or a figure of the run above")


def _require_no_captions(log: Log, gaps: Sequence[Sequence[TextLine]], below: Sequence[TextLine]) -> None:
    """Raise ImportProblem if the headings may be captions, each below its run."""
    first, *between = gaps
    if not below or not is_heading(below[0]):
        return
    forms = {_form(gap[0]) for gap in between if gap}
    if not first or (_form(below[0]) in forms and (not first or _form(first[-1]) not in forms)):
        raise _uncertain(log, below[0])


def _form(line: TextLine) -> tuple[str, str, str]:
    """Return the first and last character, and the first word, of a line with digits and letters in place of others."""
    text = line.text
    ends = [("#" if mark.isdigit() else "a" if mark.isalpha() else mark) for mark in (text[0], text[-1])]
    return ends[0], ends[1], shape_of(text.split()[0].casefold()) if ends == ["a", "a"] else ""


def _require_order(log: Log, segments: Sequence[_Segment]) -> None:
    """Raise ImportProblem if a heading returns, unless all return in turn, as where variants are run alternately.

    Otherwise a heading that returns may be the name of a test below the heading of a variant. A line that is above
    several runs in succession, and is not certainly a heading, may separate runs below one heading.
    """
    every = [segment.stack for segment in segments]
    visits = [(stack, len(list(same))) for stack, same in groupby(every)]
    order = list(dict.fromkeys(every))
    in_turn = _is_in_turn([stack for stack, _ in visits], order) or _is_in_turn(every, order)
    unequal = len({count for _, count in visits}) > 1 and not in_turn
    last = {segment.stack: segment.above[-1:] for segment in segments}
    seen: set[Stack] = set()
    for stack, count in visits:
        returns = stack in seen and not in_turn
        seen.add(stack)
        if last[stack] and (returns or (unequal and count > 1 and not is_certain(last[stack][0]))):
            raise _uncertain(log, last[stack][0])


def _is_in_turn(stacks: Sequence[Stack], order: Sequence[Stack]) -> bool:
    """Return whether the headings return in a fixed order, or all in each round in any order."""
    rounds = [stacks[at : at + len(order)] for at in range(0, len(stacks), len(order))]
    in_fixed_order = len(stacks) > len(order) and all(
        stack == order[at % len(order)] for at, stack in enumerate(stacks)
    )
    return in_fixed_order or all(Counter(each) == Counter(order) for each in rounds)


def _heading(gap: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines of a heading at the end of a gap; empty if the last line of the gap is prose."""
    lines = takewhile(is_heading, reversed(gap[-_MOST_LEVELS:]))
    return list(lines)[::-1]


def _uncertain(log: Log, line: TextLine, fault: str = "text between runs may be a heading or prose") -> ImportProblem:
    return log.problem(
        f'{fault}: "{line.text[:80]}"' if line.text else fault,
        line.at + 1,
        "--column NAME=FIRST-LAST for the lines of each column, or --name NAME if all runs are one column",
    )

"""Lines of ``perf stat`` for people, in the locale of the user::

    Performance counter stats for 'perf bench sched pipe' (10 runs):

        16,839.74 msec task-clock:u        #    1.158 CPUs utilized     ( +-  0.52% )
       45.291088843 seconds time elapsed                                ( +-  0.40% )

``stat-display.c`` prints counts as whole numbers in groups of three (``%'18.0f``), figures with a unit with two
decimals (``%'18.2f``), and times without groups. The point and the comma change places with the locale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from schedlab.results.imported import ImportProblem
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.perf_stat.output import CLOCKS, Count, unit_of

_TITLE = re.compile(r"\s*Performance counter stats for (?P<command>.+?)(?: \((?P<runs>\d+) runs\))?:?\s*\Z")
_FIGURE = r"(?:\d{1,3}(?:[., ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
_SPREAD = r"(?:\(\s*\+-\s*(?P<spread>\d+(?:[.,]\d+)?)\s*%\s*\))"
_SHARE = r"(?:[\[(]\s*[\d.,]+\s*%\s*[\])])?"
"""The time that a multiplexed counter was enabled."""
_ELAPSED = re.compile(
    rf"(?P<heading>.*?)(?<![\d.,\w])(?P<value>{_FIGURE})\s*(?:\+-\s*[\d.,]+\s*)?\s*seconds?\s+"
    rf"(?P<kind>time elapsed|user|sys)\b\s*{_SPREAD}?"
)
_KINDS = {"time elapsed": "elapsed", "user": "user", "sys": "system"}
_COUNTER = re.compile(
    rf"\s*(?P<value>{_FIGURE}|<not (?:supported|counted)>)\s+(?:(?P<unit>msec|nsec|Joules|MiB|Bytes|ns|%)\s+)?"
    rf"(?P<event>[A-Za-z_][\w./:=,@-]*)(?P<clock> \(msec\))?\s*(?:\s#.*?|\s->.*?)?\s*{_SPREAD}?\s*{_SHARE}\s*\Z"
)
_DAMAGED = re.compile(r"\s*[\d<].*(?:seconds? time elapsed|\(\s*\+-\s*[\d.,]+\s*%\s*\)|\s#\s+[\d.,]+\s)")
_DAMAGED_ELAPSED = re.compile(r"\s*\S*\d\S*\s+seconds? time elapsed")
_TABLE = re.compile(r"\s*(?:\d+[.,]\d+ \([-+]\d+[.,]\d+\) #+|# (?:Table of individual measurements|Final result):)\s*$")
_SECOND_COMMENT = re.compile(rf"\s*#.*?{_SPREAD}?\s*{_SHARE}\s*\Z")
_COMMON_EVENT = re.compile(
    r"\s(?:(?:task|cpu)-clock|cycles|instructions|branch(?:es|-misses)|(?:page|major|minor)-faults|context-switches|"
    r"cpu-migrations|cache-(?:misses|references)|(?:L1-[di]cache|LLC|[di]TLB|node)-(?:load|store)[\w-]*|"
    r"stalled-cycles-\w+)(?::\w+)?\s"
)
_COMMAND = re.compile(r"perf stat|perf bench|^\s*[$#]\s")
_OPTIONS = re.compile(r".*?perf stat(?:\s+-[exoCGpt]\s+\S+|\s+-\S+(?:\s+\d\S*)?)*\s+(?:--\s+)?")
_REPEAT = re.compile(r"(?:--repeat[= ]?|-r ?)(\d+)")
_DECIMAL_COMMA = re.compile(
    r"\d,\d+\s*%|\d\.\d{3}[.,]\d|(?<![\d.,\w])(?:0,\d|\d+,(?!\d{3}(?!\d))\d)|(?<![\d.,\w])\d+,\d+[^.]*\sseconds"
)
"""Evidence that a comma is the decimal mark: a percentage, a point between groups, other than three digits, a time."""
_GROUPS = re.compile(r"\d{1,3}(?:[., ]\d{3})+")
_POINTS_OF_GROUPS = re.compile(r"\d+|\d{1,3}(?:[. ]\d{3})+")
LONGEST_LINE = 1000
"""Characters of a line for people."""


@dataclass(frozen=True)
class Command:
    """A measured command.

    Attributes:
        text: the command as printed, or the line that a user wrote.
        run: the adapter's parameter of this name: the command without ``perf stat`` and its options. Empty if the line
            may be a comment.
        runs: number of repeated runs, where it is printed.
    """

    text: str = ""
    run: str = ""
    runs: int | None = None


def title_of(text: str) -> Command | None:
    """Return the command in the title of a block; None if the line is not a title."""
    if len(text) > LONGEST_LINE or "Performance counter stats" not in text or not (match := _TITLE.match(text)):
        return None
    command = match["command"].strip("' ")
    return Command(command, command, int(match["runs"]) if match["runs"] else None)


def command_of(text: str) -> Command | None:
    """Return the command in a line that a user wrote; None if the line has no command."""
    if not _COMMAND.search(text):
        return None
    command, repeat = text.lstrip("#$ ").strip("[] "), _REPEAT.search(text)
    run = _OPTIONS.sub("", command, count=1) if "perf " in text or text.lstrip().startswith("$") else ""
    return Command(command, run, int(repeat[1]) if repeat else None)


def begins(text: str) -> bool:
    """Return whether a line begins a block without a title."""
    if "time elapsed" in text:
        return _ELAPSED.search(text) is not None or _DAMAGED_ELAPSED.match(text) is not None
    if "%" not in text:
        return False
    return (_COMMON_EVENT.search(text) is not None or "+-" in text) and _COUNTER.match(text) is not None


def is_event(text: str) -> bool | None:
    """Return whether a line is a counter, a time, or a comment on the counter above; None for a damaged counter or
    time."""
    counter = _COUNTER.match(text)
    if counter and counter["event"].partition(":")[0] in CLOCKS and not (counter["unit"] or counter["clock"]):
        # perf before 4.20 prints milliseconds without a unit, always with decimals.
        return True if re.search(r"[.,]\d{1,2}$|[.,]\d{4,}$|^<", counter["value"]) else None
    if _ELAPSED.search(text) or counter or text.lstrip().startswith("#") or is_of_table(text):
        return True
    return None if _DAMAGED.match(text) else False


def is_of_table(text: str) -> bool:
    """Return whether a line belongs to the table of single runs (``--table``)."""
    return _TABLE.match(text) is not None


def heading_within(text: str) -> str | None:
    """Return the text before the figure in a line such as ``+NUMA:   0.248 seconds time elapsed``; None for other
    lines."""
    match = _ELAPSED.search(text) if len(text) <= LONGEST_LINE else None
    return match and match["heading"].strip().rstrip(":").strip()


def counts_for_people(lines: Iterable[tuple[int, str]], runs: int | None = None, source: str = "output") -> list[Count]:
    """Return the counts in numbered lines of one block; ``runs`` is the number of repeated runs.

    Raises ImportProblem if the block has figures of two locales; ``source`` names the text.
    """
    block = [(line, text) for line, text in lines if len(text) <= LONGEST_LINE]
    comma = any(_DECIMAL_COMMA.search(text) for _, text in block)
    counts: list[Count] = []
    for line, text in block:
        try:
            if match := _ELAPSED.search(text):
                counts.append(_count(match, _KINDS[match["kind"]], "s", line, runs, comma))
            elif match := _COUNTER.match(text):
                unit = "ms" if match["clock"] else unit_of(match["event"], match["unit"] or "")
                counts.append(_count(match, match["event"], unit, line, runs, comma))
            elif counts and (second := _SECOND_COMMENT.match(text)) and second["spread"]:
                # A second comment on the counter above; perf prints the spread after the last comment.
                counts[-1] = replace(counts[-1], error_percent=_number(second["spread"], comma))
        except ValueError as error:
            raise ImportProblem(
                f'has both decimal points and decimal commas: "{text.strip()[:80]}"',
                where=f"{source}:{line}",
                todo="import blocks of perf stat from different locales as separate files",
            ) from error
    return counts


def _count(match: re.Match[str], name: str, unit: str, line: int, runs: int | None, comma: bool) -> Count:
    text = match["value"]
    if unit == "events" and _GROUPS.fullmatch(text):
        value: float | None = float(re.sub("[., ]", "", text))
    else:
        value = None if text.startswith("<") else _number(text, comma)
    error = _number(match["spread"], comma) if match["spread"] else None
    return Count(MetricSpec(name, unit, "lower"), value, line, text, error_percent=error, runs=runs)


def _number(text: str, decimal_comma: bool) -> float:
    """Read a figure in the locale of its block: ``1,234.5`` or ``1.234,5``; ValueError in the other locale."""
    if not decimal_comma:
        return float(text.replace(" ", "").replace(",", ""))
    whole, _, decimals = text.partition(",")
    if not _POINTS_OF_GROUPS.fullmatch(whole):
        raise ValueError(text)
    return float(f"{re.sub('[. ]', '', whole)}.{decimals or 0}")

"""Reports of Intel's 0-day service (lkp-tests, ``lkp ncompare``): means over some boots, and changes.

    f2ffc48de2017c69 ee5eda8ea59546af2e8f192c060
    ---------------- ---------------------------
             %stddev     %change         %stddev
                 \\          |                \\
        138055 ± 18%     +33.4%     184128 ± 14%  cpuidle..usage
          3.32 ± 46%      +1.5        4.82 ± 13%  mpstat.cpu.all.usr%      (points, not per cent)
              :4           25%           1:4     kmsg.some-warning         (fails:runs)

Further commits are further pairs of change and mean, each against the first commit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from schedlab.importers.checks import unique
from schedlab.importers.printed.lines import Line, Part, is_rule, malformed
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.results.metrics import Direction

_HEADER = re.compile(r"\s*(?:%stddev|fail:runs)(?:\s+%(?:change|reproduction)\s+(?:%stddev|fail:runs))+\s*\Z")
_LISTED = re.compile(r"\s*\|\s*testcase: change\s*\|")
"""A line of the list of further tests, such as ``| testcase: change | stress-ng: … 23.7% regression |``. Changes
have the sign of the value in reports of 2023, and no sign in later reports."""
_POINTERS = re.compile(r"[\s\\|/]+\Z")
_KEYS = re.compile(r"\s*(?P<keys>[\w.-]+(?:/[\w.-]+)+):\s*\Z")
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_VALUE = rf"(?P<value{{k}}>{_NUMBER}|nan|-)(?:\s*(?:\+/?-|Â±|[±~?ą\ufffd])\s*(?P<spread{{k}}>\d+)%)?"
_CHANGE = r"(?P<change{k}>[-+]?\d+(?:\.\d+)?(?:e[+-]?\d+)?%?|[-+]?(?:nan|inf)%?)"
_FAILS = r"(?P<fails{k}>\d*):(?P<runs{k}>\d+)"
_NAME = r"\s+(?P<name>[A-Za-z_].*)"
_LIKE_A_ROW = re.compile(rf"\s*(?:{_NUMBER}\s+(?:[±~ą\ufffd]|[-+]\d|\d)|\d*:\d+\s+-?\d+%)")
_MONITORS = re.compile(
    r"(?:perf-(?:profile|stat|sched|c2c)|sched_debug|(?:numa-|proc-)?(?:vmstat|meminfo|numastat)|turbostat|cpuidle|"
    r"slabinfo|softirqs|interrupts|iostat|mpstat|boot-time|uptime|pmeter|latency_stats|time-schedstat|dmesg|kmsg)\."
)
_LOWER = re.compile(
    r"(?<![a-z])(?:lat|latenc(?:y|ies)|latency_\w+|times?|runtime|elapsed|syst|system|sys|user|real|delay|cost|wake-?ups?|"
    r"duration|miss(?:es)?|faults?|overhead|stddev|[mun]?secs?|seconds?|[un]s/op|power|energy|wait|stall\w*)(?![a-z])",
    re.IGNORECASE,
)
_HIGHER = re.compile(
    r"(?<![a-z])(?:throughput|tput|ops|iops|[kmgt]?i?b/s(?:ec)?|[kmg]?bps|[kmg]bits?/s\w*|ops/s\w*|ops_per_sec|rps|tps|qps|"
    r"nopm|fps|score|bandwidth|bw|trans\w*|requests|files/sec|jobs[-/]per[-/]min|(?:events|transactions|requests|"
    r"op(?:eration)?s|queries|messages|loops)[_\s]per[_\s]sec(?:ond)?|hit(?:\srate)?|ipc|processed|workload|bogo_ops|"
    r"efficiency|per_process_ops|per_thread_ops)(?![a-z])",
    re.IGNORECASE,
)
"""Words in the names of a benchmark's metrics that show the better direction."""
_SURROUNDINGS = frozenset(
    {"compiler", "kconfig", "rootfs", "tbox_group", "testcase", "ucode", "cpufreq_governor", "debug-setup"}
)
"""Keys of a job that are not parameters of its benchmark."""
_FARTHEST_HEADING = 30
_LONGEST_LINE = 1000
_MOST_COMMITS = 50
_MOST_WRAPS = 2
"""Further lines of a row that a mail program wrapped."""
_FROM_ZERO = 1e90
"""A change in per cent above which the first mean was 0: lkp-tests divides by 1e-100 then (``+6.7e+101%``)."""


@dataclass(frozen=True)
class _Heading:
    columns: tuple[str, ...]
    title: str = ""
    testcase: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    line: int = 0


class Reader:
    """Reader of the reports of a text in their order; a table without header has the columns of the table before."""

    def __init__(self, lines: Sequence[Line], source: str) -> None:
        self._lines, self._source = lines, source
        self._last: _Heading | None = None
        self._has_list = False

    def read(self, at: int, floor: int) -> Part | None:
        """Return the table that begins at ``lines[at]`` with its header, or with its first row if the table has no
        header."""
        text = self._lines[at].text
        if len(text) > _LONGEST_LINE:
            return None
        if _LISTED.match(text) and not self._has_list:
            self._has_list = True
            note = (
                f"line {self._lines[at].number}: the list of further tests has changes without values, and is not read"
            )
            return Part(at + 1, notes=(note,))
        if "%stddev" in text or "fail:runs" in text:
            count = 1 + text.count("%change") + text.count("%reproduction")
            if not _HEADER.match(text) or count > _MOST_COMMITS:
                return self._unread(at)
            self._last = self._heading(at, floor, count)
        elif self._last is None or not _row_pattern(len(self._last.columns), fails=False).match(text):
            return None
        return self._rows(at, self._last)

    def _unread(self, at: int) -> Part | None:
        """Return a note on the rows below an incomplete header; None if no rows follow."""
        end = at + 1
        while end < len(self._lines) and (text := self._lines[end].text[:_LONGEST_LINE]):
            if not (_POINTERS.match(text) or _LIKE_A_ROW.match(text)):
                break
            end += 1
        if not _LIKE_A_ROW.match(self._lines[end - 1].text[:_LONGEST_LINE]):
            return None
        first, last = self._lines[at].number, self._lines[end - 1].number
        note = f"lines {first}–{last}: the header of a 0-day table is not complete, and its rows are not read"
        return Part(end, notes=(note,))

    def _rows(self, at: int, heading: _Heading) -> Part:
        count, rows = len(heading.columns), list[TableRow]()
        while at < len(self._lines):
            line = self._lines[at]
            text = line.text
            if not text or len(text) > _LONGEST_LINE:
                break
            if _POINTERS.match(text) or _HEADER.match(text):
                at += 1
                continue
            row, end = self._row(at, heading)
            if row is not None:
                rows.append(row)
                at = end
            elif _LIKE_A_ROW.match(text):
                raise malformed(self._source, line, f"the line cannot be read as {count} columns of a 0-day report")
            else:
                break
        if not rows:
            return Part(at, notes=(f"line {heading.line}: a 0-day table without rows",))
        table = Table(
            "0-day", heading.title, heading.testcase, heading.columns, tuple(rows), heading.line, gains="change"
        )
        return Part(at, (table,))

    def _row(self, at: int, heading: _Heading) -> tuple[TableRow | None, int]:
        """Return the row that begins at ``lines[at]`` and its end; a mail program may have wrapped it."""
        count, number = len(heading.columns), self._lines[at].number
        text = self._lines[at].text
        for end in range(at + 1, at + 2 + _MOST_WRAPS):
            for fails, finish in ((False, _row), (True, _fails)):
                match = _row_pattern(count, fails=fails).fullmatch(text)
                # The name of a wrapped row has no spaces, or it would be the next row.
                if match and (end == at + 1 or " " not in match["name"].strip()):
                    return finish(match, heading, number), end
            following = self._lines[end].text.strip() if end < len(self._lines) else ""
            if not following or not _LIKE_A_ROW.match(text):
                break
            text = f"{text}  {following[:_LONGEST_LINE]}"
        return None, at

    def _heading(self, at: int, floor: int, count: int) -> _Heading:
        """Read commits, parameters and testcase from the lines above."""
        columns: tuple[str, ...] = ()
        title, testcase, parameters = "", "", dict[str, str]()
        for place in range(at - 1, max(floor, at - _FARTHEST_HEADING) - 1, -1):
            text = self._lines[place].text
            names = text.split()
            header = is_rule(text) or "%" in text or _POINTERS.match(text)
            if not columns and len(names) == count and not header:
                columns = unique(names)
            if "testcase" in text and (keys := _KEYS.match(text)):
                title = self._lines[place + 1].text.strip()
                names, values = keys["keys"].split("/"), title.split("/")
                job = dict(zip(names, values, strict=True)) if len(names) == len(values) else {}
                testcase = job.get("testcase", "")
                parameters = {key: value for key, value in job.items() if key not in _SURROUNDINGS}
                break
        if not columns:
            columns = tuple(f"column {k + 1}" for k in range(count))
        if not title and self._last is not None and self._last.columns == columns:
            title, testcase, parameters = self._last.title, self._last.testcase, self._last.parameters
        return _Heading(columns, title, testcase, parameters, self._lines[at].number)


@cache
def _row_pattern(count: int, *, fails: bool) -> re.Pattern[str]:
    cell, change = (_FAILS, r"(?P<change{k}>-?\d+)%") if fails else (_VALUE, _CHANGE)
    further = "".join(rf"\s+{change.format(k=k)}\s+{cell.format(k=k)}" for k in range(1, count))
    return re.compile(rf"\s*{cell.format(k=0)}{further}{_NAME}")


def _row(match: re.Match[str], heading: _Heading, line: int) -> TableRow:
    cells = []
    for k in range(len(heading.columns)):
        text, spread = match[f"value{k}"], match[f"spread{k}"]
        change = match[f"change{k}"] if k else ""
        relative = change.endswith("%") and "n" not in change.lower()
        gain = float(change[:-1]) if relative else math.inf
        cells.append(
            Cell(
                value=float(text) if text not in ("nan", "-") and math.isfinite(float(text)) else None,
                text=text,
                gain=gain if abs(gain) < _FROM_ZERO else None,
                gain_text=change.removesuffix("%") if relative else change,
                spread_percent=float(spread) if spread else None,
                spread_kind="standard deviation" if spread else "",
            )
        )
    name = match["name"].strip()
    unit = "%" if name.endswith("%") else ""
    return TableRow(name, "", heading.parameters, unit, direction(name), tuple(cells), line)


def _fails(match: re.Match[str], heading: _Heading, line: int) -> TableRow:
    cells = []
    for k in range(len(heading.columns)):
        fails, runs = match[f"fails{k}"], int(match[f"runs{k}"])
        change = f"{match[f'change{k}']}%" if k else ""
        cells.append(Cell(float(fails or 0), f"{fails}:{runs}", gain_text=change, n=runs))
    return TableRow(match["name"].strip(), "", heading.parameters, "failed runs", "lower", tuple(cells), line)


def direction(name: str) -> Direction | None:
    """Return which direction of a benchmark's metric is better; None for the counts of monitors."""
    if _MONITORS.match(name):
        return None
    if re.search(r"will-it-scale\.\d+\.(?:processes|threads)\Z", name):
        return "higher"
    return _named_direction(name.rsplit(".", 1)[-1]) or _named_direction(name)


def _named_direction(metric: str) -> Direction | None:
    """Return the direction in the name of a metric; None if the name contains words of both directions or of no
    direction."""
    lower, higher = _LOWER.search(metric), _HIGHER.search(metric)
    if bool(lower) == bool(higher):
        return None
    return "lower" if lower else "higher"

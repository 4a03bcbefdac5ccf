"""Reports of Intel's 0-day service (lkp): means over some boots, their standard deviations, and changes.

    f2ffc48de2017c69 ee5eda8ea59546af2e8f192c060
    ---------------- ---------------------------
             %stddev     %change         %stddev
                 \\          |                \\
        138055 ± 18%     +33.4%     184128 ± 14%  cpuidle..usage
          3.32 ± 46%      +1.5        4.82 ± 13%  mpstat.cpu.all.usr%      (points, not per cent)
              :4           25%           1:4     kmsg.some-warning         (fails:runs)

Further commits are further pairs of change and mean, each against the first (lkp-tests, ``lkp ncompare``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from schedlab.importers.printed import vocabulary as words
from schedlab.importers.printed.found import Found, malformed
from schedlab.importers.printed.header import unique
from schedlab.importers.printed.page import Line
from schedlab.importers.printed.rows import is_separator
from schedlab.results import Cell, Direction, Table, TableRow

_HEADER = re.compile(r"\s*(?:%stddev|fail:runs)(?:\s+%(?:change|reproduction)\s+(?:%stddev|fail:runs))+\s*\Z")
_POINTERS = re.compile(r"[\s\\|/]+\Z")
_KEYS = re.compile(r"\s*(?P<keys>[\w.-]+(?:/[\w.-]+)+):\s*\Z")
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_VALUE = rf"(?P<value{{k}}>{_NUMBER}|nan|-)(?:\s*(?:\+/?-|Â±|[±~?ą\ufffd])\s*(?P<spread{{k}}>\d+)%)?"
_CHANGE = r"(?P<change{k}>[-+]?\d+(?:\.\d+)?(?:e[+-]?\d+)?%?|[-+]?(?:nan|inf)%?)"
_FAILS = r"(?P<fails{k}>\d*):(?P<runs{k}>\d+)"
_LIKE_A_ROW = re.compile(rf"\s*(?:{_NUMBER}\s+(?:[±~ą\ufffd]|[-+]\d|\d)|\d*:\d+\s+-?\d+%)")
_MONITORS = re.compile(
    r"(?:perf-(?:profile|stat|sched|c2c)|sched_debug|(?:numa-|proc-)?(?:vmstat|meminfo|numastat)|turbostat|cpuidle|slabinfo|softirqs|"
    r"interrupts|iostat|mpstat|boot-time|uptime|pmeter|latency_stats|time-schedstat|dmesg|kmsg)\."
)
_SURROUNDINGS = frozenset(
    {"compiler", "kconfig", "rootfs", "tbox_group", "testcase", "ucode", "cpufreq_governor", "debug-setup"}
)
_FAR = 30
_OF_NOTHING = 1e90
"""A change in per cent beyond which the first mean was 0: lkp-tests divides by 1e-100 then (``+6.7e+101%``)."""


@dataclass(frozen=True)
class _Heading:
    columns: tuple[str, ...]
    title: str
    testcase: str
    parameters: dict[str, str]
    line: int


class Reader:
    """Reads the service's tables of a page in their order; one without header carries on the columns of the last."""

    def __init__(self, page: Sequence[Line], source: str) -> None:
        self._page, self._source = page, source
        self._last: _Heading | None = None

    def read(self, at: int, floor: int) -> Found | None:
        """The table whose header, or first row where it has none, is at ``page[at]``."""
        text = self._page[at].text
        if "%stddev" in text or "fail:runs" in text:
            if not _HEADER.match(text):
                return None
            count = 1 + text.count("%change") + text.count("%reproduction")
            self._last = self._heading(at, floor, count)
        elif self._last is None or (_row_pattern(len(self._last.columns), False).match(text)) is None:
            return None
        return self._rows(at, self._last)

    def _rows(self, at: int, heading: _Heading) -> Found:
        count, rows = len(heading.columns), list[TableRow]()
        while at < len(self._page):
            line = self._page[at]
            text = line.text
            if not text:
                break
            if _POINTERS.match(text) or _HEADER.match(text):
                at += 1
                continue
            if (
                at + 1 < len(self._page)
                and _bare_row(count).fullmatch(text.strip())
                and _is_name(self._page[at + 1].text)
            ):
                text, at = f"{text}  {self._page[at + 1].text.strip()}", at + 1
            if match := _row_pattern(count, False).fullmatch(text):
                rows.append(_row(match, heading, line.number))
            elif match := _row_pattern(count, True).fullmatch(text):
                rows.append(_fails(match, heading, line.number))
            elif _LIKE_A_ROW.match(text):
                raise malformed(self._source, line, f"it cannot be read as {count} columns of a 0-day report")
            else:
                break
            at += 1
        if not rows:
            return Found(at, (), (f"line {heading.line}: a 0-day table without rows",))
        table = Table(
            "0-day", heading.title, heading.testcase, heading.columns, tuple(rows), heading.line, gains="change"
        )
        return Found(at, (table,))

    def _heading(self, at: int, floor: int, count: int) -> _Heading:
        """Commits, parameters and testcase from the lines above."""
        columns: tuple[str, ...] = ()
        title, testcase, parameters = "", "", dict[str, str]()
        for place in range(at - 1, max(floor, at - _FAR) - 1, -1):
            text = self._page[place].text
            names = text.split()
            if (
                not columns
                and len(names) == count
                and not is_separator(text)
                and not _HEADER.match(text)
                and not _POINTERS.match(text)
            ):
                columns = unique(names)
            if (keys := _KEYS.match(text)) and "testcase" in text:
                title = self._page[place + 1].text.strip()
                values = title.split("/")
                named = (
                    dict(zip(keys["keys"].split("/"), values, strict=False))
                    if len(values) == keys["keys"].count("/") + 1
                    else {}
                )
                testcase = named.get("testcase", "")
                parameters = {key: value for key, value in named.items() if key not in _SURROUNDINGS}
                break
        if not columns:
            columns = tuple(f"column {k + 1}" for k in range(count))
        if not title and self._last is not None and self._last.columns == columns:
            title, testcase, parameters = self._last.title, self._last.testcase, self._last.parameters
        return _Heading(columns, title, testcase, parameters, self._page[at].number)


@cache
def _row_pattern(count: int, fails: bool) -> re.Pattern[str]:
    one, change = (_FAILS, r"(?P<change{k}>-?\d+)%") if fails else (_VALUE, _CHANGE)
    further = "".join(rf"\s+{change.format(k=k)}\s+{one.format(k=k)}" for k in range(1, count))
    return re.compile(rf"\s*{one.format(k=0)}{further}\s+(?P<name>\S.*)")


@cache
def _bare_row(count: int) -> re.Pattern[str]:
    pattern = _row_pattern(count, False).pattern
    return re.compile(pattern.removesuffix(r"\s+(?P<name>\S.*)"))


def _is_name(text: str) -> bool:
    return " " not in text.strip() and "." in text


def _row(match: re.Match[str], heading: _Heading, line: int) -> TableRow:
    cells = []
    for k in range(len(heading.columns)):
        text, spread = match[f"value{k}"], match[f"spread{k}"]
        change = match[f"change{k}"] if k else ""
        relative = change.endswith("%") and "n" not in change.lower()
        cells.append(
            Cell(
                value=float(text) if text not in ("nan", "-") and math.isfinite(float(text)) else None,
                text=text,
                gain=float(change[:-1]) if relative and abs(float(change[:-1])) < _OF_NOTHING else None,
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
    """Which direction is better of a benchmark's own metric; None for what monitors count beside it."""
    if _MONITORS.match(name):
        return None
    if re.search(r"will-it-scale\.\d+\.(?:processes|threads)\Z", name):
        return "higher"
    return words.worded_direction(name.rsplit(".", 1)[-1]) or words.worded_direction(name)

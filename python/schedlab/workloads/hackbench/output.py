"""Output of hackbench: each run prints its options and ``Time: SECONDS``; a log may contain many runs.

Readers of the output of rt-tests' hackbench, and of result trees of MMTests, which run rt-tests' or perf's hackbench.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from schedlab.notation.units import counted
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import WHOLE, Lines, Log, Reader, Reading, Samples
from schedlab.workloads.mmtests_logs import Row, TreeLog, logs_named, open_log

TIME = MetricSpec("time", "s", "lower")

_RUNNING = re.compile(
    rf"Running (?:in (?P<mode>process|thread)\w* mode )?with (?P<groups>{WHOLE})(?: groups using |\*)(?P<ends>{WHOLE})"
    rf"(?: file descriptors each)? \(== {WHOLE}\)? tasks\)?\.?"
)
_MESSAGES = re.compile(rf"Each sender will pass (?P<loops>{WHOLE}) messages of (?P<size>{WHOLE}) bytes")
_TIME = re.compile(r"Time:[ \t]*([0-9]{1,12}(?:\.[0-9]{1,9})?)")
_COMMAND = re.compile(r"(?:[$#+>] ?)?(?:\S+/)?hackbench|(?:.*[\s/#$+>])?hackbench\s+(?:-|\d|pipe\b|process\b|thread).*")
"""The command line, as a user, a shell or ``set -x`` writes the line."""
_TRANSPORTS = {
    "pipe": re.compile(r"\s(?:-[a-zA-Z]*p[a-zA-Z]*|--pipe|pipe)\b"),
    "inet": re.compile(r"\s(?:-[a-zA-Z]*i[a-zA-Z]*|--inet)\b"),
}
"""Options of the transport, which hackbench does not print; the default is sockets."""
_HEAD, _TAIL = r"Running (?:in \w+ mode )?with \d+(?:\*| groups?\b)[^\n]*", r"(?=\D*\d)(?:[\w(=]+ ){0,8}tasks\)"
_WRAPPED = re.compile(rf"^([ \t]*{_HEAD})\n[ \t]*({_TAIL})[ \t]*$", re.MULTILINE)
"""The first line of a run, which mail programs wrap."""
_LINE = re.compile(rf"{_HEAD}|{_TAIL}|{_MESSAGES.pattern}|Time:(?![ \t]*[a-z]{3})[ \t]*\S*")
_RUNS_WITHIN, _COMMAND_WITHIN, _TIME_WITHIN = (
    re.compile(rf"^[ \t]*+(?:{pattern.pattern})[ \t]*$", re.MULTILINE) for pattern in (_RUNNING, _COMMAND, _TIME)
)


def _recognises(head: str) -> bool:
    """Return whether a text contains runs only."""
    # The head of a long log may end in the middle of a line.
    complete = head.rstrip().rpartition("\n")[0] if len(head) > 4096 else head

    def lines(text: str) -> Iterator[str]:
        return (line.strip() for line in Lines(text) if line.strip())

    return (
        any(line.startswith(("Running ", "Time:")) for line in islice(lines(head), 2))
        and any(_RUNNING.fullmatch(line) or _TIME.fullmatch(line) for line in lines(head))
        and all(map(_is_known, lines(complete)))
    )


def _is_known(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in (_RUNNING, _MESSAGES, _TIME, _COMMAND))


def _is_within(text: str) -> bool:
    """Return whether a text contains a run, or a command line and times."""
    if _RUNS_WITHIN.search(_joined(text)):
        return True
    return bool(_TIME_WITHIN.search(text) and _COMMAND_WITHIN.search(text))


def _joined(text: str) -> str:
    """Return the text with wrapped lines joined, and an empty line in the place of the second part."""
    return _WRAPPED.sub(r"\1 \2\n", text)


def _read(log: Log) -> Reading:
    """Return one sample of ``time`` for each run, by the options that the run and its command line print."""
    rows: dict[tuple[tuple[str, str | int | float], ...], array[float]] = {}
    notes: list[str] = []
    options: dict[str, str | int | float] = {}
    transport: dict[str, str | int | float] = {}
    run_start, foreign_lines = 0, 0
    for number, line in enumerate(Lines(_joined(log.text)), 1):
        text = line.strip()
        if match := _TIME.fullmatch(text):
            rows.setdefault(tuple((options | transport).items()), array("d")).append(float(match[1]))
            run_start = 0
        elif match := _RUNNING.fullmatch(text):
            if run_start:
                notes.append(f"{log.at(run_start)}: a run that printed no time is left out")
            # hackbench prints the descriptors of both ends; its option counts only senders.
            options = {"mode": match["mode"]} if match["mode"] else {}
            options |= {"groups": int(match["groups"]), "fds": int(match["ends"]) // 2}
            run_start = number
        elif match := _MESSAGES.fullmatch(text):
            options |= {name: int(value) for name, value in match.groupdict().items()}
            run_start = run_start or number
        elif _COMMAND.fullmatch(text):
            transport = next(({"ipc": name} for name, option in _TRANSPORTS.items() if option.search(text)), {})
        elif run_start and text.startswith("Time:"):
            raise log.problem(f"the time of hackbench is not a number of seconds: “{text[:60]}”", number)
        elif text:
            foreign_lines += 1
    # hackbench prints three decimals.
    is_cut = not log.text.endswith("\n") and re.search(r"Time:\s*\d+(\.\d{0,2})?$", log.text)
    if run_start or is_cut or not rows:
        log.cut_off('the line "Time: SECONDS" of a run')
    if foreign_lines and not log.mixed:
        notes.append(f"{log.name}: {counted(foreign_lines, 'line')} that hackbench did not print")
    return Reading([Samples("hackbench", TIME, dict(row), values) for row, values in rows.items()], notes=notes)


READER = Reader(
    "hackbench",
    'hackbench (rt-tests): lines "Time: SECONDS"',
    _recognises,
    _read,
    within=_is_within,
    line=lambda line: bool(_LINE.fullmatch(line)),
    begins=re.compile(_HEAD),
    command=_COMMAND,
)
READERS = (READER,)

_SECONDS = re.compile(r"^\s*(?:Total time|Time):\s+(\d+(?:\.\d+)?)(?:\s+\[sec\])?\s*?$", re.M)
_END = re.compile(r"(?:\[sec\]|Time: \d+\.\d{3})\Z")


def read_mmtests(folder: Path) -> list[Row]:
    """Return seconds of every repetition, a row for each number of groups.

    The logs are ``hackbench-GROUPS`` (perf's hackbench) or ``hackbench-GROUPS-N`` (rt-tests).
    """
    groups: dict[int, list[TreeLog]] = {}
    for match, path in logs_named(folder, r"hackbench-(\d+)(?:-\d+)?"):
        groups.setdefault(int(match[1]), []).append(open_log(path, "hackbench log", _END))
    return [_mmtests_row(count, groups[count]) for count in sorted(groups)]


def _mmtests_row(groups: int, logs: list[TreeLog]) -> Row:
    # A repetition that exceeded the time limit leaves a heading without a time and is tried again: no error.
    wanted = "“Total time: SECONDS [sec]” and no “Time: SECONDS”"
    values = np.concatenate([log.find(_SECONDS, wanted) for log in logs])
    return Row(TIME, 4, f"time-{groups}", {"groups": groups}, values, logs[0].path)

"""hackbench of rt-tests: each run prints its options and ``Time: SECONDS``; a log may contain many runs."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import islice

from schedlab.notation.units import counted
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import WHOLE, Lines, Log, Parameters, Reader, Reading, Samples

TIME = MetricSpec("time", "s", "lower")
TIME_LINE = re.compile(r"^Time:[ \t]*([0-9]{1,12}(?:\.[0-9]{1,9})?)[ \t]*$", re.MULTILINE)
"""Last line of a run, with its time in seconds."""

_TASKS = re.compile(
    rf"Running in (process|thread)\w* mode with ({WHOLE}) groups using ({WHOLE}) file descriptors each .*"
)
_MESSAGES = re.compile(rf"Each sender will pass ({WHOLE}) messages of ({WHOLE}) bytes")
_OLD = re.compile(rf"Running with ({WHOLE})\*({WHOLE}) \(== {WHOLE}\) tasks\.?")
_CALL = re.compile(r"(?:[$#+>] ?)?(?:\S+/)?hackbench(?: .*)?")
"""The command line, as a shell or ``set -x`` prints it."""

_WITHIN = re.compile(rf"^[ \t]*{_TASKS.pattern}$", re.MULTILINE)

_KNOWN = (_TASKS, _MESSAGES, _OLD, TIME_LINE, _CALL)


def _recognises(head: str) -> bool:
    """Return whether a text contains runs only; the reader of mails handles runs below headings."""
    # The head of a long log may end in the middle of a line.
    complete = head.rstrip().rpartition("\n")[0] if len(head) > 4096 else head

    def lines(text: str) -> Iterator[str]:
        return (line.strip() for line in Lines(text) if line.strip())

    return (
        any(line.startswith(("Running ", "Time:")) for line in islice(lines(head), 2))
        and any(_TASKS.fullmatch(line) or _OLD.fullmatch(line) or TIME_LINE.fullmatch(line) for line in lines(head))
        and all(map(_is_known, lines(complete)))
    )


def _is_known(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in _KNOWN)


def _read(log: Log) -> Reading:
    """Return one sample of ``time`` for each run, by the options that the runs print."""
    rows: dict[tuple[tuple[str, str | int | float], ...], array[float]] = {}
    notes: list[str] = []
    parameters: Parameters = {}
    run_start, foreign_lines = 0, 0
    for number, line in enumerate(log.lines, 1):
        text = line.strip()
        if match := TIME_LINE.fullmatch(text):
            rows.setdefault(tuple(parameters.items()), array("d")).append(float(match[1]))
            run_start = 0
        elif options := _options(text):
            if run_start and not text.startswith("Each"):
                notes.append(f"{log.name}:{run_start}: a run that printed no time is left out")
            parameters = {**parameters, **options} if text.startswith("Each") else options
            run_start = run_start or number
        elif text and not _is_known(text):
            foreign_lines += 1
    # hackbench prints three decimals.
    is_cut = not log.text.endswith("\n") and re.search(r"Time:\s*\d+(\.\d{0,2})?$", log.text)
    if run_start or is_cut or not rows:
        log.cut_off('the line "Time: SECONDS" of a run')
    if foreign_lines and not log.mixed:
        notes.append(f"{log.name}: {counted(foreign_lines, 'line')} that hackbench did not print")
    return Reading([Samples("hackbench", TIME, dict(row), values) for row, values in rows.items()], notes=notes)


def _options(text: str) -> Parameters:
    """Return the options in one of the lines before a run's time; hackbench prints both ends of its descriptors."""
    if match := _TASKS.fullmatch(text):
        return {"mode": match[1], "groups": int(match[2]), "fds": int(match[3]) // 2}
    if match := _MESSAGES.fullmatch(text):
        return {"loops": int(match[1]), "size": int(match[2])}
    if match := _OLD.fullmatch(text):
        return {"groups": int(match[1]), "fds": int(match[2]) // 2}
    return {}


READERS = (
    Reader(
        "hackbench",
        'hackbench (rt-tests): lines "Time: SECONDS"',
        _recognises,
        _read,
        within=lambda text: bool(_WITHIN.search(text)),
    ),
)

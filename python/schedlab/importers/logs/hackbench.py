"""hackbench of rt-tests: each run prints what it does and ``Time: SECONDS``; a log may hold many runs."""

from __future__ import annotations

import re

from schedlab.importers.logs.base import WHOLE, Log, Parameters, Reader, Reading, Samples
from schedlab.units import counted
from schedlab.workloads.hackbench import TIME
from schedlab.workloads.hackbench_rt_tests import TIME_LINE

_TASKS = re.compile(
    rf"Running in (process|thread)\w* mode with ({WHOLE}) groups using ({WHOLE}) file descriptors each .*"
)
_MESSAGES = re.compile(rf"Each sender will pass ({WHOLE}) messages of ({WHOLE}) bytes")
_OLD = re.compile(rf"Running with ({WHOLE})\*({WHOLE}) \(== {WHOLE}\) tasks\.?")
_CALL = re.compile(r"(?:[$#+>] ?)?(?:\S+/)?hackbench(?: .*)?")
"""The command itself, as a shell or ``set -x`` shows it."""

_WITHIN = re.compile(rf"^[ \t]*{_TASKS.pattern}$", re.MULTILINE)

_KNOWN = (_TASKS, _MESSAGES, _OLD, TIME_LINE, _CALL)


def recognises(head: str) -> bool:
    """Runs and nothing else: a text with words between them has headings, which are for the reader of mails."""
    lines = [line.strip() for line in head.split("\n") if line.strip()]
    return (
        any(_TASKS.fullmatch(line) or _OLD.fullmatch(line) or TIME_LINE.fullmatch(line) for line in lines)
        and any(line.startswith(("Running ", "Time:")) for line in lines[:2])
        # The head of a long log may end in the middle of a line.
        and all(_is_known(line) for line in (lines[:-1] if len(head) > 4096 else lines))
    )


def _is_known(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in _KNOWN)


def read(log: Log) -> Reading:
    """A sample of ``time`` for each run, by the options that the runs print."""
    samples: list[Samples] = []
    notes: list[str] = []
    parameters: Parameters = {}
    begun, foreign = 0, 0
    for number, line in enumerate(log.lines, 1):
        text = line.strip()
        if match := TIME_LINE.fullmatch(text):
            samples.append(Samples("hackbench", TIME, parameters, (float(match[1]),)))
            begun = 0
        elif found := _options(text):
            if begun and not text.startswith("Each"):
                notes.append(f"{log.name}:{begun}: a run that printed no time is left out")
            parameters = {**parameters, **found} if text.startswith("Each") else found
            begun = begun or number
        elif text and not _is_known(text):
            foreign += 1
    # hackbench prints three decimals.
    cut = not log.text.endswith("\n") and re.search(r"Time:\s*\d+(\.\d{0,2})?$", log.text)
    if begun or cut or not samples:
        log.cut_off('the line "Time: SECONDS" of a run')
    if foreign and not log.mixed:
        notes.append(f"{log.name}: {counted(foreign, 'line')} that hackbench did not print")
    return Reading(samples, notes=notes)


def _options(text: str) -> Parameters:
    """hackbench's options, as the lines before a run's time tell them; it prints both ends of its descriptors."""
    if match := _TASKS.fullmatch(text):
        return {"mode": match[1], "groups": int(match[2]), "fds": int(match[3]) // 2}
    if match := _MESSAGES.fullmatch(text):
        return {"loops": int(match[1]), "size": int(match[2])}
    if match := _OLD.fullmatch(text):
        return {"groups": int(match[1]), "fds": int(match[2]) // 2}
    return {}


def _is_within(text: str) -> bool:
    return bool(_WITHIN.search(text))


READER = Reader("hackbench", 'hackbench (rt-tests): lines "Time: SECONDS"', recognises, read, within=_is_within)

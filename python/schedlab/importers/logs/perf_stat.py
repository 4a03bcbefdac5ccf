"""``perf stat -x SEPARATOR``: one run, repeated runs with their errors (``-r``), or counts of intervals (``-I``)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from schedlab.importers.logs.base import Log, Reader, Reading
from schedlab.importers.logs.perf_stat_counts import At, reading
from schedlab.units import counted
from schedlab.workloads.perf_stat_lines import parse

_BETWEEN = re.compile(r"[^\w\s.<>%/()=:-]{1,4}|\t|:")
"""What may stand between the fields: anything that is not in them."""
_LIKELY = re.compile(r"^.*([^\w\s.<>]{1,4}|\t)\d{1,18}\1\d{1,3}\.\d\d(?:\1.*)?$", re.MULTILINE)
"""How long an event was counted, and in how many per cent of the time, are in every line."""
_LINES = 40
"""Lines by which the separator is found."""


def recognises(text: str) -> bool:
    """Lines of at least one event, whatever separates their fields."""
    return separator(text) is not None


def separator(text: str) -> str | None:
    """What separates the fields; None where no line is perf's."""
    lines = [match[0] for match in islice(_LIKELY.finditer(text), _LINES)]
    candidates = {part for line in lines for run in _BETWEEN.findall(line) for part in {run, run[:1], run[:2]}}
    fitting = Counter({one: sum(parse(line, one) is not None for line in lines) for one in sorted(candidates)})
    best, count = max(fitting.items(), key=lambda item: item[1], default=("", 0))
    return best if count else None


def read(log: Log) -> Reading:
    """See :func:`schedlab.importers.logs.perf_stat_counts.reading`."""
    between = separator(log.text)
    if between is None:
        raise log.problem("holds no line of 'perf stat -x'", 1)
    found = list(_counts(log, between))
    derived = sum(1 for line in log.lines if _is_derived(line, between))
    counts = reading(log, found, derived)
    foreign = sum(1 for line in log.lines if line.strip() and not line.startswith("#")) - len(found) - derived
    if foreign > 0 and not log.mixed:
        note = f"{log.name}: {counted(foreign, 'line')} that perf stat did not print"
        return replace(counts, notes=[*counts.notes, note])
    return counts


def _counts(log: Log, between: str) -> Iterator[At]:
    for number, line in enumerate(log.lines, 1):
        if count := parse(line, between):
            yield At(count, number)
        elif number == len(log.lines) and line.count(between) > 1 and not log.text.endswith("\n"):
            raise log.problem(f"“{line[:60]}” is cut off", number)


def _is_derived(line: str, between: str) -> bool:
    """A line of a derived figure alone, such as a second one for an event: the fields of a count are empty."""
    return between * 3 in line[:40] and parse(line, between) is None


READER = Reader("perf-stat", "perf stat -x SEPARATOR, also with -r and -I", recognises, read)

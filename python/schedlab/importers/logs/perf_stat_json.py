"""``perf stat -j``: an object a line, with the same figures as ``-x`` ("JSON FORMAT" in perf-stat(1))."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from schedlab.importers.logs.base import CUT, NUMBER, Log, Reader, Reading
from schedlab.importers.logs.objects import number
from schedlab.importers.logs.perf_stat_counts import At, reading
from schedlab.workloads.perf_stat_lines import Count

_OBJECT = re.compile(r'^ *\{ ?"(?:interval|cpu|core|socket|die|node|thread|cgroup|counter-value)" ?: ?', re.MULTILINE)
_PLACES = ("cpu", "core", "die", "socket", "node", "cache", "cluster", "thread")


def recognises(head: str) -> bool:
    """An object with one of perf's first keys, and a counter's value."""
    return '"counter-value"' in head and '"event"' in head and bool(_OBJECT.search(head))


def read(log: Log) -> Reading:
    """See :func:`schedlab.importers.logs.perf_stat_counts.reading`."""
    derived = 0
    found: list[At] = []
    for line, told in _objects(log):
        if "event" in told and "counter-value" in told:
            found.append(At(_count(log, line, told), line))
        elif "metric-value" in told or "metric-unit" in told:
            derived += 1
    return reading(log, found, derived)


def _objects(log: Log) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(log.lines, 1):
        if not text.lstrip().startswith("{"):
            continue
        try:
            told = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise log.problem(f"“{text.strip()[:60]}” is no whole JSON object", line, CUT) from error
        if isinstance(told, dict):
            yield line, told


def _count(log: Log, line: int, told: dict[str, Any]) -> Count:
    said, unit = str(told["counter-value"]).strip(), told.get("unit", "")
    if not (re.fullmatch(NUMBER, said) or re.fullmatch(r"<not \w+>", said)):
        raise log.problem(f"{said[:40]!r} is no counter's value", line)
    return Count(
        event=str(told["event"]),
        unit=str(unit),
        value=None if said.startswith("<") else float(said),
        seconds=number(told.get("interval")),
        place=_place(told),
        error_percent=number(told.get("variance")),
    )


def _place(told: dict[str, Any]) -> str:
    """As ``-x`` writes it: ``CPU0``, ``S0-D0-C0``."""
    name = next((name for name in _PLACES if name in told), "")
    value = str(told.get(name, ""))
    place = f"CPU{value}" if name == "cpu" and value.isdecimal() else value
    return " ".join(filter(None, (place, str(told.get("cgroup", "")))))


READER = Reader("perf-stat-json", "perf stat -j, also with -r and -I", recognises, read, in_mails=False)

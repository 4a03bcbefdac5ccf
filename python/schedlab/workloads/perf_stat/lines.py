"""Lines of ``perf stat -x SEPARATOR`` ("CSV FORMAT" in perf-stat(1))::

    [seconds,][CPU0, | S0-D0-C0,number, | comm-tid,]VALUE,unit,event,[cgroup,][error%,]runtime,percent[,value,unit]

The order is that of the tool: the error of repeated runs follows the event, other than the manual says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"[0-9]{1,20}(?:[.,][0-9]{1,15})?")
_NOTHING = re.compile(r"<not (?:counted|supported)>")
_SECONDS = re.compile(r" *[0-9]{1,12}\.[0-9]{9}| *summary")
_PLACE = re.compile(r"CPU\d+|[SDCNL]\d+(?:-[SDCNL]\w*\d+)*|.+-\d+")
_UNIT = re.compile(r"(?!<not )[^0-9\s][^\s]*|")
_EVENT = re.compile(r"[A-Za-z_][^\t]*")
_ERROR = re.compile(r"([0-9]{1,9}\.[0-9]+)%")


@dataclass(frozen=True)
class Count:
    """Count of one event.

    Attributes:
        event: name of the event.
        unit: unit as printed.
        value: the count; None where the event was not counted or is not supported.
        seconds: end of an interval (``-I``), nan in the lines of the summary, None without intervals.
        place: CPU, core, socket, thread or cgroup.
        error_percent: relative standard error over repeated runs (``-r``).
    """

    event: str
    unit: str
    value: float | None
    seconds: float | None = None
    place: str = ""
    error_percent: float | None = None


def count_of(line: str, separator: str) -> Count | None:
    """Return the count in a line; None for a line that is no count."""
    fields = line.split(separator)
    seconds: float | None = None
    if _SECONDS.fullmatch(fields[0]):
        seconds = float("nan") if "summary" in fields[0] else float(fields[0])
        fields = fields[1:]
    place = ""
    if len(fields) > 3 and not _is_value(fields[0]) and _PLACE.fullmatch(fields[0]):
        place, fields = fields[0], fields[1:]
        # The number of CPUs follows a place with several CPUs.
        if len(fields) > 3 and fields[0].isdecimal() and _is_value(fields[1]):
            fields = fields[1:]
    if len(fields) < 5 or not _is_value(fields[0]) or not _UNIT.fullmatch(fields[1]) or not _EVENT.fullmatch(fields[2]):
        return None
    value = float(fields[0].replace(",", ".")) if _NUMBER.fullmatch(fields[0]) else None
    error = next((match for field in fields[3:5] if (match := _ERROR.fullmatch(field))), None)
    cgroup = fields[3] if fields[3] and not _is_value(fields[3]) and not _ERROR.fullmatch(fields[3]) else ""
    place = " ".join(filter(None, (place, cgroup)))
    return Count(fields[2], fields[1], value, seconds, place, float(error[1]) if error else None)


def _is_value(field: str) -> bool:
    return bool(_NUMBER.fullmatch(field) or _NOTHING.fullmatch(field))

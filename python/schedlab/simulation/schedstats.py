"""Scheduler statistics of a simulation, in the format of the kernel's files and read by the same code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from schedlab.simulation.errors import SettingRefused

if TYPE_CHECKING:
    from schedlab.observe.counters.source import Reading

OFF = (
    "schedstats are off: kernel.sched_schedstats=1, or schedstats=enable on the kernel's command line, turns "
    "schedstats on; there are no counters to show"
)
PARTLY = "schedstats were on for a part of the time only; the counters are of that part"
NO_SWITCH = "this kernel has no schedstats"

_FILE = re.compile(r"(?:/proc/)?(?:(?P<machine>schedstat)|(?P<pid>[0-9]+)/sched)")


def pids(files: Sequence[str]) -> list[int]:
    """Return the PIDs of the files ``PID/sched``; SettingRefused for any other file than ``schedstat`` and
    ``PID/sched``."""
    numbers = []
    for name in files:
        matched = _FILE.fullmatch(name)
        if matched is None:
            raise SettingRefused(f"{name!r} is not a simulated file", where="proc", todo="schedstat or PID/sched")
        if matched["pid"]:
            numbers.append(int(matched["pid"]))
    return numbers


def files(outcome: Mapping[str, Any], names: Sequence[str]) -> dict[str, str | None]:
    """Return the text of these files; None for /proc/schedstat when nothing was ever counted."""
    statistics = outcome["schedstats"]
    return {f"/proc/{name.removeprefix('/proc/')}": _file(statistics, name) for name in names}


def _file(statistics: Mapping[str, Any], name: str) -> str | None:
    of_task = pids([name])
    text: str | None = statistics["tasks"][of_task[0]] if of_task else statistics["file"]
    return text


def note(outcome: Mapping[str, Any]) -> str:
    """Return a remark for readers of the files; empty when schedstats were on throughout."""
    statistics = outcome["schedstats"]
    if not statistics["switch"]:
        return NO_SWITCH
    return {"on": "", "off": OFF, "partly": PARTLY}[statistics["state"]]


def reading(outcome: Mapping[str, Any]) -> Reading:
    """Return ``schedstat.FIELD`` and ``schedstat.domainN[.IDLENESS].FIELD`` by CPU; empty if schedstats were never
    on."""
    from schedlab.observe.counters.schedstat import parse

    file = outcome["schedstats"]["file"]
    return {} if file is None else parse(b"1\n" + file.encode())


def counters(outcome: Mapping[str, Any]) -> dict[str, int]:
    """Return the counters under the names of runs on a host; empty unless schedstats were on throughout."""
    if outcome["schedstats"]["state"] != "on":
        return {}
    return {name: sum(by_cpu.values()) for name, by_cpu in reading(outcome).items()}

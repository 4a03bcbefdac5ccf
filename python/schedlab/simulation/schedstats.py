"""Scheduler statistics of a simulation: the kernel's files, read by the code that reads a host's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.observe.counters.schedstat import parse
from schedlab.observe.counters.source import Reading
from schedlab.simulation.errors import SettingRefused

OFF = (
    "schedstats are off: kernel.sched_schedstats=1, or schedstats=enable on the kernel's command line, turns them on; "
    "there are no counters to show"
)
PARTLY = "schedstats were on for a part of the time only; the counters are of that part"
NO_SWITCH = "this kernel has no schedstats"

_FILE = re.compile(r"(?:/proc/)?(?:(?P<machine>schedstat)|(?P<pid>[0-9]+)/sched)")


def pids(files: Sequence[str]) -> list[int]:
    """The PIDs of those files that are tasks'; SettingRefused for what is neither ``schedstat`` nor ``PID/sched``."""
    found = []
    for name in files:
        matched = _FILE.fullmatch(name)
        if matched is None:
            raise SettingRefused(f"{name!r} is no simulated file", where="proc", todo="schedstat or PID/sched")
        if matched["pid"]:
            found.append(int(matched["pid"]))
    return found


def files(outcome: Mapping[str, Any], names: Sequence[str]) -> dict[str, str | None]:
    """The files of these names; None for /proc/schedstat while nothing was ever counted."""
    told = outcome["schedstats"]
    return {f"/proc/{name.removeprefix('/proc/')}": _file(told, name) for name in names}


def _file(told: Mapping[str, Any], name: str) -> str | None:
    of_tasks = pids([name])
    text: str | None = told["tasks"][of_tasks[0]] if of_tasks else told["file"]
    return text


def note(outcome: Mapping[str, Any]) -> str:
    """What a reader of the files has to know; empty when they were on throughout."""
    told = outcome["schedstats"]
    if not told["switch"]:
        return NO_SWITCH
    return {"on": "", "off": OFF, "partly": PARTLY}[told["state"]]


def reading(outcome: Mapping[str, Any]) -> Reading:
    """``schedstat.FIELD`` and ``schedstat.domainN[.IDLENESS].FIELD`` by CPU; empty if they were never on."""
    file = outcome["schedstats"]["file"]
    return {} if file is None else parse(b"1\n" + file.encode())


def counters(outcome: Mapping[str, Any]) -> dict[str, int]:
    """The counters by the names that runs on a host give them; none unless they were on throughout."""
    if outcome["schedstats"]["state"] != "on":
        return {}
    return {name: sum(by_cpu.values()) for name, by_cpu in reading(outcome).items()}

"""Kernel, host and date of results, where a log states them with certainty.

A time without its time zone is not certain, nor is a kernel that only the name of a file suggests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from email.utils import parsedate_to_datetime

from schedlab.results.imported import Origin

_UNAME = re.compile(r"Linux (?P<host>[\w.-]{1,64}) (?P<kernel>\d[\w.+~-]{0,64}) #\d")
"""Output of ``uname -a``: system, host name, release and version (uname(1))."""
_RELEASE = re.compile(r"\d[\w.+~-]{0,64}")
_EARLIEST, _LATEST = 631_152_000.0, 4_102_444_800.0
"""1990, before Linux, and 2100: other numbers are not seconds since 1970."""


def origin(kernel: object = "", host: object = "", started: object = None) -> Origin:
    """Return an origin from values of a log; a value of another form counts as not stated.

    Args:
        kernel: the kernel's release.
        host: name of the machine.
        started: seconds since 1970, a date of RFC 5322, or a date of ISO 8601 with its time zone.
    """
    return Origin(
        kernel if isinstance(kernel, str) and _RELEASE.fullmatch(kernel) else "",
        host if isinstance(host, str) and host.isprintable() and len(host) <= 64 else "",
        _seconds(started),
    )


def of_uname(text: object, started: object = None) -> Origin:
    """Return the origin in the output of ``uname -a``."""
    match = _UNAME.match(text) if isinstance(text, str) else None
    return origin(match["kernel"], match["host"], started) if match else origin(started=started)


def common(origins: Iterable[Origin]) -> Origin:
    """Return the origin of results that several sources state: the first start, and what all of them agree on."""
    stated = list(origins)
    kernels, hosts = ({getattr(each, name) for each in stated} for name in ("kernel", "host"))
    starts = [each.started for each in stated if each.started is not None]
    return Origin(
        kernels.pop() if len(kernels) == 1 else "", hosts.pop() if len(hosts) == 1 else "", min(starts, default=None)
    )


def _seconds(value: object) -> float | None:
    if isinstance(value, str):
        value = _timestamp(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if _EARLIEST <= value < _LATEST else None


def _timestamp(text: str) -> float | None:
    """Return the seconds of a date with its time zone; None for other texts."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = parse(text)
        except ValueError:
            continue
        # RFC 5322: "-0000" says that the time zone is unknown, which parses to no zone.
        return None if date.tzinfo is None else date.timestamp()
    return None

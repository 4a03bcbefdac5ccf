"""CPU lists in the kernel's notation, such as ``0-3,8`` (``bitmap_parselist()`` in lib/bitmap-str.c, Linux 6.12).

``crates/workload/src/cpulist.rs`` explains the notation and has the same grammar; ``tests/cpulists.json`` lists texts
that both parsers must accept or refuse alike. Python reads lists of this machine without the extension module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_CPUS = 8192
"""The largest number of CPUs of any Linux (CONFIG_NR_CPUS of x86 with MAXSMP)."""

_REGION = re.compile(
    r"(?:(?P<first>\d+|N)(?:-(?P<last>\d+|N))?|(?P<all>[Aa][Ll][Ll]))(?::(?P<used>\d+)/(?P<group>\d+))?",
    re.ASCII,
)


def parse_cpu_list(text: str, cpus: int | None = None) -> list[int]:
    """Return the CPU numbers of a list such as ``"0-3,8"`` in ascending order.

    Args:
        text: the list.
        cpus: number of CPUs of the machine. None where the number is unknown: ``N`` and ``all`` are refused.

    Raises:
        ValueError: the text is not a list, names no CPU, or names a CPU that cannot exist.
    """
    listed: set[int] = set()
    for part in re.split(r"[, \t\n]+", text):
        if part:
            listed.update(_region(text, part, cpus))
    if not listed:
        raise ValueError(f"'{text}' names no CPU: write a list like 0-3,8")
    return sorted(listed)


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Return CPU numbers as a list such as ``0-3,8``."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][-1] == cpu - 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _region(text: str, part: str, cpus: int | None) -> set[int]:
    region = _REGION.fullmatch(part)
    if region is None or (region["used"] and not region["all"] and not region["last"]):
        raise ValueError(f"'{text}' is not a CPU list: write a list such as 0-3,8")
    if cpus is None and (region["all"] or "N" in (region["first"], region["last"])):
        raise ValueError(f"'{part}' needs the number of CPUs, which is unknown here: write numbers")
    limit = MOST_CPUS if cpus is None else cpus
    first, last = region["first"] or "0", region["last"] or region["first"] or "N"
    low, high = (limit - 1 if end == "N" else _number(end) for end in (first, last))
    used, group = _number(region["used"] or "1"), _number(region["group"] or "1")
    if high >= limit:
        why = f"Linux has at most {MOST_CPUS}" if cpus is None else f"the CPUs are 0 to {cpus - 1}"
        raise ValueError(f"'{part}' names CPU {high}: {why}")
    if low > high:
        raise ValueError(f"'{part}' runs backwards")
    if group == 0 or used > group:
        raise ValueError(f"'{part}' takes {used} CPUs of each {group}: write a list such as 0-15:2/4")
    return {cpu for cpu in range(low, high + 1) if (cpu - low) % group < used}


def _number(digits: str) -> int:
    """Return the number. For more than 18 digits, return a number beyond every limit: ``int`` refuses 4301 digits."""
    return int(digits) if len(digits) <= 18 else 10**18

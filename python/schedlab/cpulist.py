"""CPU lists in the kernel's notation, such as ``0-3,8`` (cpuset(7), "List format")."""

from __future__ import annotations

MOST_CPUS = 8192
"""The largest CONFIG_NR_CPUS of any architecture (x86 with MAXSMP)."""


def parse_cpu_list(text: str) -> list[int]:
    """Return the CPU numbers of a list such as ``"0-3,8"`` in ascending order; ValueError for other text."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f'{text!r} is not a CPU list: write it like "0-3,8"')
        low, high = int(first), int(last) if dash else int(first)
        if high < low:
            raise ValueError(f"{text!r} is not a CPU list: {part} runs backwards")
        if high >= MOST_CPUS:
            raise ValueError(f"{text!r} names CPU {high}; Linux has at most {MOST_CPUS}")
        cpus.update(range(low, high + 1))
    return sorted(cpus)

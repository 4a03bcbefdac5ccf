"""CPU lists in the kernel's notation: ``0-3,8`` (cpuset(7), "List format")."""

from __future__ import annotations


def parse_cpu_list(text: str) -> list[int]:
    """The CPU numbers of a list such as ``"0-3,8"``, ascending; ValueError when it is not one."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f'{text!r} is not a CPU list: write it like "0-3,8"')
        low, high = int(first), int(last) if dash else int(first)
        if high < low:
            raise ValueError(f"{text!r} is not a CPU list: {part} runs backwards")
        cpus.update(range(low, high + 1))
    return sorted(cpus)


def format_cpu_list(cpus: list[int]) -> str:
    """The shortest list notation of these CPU numbers."""
    parts: list[str] = []
    ordered = sorted(set(cpus))
    start = 0
    for i, cpu in enumerate(ordered):
        if i + 1 == len(ordered) or ordered[i + 1] != cpu + 1:
            parts.append(str(cpu) if start == i else f"{ordered[start]}-{cpu}")
            start = i + 1
    return ",".join(parts)

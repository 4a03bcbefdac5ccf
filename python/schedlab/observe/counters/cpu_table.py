"""Tables with a column a CPU, as in /proc/interrupts and /proc/softirqs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedlab.observe.counters.source import NotUnderstood


@dataclass(frozen=True)
class Row:
    """A row: its label, its counts by CPU number (by "" where it has one number in all), and the words after them."""

    label: str
    counts: dict[str, int]
    words: str


def rows(raw: bytes) -> Iterator[Row]:
    """Every row of the table. Raises NotUnderstood where the heading names no CPUs or a count is no number."""
    heading, *lines = raw.decode(errors="replace").splitlines() or [""]
    cpus = [name.removeprefix("CPU") for name in heading.split()]
    if not cpus or not all(cpu.isdecimal() for cpu in cpus):
        raise NotUnderstood(f"no CPUs in the heading {heading[:80]!r}")
    for line in lines:
        label, colon, rest = line.partition(":")
        fields = rest.split(maxsplit=len(cpus))
        if not colon or not fields:
            continue
        try:
            if len(fields) >= len(cpus) and fields[len(cpus) - 1].isdecimal():
                counts = dict(zip(cpus, map(int, fields), strict=False))
                words = fields[len(cpus)] if len(fields) > len(cpus) else ""
            else:
                # ERR and MIS on x86 count for the whole machine.
                counts, words = {"": int(fields[0])}, ""
        except ValueError:
            raise NotUnderstood(line[:80]) from None
        yield Row(label.strip(), counts, words)

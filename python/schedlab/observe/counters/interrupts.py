"""/proc/interrupts: interrupts by kind and CPU (proc_interrupts(5)).

Kinds keep the kernel's labels (``LOC`` local timer, ``RES`` rescheduling, ``CAL`` function call, ``TLB`` shootdown,
``IWI`` irq work, …). Numbered interrupts, whose numbers change from boot to boot, are summed as ``device``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from schedlab.observe.counters.cpu_table import Row, rows
from schedlab.observe.counters.source import NotUnderstood, Probed, Reading, contents, probe_source

BY_CPU = frozenset(f"interrupts.{kind}" for kind in ("LOC", "RES", "CAL", "TLB", "IWI", "device"))
"""The kinds that are also given by CPU: those of the scheduler's trade. All kinds would be thousands of numbers a trial
on a large machine."""

_BY_WORDS = {"Rescheduling interrupts": "RES", "Function call interrupts": "CAL", "IRQ work interrupts": "IWI"}
"""Arm and RISC-V number these (``IPI0``) and tell them apart by their words only, which are x86's own."""


def probe(root: Path) -> Probed:
    """The file is in every /proc of a real machine."""
    path, absent = str(root / "proc/interrupts"), "there is no /proc/interrupts: interrupts are not told by kind"
    return probe_source("/proc/interrupts", lambda: contents(path), parse, absent, BY_CPU)


def parse(raw: bytes) -> Reading:
    """``interrupts.KIND`` by CPU."""
    alike: dict[str, list[Row]] = {}
    for row in rows(raw):
        alike.setdefault(f"interrupts.{_kind(row)}", []).append(row)
    return {name: _sum(of_kind) for name, of_kind in alike.items()}


def _sum(of_kind: Sequence[Row]) -> Mapping[str, int]:
    """The sum of rows that have the same columns: hundreds of devices on a large machine."""
    first, *others = of_kind
    if not others:
        return first.counts
    if any(row.counts.keys() != first.counts.keys() for row in others):
        raise NotUnderstood(f"row {first.label} and its like have different columns")
    return dict(zip(first.counts, map(sum, zip(*(row.counts.values() for row in of_kind), strict=True)), strict=True))


def _kind(row: Row) -> str:
    if row.label.isdecimal():
        return "device"
    return _BY_WORDS.get(row.words.strip(), row.label) if row.label.startswith("IPI") else row.label

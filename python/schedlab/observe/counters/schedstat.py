"""/proc/schedstat: what the scheduler counts itself, by runqueue and by scheduling domain."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from schedlab.observe.counters.schedstat_layout import ALWAYS_ON, CPU, LAYOUTS, UNUSED, Layout
from schedlab.observe.counters.source import NotUnderstood, Probed, Reading, probe_source, switched

OFF = (
    "schedstats are off: `kernel.sched_schedstats=1` turns them on; "
    "until then only run_delay_ns, rq_cpu_time_ns and pcount are counted"
)
NOT_COMPILED_IN = "schedstats are not compiled in: they need a kernel with CONFIG_SCHEDSTATS=y"


def probe(root: Path) -> Probed:
    """The file, with a remark on looks at which the switch is off."""
    read = switched(root / "proc/sys/kernel/sched_schedstats", root / "proc/schedstat")
    return probe_source("/proc/schedstat", read, parse, NOT_COMPILED_IN, off=OFF)


def parse(raw: bytes) -> Reading:
    """``schedstat.FIELD`` and ``schedstat.domainN[.IDLENESS].FIELD``, each by the CPU that counted it.

    The first line is the switch's state, the rest the file. While it is off only the fields that are counted all the
    same are given: the others stand still, and would pass for zeros.
    """
    switch, _, table = raw.partition(b"\n")
    on = switch != b"0"
    lines = table.decode(errors="replace").splitlines()
    layout = _version(lines[0] if lines else "")
    reading: dict[str, dict[str, int]] = {}
    cpu = ""
    for line in lines[1:]:
        label, *fields = line.split() or [""]
        if label.startswith("cpu"):
            cpu = label.removeprefix("cpu")
            _add(reading, "schedstat", cpu, CPU if on else _kept(CPU), fields, label)
        elif label.startswith("domain") and on:
            _add(reading, f"schedstat.{label}", cpu, layout.domain, fields[layout.words :], label)
    return reading


def _version(line: str) -> Layout:
    word, _, number = line.partition(" ")
    if word != "version" or not number.strip().isdecimal():
        raise NotUnderstood(f"it begins with {line[:40]!r}, not with a version")
    layout = LAYOUTS.get(int(number))
    if layout is None:
        known = ", ".join(map(str, LAYOUTS))
        raise NotUnderstood(f"its version is {int(number)}, and only {known} are known")
    return layout


def _kept(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name if name in ALWAYS_ON else UNUSED for name in names)


def _add(
    reading: dict[str, dict[str, int]], prefix: str, cpu: str, names: tuple[str, ...], fields: list[str], label: str
) -> None:
    try:
        values = list(map(int, fields))
    except ValueError:
        values = []
    if len(values) != len(names):
        raise NotUnderstood(f"line {label} has not the {len(names)} numbers of its version")
    for name, value in zip(_counters(prefix, names), values, strict=True):
        if name != UNUSED:
            reading.setdefault(name, {})[cpu] = value


@cache
def _counters(prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The counters' whole names; made once, since a large machine has a thousand lines with the same ones."""
    return tuple(name and f"{prefix}.{name}" for name in names)

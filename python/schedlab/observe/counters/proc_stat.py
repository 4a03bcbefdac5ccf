"""/proc/stat: context switches, forks, interrupts, softirqs, steal (proc_stat(5))."""

from __future__ import annotations

import os
from pathlib import Path

from schedlab.observe.counters.source import NotUnderstood, Probed, Reading, contents, probe_source

MS_PER_TICK = 1000 // os.sysconf("SC_CLK_TCK")
"""/proc/stat counts time in ticks of the user interface, a hundredth of a second (proc_stat(5))."""

_STEAL = 8
"""Column of the ``cpu`` lines, counted from the label."""

_FIRST_NUMBER = {b"ctxt": "context-switches", b"processes": "forks", b"intr": "interrupts", b"softirq": "softirqs"}


def probe(root: Path) -> Probed:
    """The file is in every /proc."""
    path, absent = str(root / "proc/stat"), "there is no /proc/stat: mount /proc"
    return probe_source("/proc/stat", lambda: contents(path), parse, absent)


def parse(raw: bytes) -> Reading:
    """``context-switches``, ``forks`` (threads included), ``interrupts`` and ``softirqs`` in all, ``steal_ms``."""
    reading: dict[str, dict[str, int]] = {}
    for line in raw.splitlines():
        label, _, rest = line.partition(b" ")
        try:
            if name := _FIRST_NUMBER.get(label):
                # The line goes on with a number for each interrupt, thousands of them on a large machine.
                reading[name] = {"": int(rest.split(None, 1)[0])}
            elif label == b"cpu" and len(fields := line.split()) > _STEAL:
                reading["steal_ms"] = {"": int(fields[_STEAL]) * MS_PER_TICK}
        except (ValueError, IndexError):
            raise NotUnderstood(line.decode(errors="replace")[:80]) from None
    return reading

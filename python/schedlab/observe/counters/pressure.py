"""/proc/pressure: time in which tasks waited for CPU, memory or I/O (Documentation/accounting/psi.rst).

The totals are brought up to date at each look; the averages beside them, every two seconds, are not used.
"""

from __future__ import annotations

from pathlib import Path

from schedlab.observe.counters.source import NotUnderstood, Probed, Reading, contents, probe_source

_RESOURCES = ("cpu", "memory", "io", "irq")
"""The last one only where the kernel accounts interrupt time (CONFIG_IRQ_TIME_ACCOUNTING, since 6.1)."""

OFF = "pressure (PSI) is off: boot with `psi=1`, on a kernel with CONFIG_PSI=y"

_UNDEFINED = "psi.cpu.full_us"
"""Always 0 for a whole machine, printed for old readers only (psi.rst): no figure."""


def probe(root: Path) -> Probed:
    """The files that are there; none of them where PSI is off."""
    folder = root / "proc/pressure"
    paths = {name: str(folder / name) for name in _RESOURCES if (folder / name).exists()}
    if not paths:
        return Probed(None, [OFF])

    def read() -> bytes:
        return b"".join(b"# %s\n%s" % (name.encode(), contents(path)) for name, path in paths.items())

    return probe_source("/proc/pressure", read, parse, OFF)


def parse(raw: bytes) -> Reading:
    """``psi.RESOURCE.some_us`` (some task waited) and ``.full_us`` (all did), in microseconds."""
    reading: dict[str, dict[str, int]] = {}
    resource = ""
    for line in raw.decode(errors="replace").splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "#":
            resource = rest
            continue
        _, found, total = rest.rpartition("total=")
        if not found or not total.isdecimal():
            raise NotUnderstood(f"{resource}: {line[:80]!r}")
        if (name := f"psi.{resource}.{kind}_us") != _UNDEFINED:
            reading[name] = {"": int(total)}
    return reading

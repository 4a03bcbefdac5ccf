"""Counters in /proc: stat, vmstat, interrupts, softirqs and pressure; and counters of a trial's processes.

| file | counters | source |
|---|---|---|
| /proc/stat | ``context-switches``, ``forks``, ``interrupts``, ``softirqs``, ``steal_ms`` | proc_stat(5) |
| /proc/vmstat | ``vmstat.NAME``: NUMA balancing, page faults, migration, huge pages | proc_vmstat(5) |
| /proc/interrupts | ``interrupts.KIND`` by CPU | proc_interrupts(5) |
| /proc/softirqs | ``softirqs.KIND`` by CPU | proc(5), Documentation/filesystems/proc.rst |
| /proc/pressure | ``psi.RESOURCE.some_us`` and ``.full_us`` | Documentation/accounting/psi.rst |
| /proc/PID/sched | ``process.*`` for the command's first process | ``proc_sched_show_task``, kernel/sched/debug.c |
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.observe.counters.source import NotUnderstood, Probed, Reading, contents, probe_source, switched

MS_PER_TICK = 1000 // os.sysconf("SC_CLK_TCK")
"""/proc/stat counts time in ticks of the user interface, a hundredth of a second (proc_stat(5))."""

_STEAL = 8
"""Column of the ``cpu`` lines, counted from the label."""

_FIRST_NUMBER = {b"ctxt": "context-switches", b"processes": "forks", b"intr": "interrupts", b"softirq": "softirqs"}


def probe_stat(root: Path) -> Probed:
    """Probe /proc/stat, which every kernel has."""
    path = str(root / "proc/stat")
    return probe_source("/proc/stat", lambda: contents(path), parse_stat, "there is no /proc/stat: mount /proc")


def parse_stat(raw: bytes) -> Reading:
    """Return ``context-switches``, ``forks`` (with threads), total ``interrupts`` and ``softirqs``, ``steal_ms``."""
    reading: dict[str, dict[str, int]] = {}
    for line in raw.splitlines():
        label, _, rest = line.partition(b" ")
        try:
            if name := _FIRST_NUMBER.get(label):
                # A number for each interrupt follows, thousands of them on a large machine.
                reading[name] = {"": int(rest.split(None, 1)[0])}
            elif label == b"cpu" and len(fields := line.split()) > _STEAL:
                reading["steal_ms"] = {"": int(fields[_STEAL]) * MS_PER_TICK}
        except (ValueError, IndexError):
            raise NotUnderstood(line.decode(errors="replace")[:80]) from None
    return reading


_VMSTAT_WANTED = (b"numa_", b"pgfault", b"pgmajfault", b"pgmigrate_", b"thp_fault_", b"thp_collapse_",
                  b"thp_migration_", b"thp_split_")  # fmt: skip
"""Events, which the kernel sums exactly at each read. Gauges (``nr_*``) are folded lazily."""

_BY_NUMA_STAT = {b"numa_hit", b"numa_miss", b"numa_foreign", b"numa_interleave", b"numa_local", b"numa_other"}
"""Counted only while vm.numa_stat is 1 (Documentation/admin-guide/sysctl/vm.rst)."""


def probe_vmstat(root: Path) -> Probed:
    """Probe /proc/vmstat, with notes on NUMA counters that this kernel lacks."""
    read = switched(root / "proc/sys/vm/numa_stat", root / "proc/vmstat")
    absent = "there is no /proc/vmstat, which needs CONFIG_VM_EVENT_COUNTERS=y"
    off = "NUMA allocation counters (numa_hit, …) are off: `vm.numa_stat=1` turns them on"
    probed = probe_source("/proc/vmstat", read, parse_vmstat, absent, off=off)
    if probed.source is not None and "vmstat.numa_hint_faults" not in parse_vmstat(read()):
        probed.notes.append("NUMA balancing is not compiled in: its counters need CONFIG_NUMA_BALANCING=y")
    return probed


def parse_vmstat(raw: bytes) -> Reading:
    """Return ``vmstat.NAME``; the first line is the state of vm.numa_stat, the rest the file."""
    state, _, table = raw.partition(b"\n")
    reading = {}
    for line in table.splitlines():
        name, _, value = line.partition(b" ")
        if not name.startswith(_VMSTAT_WANTED) or (state == b"0" and name in _BY_NUMA_STAT):
            continue
        try:
            reading[f"vmstat.{name.decode()}"] = {"": int(value)}
        except ValueError:
            raise NotUnderstood(line.decode(errors="replace")) from None
    return reading


_RESOURCES = ("cpu", "memory", "io", "irq")
"""``irq`` exists only where the kernel accounts interrupt time (CONFIG_IRQ_TIME_ACCOUNTING, since 6.1)."""

PRESSURE_OFF = "pressure (PSI) is off: boot with `psi=1`, on a kernel with CONFIG_PSI=y"

_UNDEFINED = "psi.cpu.full_us"
"""Always 0 for a whole machine, and printed only for old readers (psi.rst)."""


def probe_pressure(root: Path) -> Probed:
    """Probe the existing files of /proc/pressure. The files do not exist where PSI is off."""
    folder = root / "proc/pressure"
    paths = {name: str(folder / name) for name in _RESOURCES if (folder / name).exists()}
    if not paths:
        return Probed(None, [PRESSURE_OFF])

    def read() -> bytes:
        return b"".join(b"# %s\n%s" % (name.encode(), contents(path)) for name, path in paths.items())

    return probe_source("/proc/pressure", read, parse_pressure, PRESSURE_OFF)


def parse_pressure(raw: bytes) -> Reading:
    """Return ``psi.RESOURCE.some_us`` (some task waited) and ``.full_us`` (all tasks did), in microseconds.

    The kernel updates the totals at each read. The averages, updated every two seconds, are not used.
    """
    reading: dict[str, dict[str, int]] = {}
    resource = ""
    for line in raw.decode(errors="replace").splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "#":
            resource = rest
            continue
        _, mark, total = rest.rpartition("total=")
        if not mark or not total.isdecimal():
            raise NotUnderstood(f"{resource}: {line[:80]!r}")
        if (name := f"psi.{resource}.{kind}_us") != _UNDEFINED:
            reading[name] = {"": int(total)}
    return reading


INTERRUPTS_BY_CPU = frozenset(f"interrupts.{kind}" for kind in ("LOC", "RES", "CAL", "TLB", "IWI", "device"))
"""Kinds of interest to the scheduler, reported for each CPU. All kinds would be thousands of numbers per trial on a
large machine."""

_BY_WORDS = {"Rescheduling interrupts": "RES", "Function call interrupts": "CAL", "IRQ work interrupts": "IWI"}
"""x86's labels for the inter-processor interrupts of Arm and RISC-V, which are numbered (``IPI0``) and described in
x86's words."""


def probe_interrupts(root: Path) -> Probed:
    """Probe /proc/interrupts, which every real machine has."""
    path, absent = str(root / "proc/interrupts"), "there is no /proc/interrupts: interrupts are not counted by kind"
    return probe_source("/proc/interrupts", lambda: contents(path), parse_interrupts, absent, INTERRUPTS_BY_CPU)


def parse_interrupts(raw: bytes) -> Reading:
    """Return ``interrupts.KIND`` by CPU.

    Kinds are the kernel's labels (``LOC`` local timer, ``RES`` rescheduling, ``CAL`` function call, ``TLB`` shootdown,
    ``IWI`` irq work, …). Numbered interrupts, whose numbers change from boot to boot, are summed as ``device``.
    """
    by_kind: dict[str, list[_Row]] = {}
    for row in _rows(raw):
        by_kind.setdefault(f"interrupts.{_kind(row)}", []).append(row)
    return {name: _sum(of_kind) for name, of_kind in by_kind.items()}


def _sum(of_kind: Sequence[_Row]) -> Mapping[str, int]:
    """Sum rows with the same columns; a large machine has hundreds of devices."""
    first, *others = of_kind
    if not others:
        return first.counts
    if any(row.counts.keys() != first.counts.keys() for row in others):
        raise NotUnderstood(f"row {first.label} and rows of its kind have different columns")
    return dict(zip(first.counts, map(sum, zip(*(row.counts.values() for row in of_kind), strict=True)), strict=True))


def _kind(row: _Row) -> str:
    if row.label.isdecimal():
        return "device"
    return _BY_WORDS.get(row.words.strip(), row.label) if row.label.startswith("IPI") else row.label


SOFTIRQS_BY_CPU = frozenset(f"softirqs.{kind}" for kind in ("SCHED", "TIMER", "RCU", "NET_RX"))
"""Kinds that are also reported for each CPU."""


def probe_softirqs(root: Path) -> Probed:
    """Probe /proc/softirqs, which every real machine has."""
    path, absent = str(root / "proc/softirqs"), "there is no /proc/softirqs: softirqs are not counted by kind"
    return probe_source("/proc/softirqs", lambda: contents(path), parse_softirqs, absent, SOFTIRQS_BY_CPU)


def parse_softirqs(raw: bytes) -> Reading:
    """Return ``softirqs.KIND`` by CPU."""
    return {f"softirqs.{row.label}": row.counts for row in _rows(raw)}


@dataclass(frozen=True)
class _Row:
    """A row of a table by CPU: its label, its counts by CPU number ("" for a single number), and further words."""

    label: str
    counts: dict[str, int]
    words: str


def _rows(raw: bytes) -> Iterator[_Row]:
    """Yield the rows of a table by CPU. NotUnderstood for a heading without CPUs or a count that is not a number."""
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
                # ERR and MIS on x86 have one number for the whole machine.
                counts, words = {"": int(fields[0])}, ""
        except ValueError:
            raise NotUnderstood(line[:80]) from None
        yield _Row(label.strip(), counts, words)


_TREE = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")

_COUNTS = frozenset({
    "nr_migrations", "nr_switches", "nr_voluntary_switches", "nr_involuntary_switches", "nr_migrations_cold",
    "nr_forced_migrations", "nr_failed_migrations_affine", "nr_failed_migrations_running", "nr_failed_migrations_hot",
    "nr_wakeups", "nr_wakeups_sync", "nr_wakeups_migrate", "nr_wakeups_local", "nr_wakeups_remote", "nr_wakeups_affine",
    "nr_wakeups_affine_attempts", "nr_wakeups_passive", "nr_wakeups_idle", "wait_count", "iowait_count",
    "numa_pages_migrated", "total_numa_faults",
})  # fmt: skip
_TIMES = frozenset({"sum_exec_runtime", "sum_sleep_runtime", "sum_block_runtime", "wait_sum", "wait_max", "iowait_sum"})
"""Printed in milliseconds with six decimals."""


def tree(usage: Mapping[str, int]) -> dict[str, float]:
    """Return the ``tree.*`` counters: the agent's account of its children that ended (getrusage(2), RUSAGE_CHILDREN).

    The launcher reaps all processes of a trial, so that the account covers the trial's whole tree, launcher included.
    The account lacks children that a program let the kernel discard (SIGCHLD ignored; wait(2), "NOTES").

    Args:
        usage: the resources that processes have used (``Usage`` of schedload).
    """
    return {f"tree.{name.replace('_', '-')}": float(usage[name]) for name in _TREE}


def parse_sched(text: str) -> dict[str, float]:
    """Return ``process.NAME`` counts and ``process.NAME_ms`` times of a /proc/PID/sched.

    The file covers one thread and disappears with it, so the launcher reads it between the end of the first process and
    its reaping (waitid(2) with WNOWAIT). The file's figures then cover the process's complete run time. Sampling all
    threads would disturb the trial.

    Waiting times and wake-ups are present only while schedstats are on. Absent figures are left out. ValueError for a
    text that is not from a kernel.
    """
    figures: dict[str, float] = {}
    for line in text.splitlines():
        label, colon, value = line.rpartition(":")
        # "se." and, before Linux 5.16, "se.statistics." are the kernel's structures, not part of a figure's name.
        name = label.strip().removeprefix("se.").removeprefix("statistics.")
        if not colon:
            continue
        if name in _COUNTS:
            figures[f"process.{name}"] = int(value)
        elif name in _TIMES:
            figures[f"process.{name}_ms"] = float(value)
    return figures

"""The files of a machine, read twice, as facts about some of its CPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from schedlab.notation.cpulist import parse_cpu_list
from schedlab.observe.conditions import cpu_shares

CPUS = "/sys/devices/system/cpu"
WORKQUEUES = "/sys/devices/virtual/workqueue"
FAIR_SERVER = "/sys/kernel/debug/sched/fair_server"
"""A folder for each CPU with runtime and period in ns (kernel/sched/debug.c, Linux 6.12)."""

CONTROLLERS = "/sys/fs/cgroup/cgroup.controllers"
"""A file of control groups of version 2, which have partitions of CPUs (Documentation/admin-guide/cgroup-v2.rst)."""

FILES = (
    CONTROLLERS, "/proc/cmdline", "/proc/sys/kernel/osrelease",
    "/proc/stat", "/proc/interrupts", "/proc/softirqs", "/proc/timer_list",
    "/proc/irq/default_smp_affinity", "/proc/irq/*/smp_affinity_list", "/proc/irq/*/effective_affinity_list",
    "/proc/*/task/*/stat", "/proc/*/task/*/status",
    *(f"/proc/sys/kernel/{name}" for name in (
        "watchdog", "nmi_watchdog", "watchdog_cpumask", "numa_balancing", "sched_rt_runtime_us", "sched_rt_period_us",
    )),
    "/proc/sys/vm/stat_interval",
    *(f"{CPUS}/{name}" for name in (
        "online", "isolated", "nohz_full", "cpu*/online",
        "cpu*/topology/thread_siblings_list", "cpu*/cpufreq/scaling_governor",
        "cpu*/cpuidle/state*/name", "cpu*/cpuidle/state*/latency", "cpu*/cpuidle/state*/disable",
    )),
    f"{WORKQUEUES}/cpumask", "/sys/devices/system/machinecheck/machinecheck*/check_interval",
    f"{FAIR_SERVER}/cpu*/runtime", f"{FAIR_SERVER}/cpu*/period",
)  # fmt: skip
"""Patterns of the files that :class:`Machine` reads."""

_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD in the flags of /proc/PID/stat (include/linux/sched.h, Linux 6.12)."""


@dataclass(frozen=True)
class Task:
    """A thread: its name, whether it belongs to the kernel, the CPUs where it may run, the CPU where it ran last, and
    its context switches since its start."""

    name: str
    of_kernel: bool
    allowed: frozenset[int]
    last: int
    switches: int


@dataclass(frozen=True)
class Machine:
    """The files of a machine by path before and after some seconds, and the CPUs that are examined."""

    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    seconds: float
    examined: Sequence[int]

    def text(self, path: str) -> str | None:
        """Return the stripped text of a file; None without the file."""
        data = self.after.get(path)
        return None if data is None else data.decode(errors="replace").strip()

    def number(self, path: str) -> int | None:
        """Return the number in a file; None without the file, or if the file holds something else."""
        text = self.text(path)
        return int(text) if text is not None and text.lstrip("-").isdecimal() else None

    def cpus(self, path: str) -> frozenset[int]:
        """Return the CPUs of a list in a file; none without the file."""
        return cpu_set(self.text(path) or "")

    def hit(self, cpus: frozenset[int]) -> list[int]:
        """Return the examined CPUs among the CPUs."""
        return [cpu for cpu in self.examined if cpu in cpus]

    @cached_property
    def online(self) -> frozenset[int]:
        """The CPUs that are online."""
        return self.cpus(f"{CPUS}/online")

    @cached_property
    def release(self) -> tuple[int, int]:
        """The version of the kernel, such as (6, 12); (0, 0) where it cannot be read."""
        found = re.match(r"(\d+)\.(\d+)", self.text("/proc/sys/kernel/osrelease") or "")
        return (int(found[1]), int(found[2])) if found else (0, 0)

    @cached_property
    def housekeeping(self) -> list[int]:
        """The online CPUs that are not examined, or all CPUs when every CPU is examined."""
        return sorted(self.online - set(self.examined)) or sorted(self.online)

    @cached_property
    def boot_words(self) -> Mapping[str, str]:
        """The parameters of the kernel's command line by name; a parameter without a value has an empty text."""
        words = (word.partition("=") for word in (self.text("/proc/cmdline") or "").split())
        return {name: value for name, _, value in words}

    @cached_property
    def interrupt_rates(self) -> Mapping[str, float]:
        """Interrupts per second on the examined CPUs together, by the first column of /proc/interrupts."""
        return self._rates("/proc/interrupts")

    @cached_property
    def interrupt_names(self) -> Mapping[str, str]:
        """The descriptions of interrupts, by the first column of /proc/interrupts."""
        columns, *lines = (self.text("/proc/interrupts") or "").splitlines() or [""]
        fields = (line.split(maxsplit=len(columns.split()) + 1) for line in lines)
        return {words[0].rstrip(":"): words[-1] for words in fields if len(words) > len(columns.split()) + 1}

    @cached_property
    def softirq_rates(self) -> Mapping[str, float]:
        """Softirqs per second on the examined CPUs together, by name."""
        return self._rates("/proc/softirqs")

    def _rates(self, path: str) -> dict[str, float]:
        first, last = (_by_cpu(files.get(path, b"").decode(errors="replace")) for files in (self.before, self.after))
        return {
            name: sum(counts.get(cpu, 0) - first.get(name, {}).get(cpu, 0) for cpu in self.examined) / self.seconds
            for name, counts in last.items()
        }

    def shares(self, cpu: int) -> tuple[float, float]:
        """Return the shares of a CPU's time that its tasks and interrupts used, and that a hypervisor stole."""
        before, after = (files.get("/proc/stat", b"").decode() for files in (self.before, self.after))
        return cpu_shares(before, after, f"cpu{cpu}")

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        """The threads by process and thread number."""
        return dict(_tasks(self.after))

    @cached_property
    def ran(self) -> Mapping[str, float]:
        """Context switches per second of the threads that ran in the time between, by process and thread number."""
        before = dict(_tasks(self.before))
        rises = {
            key: task.switches - (before[key].switches if key in before else 0) for key, task in self.tasks.items()
        }
        return {key: rise / self.seconds for key, rise in rises.items() if rise > 0}

    @cached_property
    def timers(self) -> Mapping[int, list[str]]:
        """The functions of the active high-resolution timers of each CPU; empty for users other than root."""
        timers: dict[int, list[str]] = {}
        cpu = -1
        for line in (self.text("/proc/timer_list") or "").splitlines():
            if line.startswith("cpu: "):
                cpu = int(line.removeprefix("cpu: "))
            elif line.startswith(" #") and ", " in line:
                timers.setdefault(cpu, []).append(line.split(", ")[1])
        return timers


def cpu_set(text: str) -> frozenset[int]:
    """Return the CPUs of a list; none for a text that is not a list, such as ``(null)``."""
    try:
        return frozenset(parse_cpu_list(text))
    except ValueError:
        return frozenset()


def mask_set(text: str) -> frozenset[int]:
    """Return the CPUs of a mask such as ``ffffffff,0000000f`` (the ``%*pb`` format of lib/vsprintf.c)."""
    digits = text.replace(",", "")
    bits = int(digits, 16) if digits and all(digit in "0123456789abcdefABCDEF" for digit in digits) else 0
    return frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def mask_text(cpus: Sequence[int]) -> str:
    """Return CPUs as a mask, in groups of 32 bits."""
    digits = f"{sum(1 << cpu for cpu in cpus):x}"
    head = len(digits) % 8
    return ",".join(part for part in (digits[:head], *(digits[i : i + 8] for i in range(head, len(digits), 8))) if part)


def _by_cpu(text: str) -> dict[str, dict[int, int]]:
    """Return the counts of /proc/interrupts or /proc/softirqs by name and CPU."""
    heading, *lines = text.splitlines() or [""]
    columns = [int(word.removeprefix("CPU")) for word in heading.split()]
    table: dict[str, dict[int, int]] = {}
    for line in lines:
        name, _, counts = line.partition(":")
        values = counts.split()[: len(columns)]
        if len(values) == len(columns) and all(value.isdecimal() for value in values):
            table[name.strip()] = dict(zip(columns, map(int, values), strict=True))
    return table


def _tasks(files: Mapping[str, bytes]) -> Iterator[tuple[str, Task]]:
    for path, data in files.items():
        if not path.endswith("/stat") or (status := files.get(f"{path}us")) is None:
            continue
        head, _, tail = data.decode(errors="replace").rpartition(")")
        # The fields from the third on (proc_pid_stat(5)): the flags are the ninth field, the CPU is the 39th.
        fields = tail.split()
        lines = dict(line.partition(":")[::2] for line in status.decode(errors="replace").splitlines())
        if len(fields) < 37 or "Cpus_allowed_list" not in lines:
            continue
        switches = sum(int(lines.get(f"{kind}_ctxt_switches", "0")) for kind in ("voluntary", "nonvoluntary"))
        allowed = cpu_set(lines["Cpus_allowed_list"].strip())
        name = head.partition("(")[2]
        yield path, Task(name, bool(int(fields[6]) & _KERNEL_THREAD), allowed, int(fields[36]), switches)

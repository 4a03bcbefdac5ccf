"""Findings: settings that let the kernel interrupt a task on a CPU, each with its observed rate and its remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from schedlab.notation.cpulist import format_cpu_list
from schedlab.notation.units import counted
from schedlab.observe.quiet.machine import (
    CONTROLLERS,
    CPUS,
    FAIR_SERVER,
    WORKQUEUES,
    Machine,
    cpu_set,
    mask_set,
    mask_text,
)

STAT_INTERVAL = 120
"""Seconds of ``vm.stat_interval`` that the remedy sets: the counters are folded that seldom, or on demand."""

SHEPHERD_SKIPS = (6, 5)
"""The kernel whose vmstat_shepherd leaves out isolated CPUs (mm/vmstat.c)."""

FAIR_SERVER_SINCE = (6, 12)
"""The kernel whose fair server replaces the throttling of real-time tasks (kernel/sched/deadline.c)."""

SHORT_LATENCY_US = 10
"""Microseconds of exit latency up to which an idle state hardly delays a wake-up."""

USE = "use"
"""Subject of the finding that tasks use a CPU."""

SHOWN = 8
"""Most names that a finding lists."""


@dataclass(frozen=True)
class Finding:
    """A reason why CPUs are not quiet.

    ``remedy`` is a command of a shell, ``boot`` a boot parameter that does the same; either may be empty.
    ``per_second`` is the number of interruptions per second that the remedy can remove, as observed on the examined
    CPUs together; None where no counter shows the rate. ``causes`` are the causes in ``schedlab noise`` that the remedy
    can remove; a name that ends with a space stands for all causes that begin with it.
    """

    subject: str
    text: str
    remedy: str = ""
    boot: str = ""
    per_second: float | None = None
    causes: tuple[str, ...] = ()

    def removes(self, cause: str) -> bool:
        """Return whether the remedy can remove a cause."""
        return any(cause == name or (name.endswith(" ") and cause.startswith(name)) for name in self.causes)


def _tasks(names: Iterable[str]) -> tuple[str, ...]:
    """Return the causes of tasks, whose names lack the number of the CPU: ``ksoftirqd/3`` is ``task ksoftirqd``.

    Threads of interrupts keep their names.
    """
    short = (name if name.startswith("irq/") else name.partition("/")[0] for name in names)
    return tuple(sorted({f"task {name}" for name in short}))


def findings(machine: Machine) -> list[Finding]:
    """Return the reasons why the examined CPUs are not quiet."""
    return [finding for check in _CHECKS for finding in check(machine)]


def boot_parameters(found: Iterable[Finding]) -> str:
    """Return the boot parameters of all findings as words of one command line."""
    return " ".join(dict.fromkeys(finding.boot for finding in found if finding.boot))


def _isolation(machine: Machine) -> Iterator[Finding]:
    loud = sorted(set(machine.examined) - machine.cpus(f"{CPUS}/isolated"))
    if not loud:
        return
    users = {key: task for key, task in machine.tasks.items() if not task.of_kernel and machine.hit(task.allowed)}
    ran = sorted({task.name for key, task in users.items() if key in machine.ran and task.last in machine.examined})
    text = f"not isolated: {counted(len(users), 'user thread')} may run there"
    text += f"; these ran there: {_some(ran)}" if ran else ""
    has_partitions = machine.text(CONTROLLERS) is not None
    partition = "echo isolated > /sys/fs/cgroup/GROUP/cpuset.cpus.partition   (GROUP has exactly these CPUs)"
    boot = f"isolcpus=managed_irq,domain,{format_cpu_list(machine.examined)}"
    causes = _tasks(task.name for task in users.values())
    yield Finding("isolation", text, partition if has_partitions else "", boot, causes=causes)


def _tick(machine: Machine) -> Iterator[Finding]:
    if set(machine.examined) - machine.cpus(f"{CPUS}/nohz_full"):
        boot = _nohz_full(machine)
        text = "the tick runs while a task runs"
        text += "" if boot else "; this kernel was built without CONFIG_NO_HZ_FULL"
        text += "; the rate is of all local timer interrupts"
        yield Finding("tick", text, boot=boot, per_second=machine.interrupt_rates.get("LOC"), causes=("tick",))


def _nohz_full(machine: Machine) -> str:
    """Return the boot parameter that stops the tick; empty for a kernel without CONFIG_NO_HZ_FULL."""
    has_file = machine.text(f"{CPUS}/nohz_full") is not None
    return f"nohz_full={format_cpu_list(machine.examined)}" if has_file else ""


def _boot_cpu(machine: Machine) -> Iterator[Finding]:
    if 0 in machine.examined and len(machine.online) > 1:
        text = "CPU 0 keeps the time and runs work of the kernel: choose another CPU"
        yield Finding("choice", text, f"schedlab doctor --quiet {max(machine.online)}")


def _device_interrupts(machine: Machine) -> Iterator[Finding]:
    loud = []
    for path in machine.after:
        number, _, name = path.removeprefix("/proc/irq/").partition("/")
        if name != "smp_affinity_list" or not number.isdecimal():
            continue
        effective = machine.cpus(f"/proc/irq/{number}/effective_affinity_list")
        if machine.hit(effective or machine.cpus(path)):
            loud.append(number)
    # Interrupts without a line in /proc/interrupts have no handler.
    loud = sorted((number for number in loud if number in machine.interrupt_rates), key=int)
    if loud:
        rate = sum(machine.interrupt_rates[number] for number in loud)
        names = [f"{number} {_device(machine, number)}".rstrip() for number in loud]
        others = format_cpu_list(machine.housekeeping)
        command = f"for irq in {' '.join(loud)}; do echo {others} > /proc/irq/$irq/smp_affinity_list; done"
        command += "   (interrupts whose CPUs the driver manages refuse: isolcpus=managed_irq)"
        causes = tuple(f"irq {_device(machine, number)}" for number in loud)
        yield Finding("interrupts", f"may be delivered there: {_some(names)}", command, per_second=rate, causes=causes)
    default = mask_set(machine.text("/proc/irq/default_smp_affinity") or "")
    if machine.hit(default):
        command = f"echo {mask_text(machine.housekeeping)} > /proc/irq/default_smp_affinity"
        boot = f"irqaffinity={format_cpu_list(machine.housekeeping)}"
        yield Finding("interrupts", "interrupts of devices that appear later may be delivered there", command, boot)


def _device(machine: Machine, number: str) -> str:
    """Return the name of an interrupt's device: the last words of its line, behind chip and trigger."""
    words = machine.interrupt_names.get(number, "").split()
    return words[-1] if words else ""


def _other_interrupts(machine: Machine) -> Iterator[Finding]:
    senders = f"{_measurement(machine)}   (names the senders, from Linux 6.4 on)"
    watchdog = "sysctl kernel.nmi_watchdog=0   (and end 'perf')"
    known: dict[str, tuple[str, tuple[str, ...], str]] = {
        "RES": ("reschedule interrupts: other CPUs wake tasks there", ("reschedule interrupt",), senders),
        "CAL": (
            "function call interrupts: other CPUs run functions there, as for membarrier, TLB or text patching",
            ("call-function interrupt", "call "),
            senders,
        ),
        "TLB": ("TLB shootdowns: threads of a process of this CPU unmap memory elsewhere", (), senders),
        "IWI": ("IRQ work", ("irq-work interrupt",), _measurement(machine)),
        "TRM": (
            "thermal events",
            ("thermal interrupt",),
            f"cpupower --cpu {format_cpu_list(machine.examined)} frequency-set --max FREQUENCY   (or better cooling)",
        ),
        "PMI": ("performance monitoring interrupts", (), watchdog),
        "NMI": ("non-maskable interrupts", ("nmi ",), watchdog),
    }
    for name, (text, causes, remedy) in known.items():
        if rate := machine.interrupt_rates.get(name, 0.0):
            yield Finding("interrupts", text, remedy, per_second=rate, causes=causes)


def _measurement(machine: Machine) -> str:
    return f"schedlab noise --cpus {format_cpu_list(machine.examined)} --for 60s"


def _rcu(machine: Machine) -> Iterator[Finding]:
    words = machine.boot_words
    offloaded = set().union(*(_boot_cpus(machine, words.get(name)) for name in ("rcu_nocbs", "nohz_full")))
    if set(machine.examined) - offloaded:
        boot = f"rcu_nocbs={format_cpu_list(machine.examined)}"
        rate = machine.softirq_rates.get("RCU")
        yield Finding("RCU", "callbacks run there", boot=boot, per_second=rate, causes=("softirq RCU",))


def _boot_cpus(machine: Machine, value: str | None) -> frozenset[int]:
    """Return the CPUs of a boot parameter; none without the parameter, or without a list.

    ``all`` and ``N``, the last CPU, are in Documentation/admin-guide/kernel-parameters.rst. ``rcu_nocbs`` without a
    list offloads no CPU (Linux 5.16).
    """
    if not value:
        return frozenset()
    return machine.online if value == "all" else cpu_set(value.replace("N", str(max(machine.online))))


def _watchdogs(machine: Machine) -> Iterator[Finding]:
    names = {"watchdog": "soft-lockup detector", "nmi_watchdog": "hard-lockup detector"}
    on = [text for name, text in names.items() if machine.number(f"/proc/sys/kernel/{name}")]
    mask = machine.text("/proc/sys/kernel/watchdog_cpumask")
    if on and machine.hit(machine.online if mask is None else cpu_set(mask)):
        command = f"sysctl kernel.watchdog_cpumask={format_cpu_list(machine.housekeeping)}"
        yield Finding("watchdogs", f"{' and '.join(on)} on", command, causes=("hrtimer watchdog_timer_fn",))


def _vmstat(machine: Machine) -> Iterator[Finding]:
    isolated = machine.cpus(f"{CPUS}/isolated") | machine.cpus(f"{CPUS}/nohz_full")
    if machine.release >= SHEPHERD_SKIPS and isolated.issuperset(machine.examined):
        return
    interval = machine.number("/proc/sys/vm/stat_interval")
    if interval is not None and interval < STAT_INTERVAL:
        text = f"vmstat_update folds counters every {interval} s after activity"
        yield Finding("vmstat", text, f"sysctl vm.stat_interval={STAT_INTERVAL}", causes=("vmstat_update",))


def _workqueues(machine: Machine) -> Iterator[Finding]:
    """The mask of all unbound workqueues also limits those with masks of their own (core-api/workqueue.rst)."""
    path = f"{WORKQUEUES}/cpumask"
    if machine.hit(mask_set(machine.text(path) or "")):
        command = f"echo {mask_text(machine.housekeeping)} > {path}"
        yield Finding("workqueues", "work of unbound workqueues may run there", command)


def _kernel_threads(machine: Machine) -> Iterator[Finding]:
    threads = {key: task for key, task in machine.tasks.items() if task.of_kernel and machine.hit(task.allowed)}
    bound = {key: task for key, task in threads.items() if len(task.allowed) == 1}
    if ran := [key for key in bound if key in machine.ran]:
        names = sorted(bound[key].name for key in ran)
        text = f"bound threads that ran: {_some(names)}"
        yield Finding("kernel", text, _hotplug(machine), per_second=sum(machine.ran[key] for key in ran))
    movable = {key: task for key, task in threads.items() if key not in bound}
    if movable:
        ran = [key for key in movable if key in machine.ran and movable[key].last in machine.examined]
        names = sorted(movable[key].name for key in ran)
        text = f"{counted(len(movable), 'movable thread')} may run there" + (
            f"; these ran: {_some(names)}" if ran else ""
        )
        others = format_cpu_list(machine.housekeeping)
        command = f"for pid in $(pgrep -P 2); do taskset -pc {others} $pid; done   (bound threads refuse)"
        yield Finding("kernel", text, command, _nohz_full(machine), causes=_tasks(names))


def _timers(machine: Machine) -> Iterator[Finding]:
    functions = Counter(name for cpu in machine.examined for name in machine.timers.get(cpu, []))
    # The tick's own timer is a finding of its own.
    names = [f"{name} × {count}" for name, count in functions.most_common() if not name.startswith("tick_")]
    if names:
        yield Finding("timers", f"high-resolution timers armed there: {_some(names)}", _hotplug(machine))


def _hotplug(machine: Machine) -> str:
    """Return the command that moves armed timers and delayed work to other CPUs; empty if no CPU can go offline.

    ``hrtimers_cpu_dying``, ``timers_dead_cpu`` and ``workqueue_offline_cpu`` (Linux 6.12) move them. What is bound to
    the CPU returns.
    """
    cpus = [cpu for cpu in machine.examined if machine.text(f"{CPUS}/cpu{cpu}/online") is not None]
    if not cpus or set(machine.online) <= set(machine.examined):
        return ""
    path = f"{CPUS}/cpu$cpu/online"
    words = " ".join(map(str, cpus))
    return f"for cpu in {words}; do echo 0 > {path}; echo 1 > {path}; done   (moves timers and delayed work away)"


def _idle_states(machine: Machine) -> Iterator[Finding]:
    deep: dict[str, int] = {}
    for cpu in machine.examined:
        for state in range(16):
            folder = f"{CPUS}/cpu{cpu}/cpuidle/state{state}"
            latency, disabled = machine.number(f"{folder}/latency"), machine.number(f"{folder}/disable")
            if latency is not None and latency > SHORT_LATENCY_US and not disabled:
                deep[machine.text(f"{folder}/name") or f"state{state}"] = latency
    if deep:
        names = ", ".join(f"{name} ({latency} µs)" for name, latency in deep.items())
        command = f"cpupower --cpu {format_cpu_list(machine.examined)} idle-set --disable-by-latency {SHORT_LATENCY_US}"
        yield Finding("idle", f"states that wake up slowly: {names}", command)


def _governor(machine: Machine) -> Iterator[Finding]:
    governors = {machine.text(f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor") for cpu in machine.examined}
    if slow := sorted(name for name in governors if name and name != "performance"):
        command = f"cpupower --cpu {format_cpu_list(machine.examined)} frequency-set --governor performance"
        yield Finding("frequency", f"governor {', '.join(slow)}", command)


def _siblings(machine: Machine) -> Iterator[Finding]:
    for cpu in machine.examined:
        others = machine.cpus(f"{CPUS}/cpu{cpu}/topology/thread_siblings_list") & machine.online - {cpu}
        for other in sorted(others - set(machine.examined)):
            busy, _ = machine.shares(other)
            text = f"CPU {other} shares the core of CPU {cpu}, {busy:.0%} busy"
            yield Finding("SMT", text, f"echo 0 > {CPUS}/cpu{other}/online")


def _numa_balancing(machine: Machine) -> Iterator[Finding]:
    if machine.number("/proc/sys/kernel/numa_balancing"):
        text = "NUMA balancing samples memory by page faults of the task"
        yield Finding("memory", text, "sysctl kernel.numa_balancing=0")


def _real_time(machine: Machine) -> Iterator[Finding]:
    """What other tasks get beside a real-time task: by the fair server of each CPU (Linux 6.12), or by throttling."""
    starves = "(such a task then starves everything else on its CPU)"
    servers = {cpu: machine.number(f"{FAIR_SERVER}/cpu{cpu}/runtime") for cpu in machine.examined}
    for cpu, runtime_ns in servers.items():
        period_ns = machine.number(f"{FAIR_SERVER}/cpu{cpu}/period")
        if runtime_ns and period_ns:
            text = f"the fair server of CPU {cpu} gives other tasks {runtime_ns / 1e6:g} of {period_ns / 1e6:g} ms"
            yield Finding("real time", text, f"echo 0 > {FAIR_SERVER}/cpu{cpu}/runtime   {starves}")
    if any(runtime is not None for runtime in servers.values()):
        return
    if machine.release >= FAIR_SERVER_SINCE:
        text = f"the fair server may give other tasks 50 of 1000 ms: {FAIR_SERVER} cannot be read (debugfs)"
        yield Finding("real time", text, "mount -t debugfs debugfs /sys/kernel/debug   (if lockdown permits)")
        return
    runtime = machine.number("/proc/sys/kernel/sched_rt_runtime_us")
    period = machine.number("/proc/sys/kernel/sched_rt_period_us")
    if runtime is not None and period is not None and 0 <= runtime < period:
        text = f"a real-time task may run {runtime / 1000:g} of {period / 1000:g} ms when other tasks wait"
        yield Finding("real time", text, f"sysctl kernel.sched_rt_runtime_us=-1   {starves}")


def _machine_checks(machine: Machine) -> Iterator[Finding]:
    paths = [f"/sys/devices/system/machinecheck/machinecheck{cpu}/check_interval" for cpu in machine.examined]
    if polled := [path for path in paths if int(machine.text(path) or "0", 16)]:
        # The file holds a hexadecimal number of seconds (Documentation/ABI/testing/sysfs-mce, Linux 6.12).
        seconds = int(machine.text(polled[0]) or "0", 16)
        text = f"machine check banks are polled every {seconds} s"
        yield Finding("checks", text, f"echo 0 > {polled[0]}   (for all CPUs)", causes=("timer mce_timer_fn",))


def _use(machine: Machine) -> Iterator[Finding]:
    for cpu in machine.examined:
        busy, stolen = machine.shares(cpu)
        if busy >= 0.005:
            yield Finding(USE, f"CPU {cpu} was {busy:.0%} busy while nothing was measured")
        if stolen >= 0.005:
            text = f"a hypervisor took {stolen:.0%} of the time of CPU {cpu}: pin the virtual CPU on the machine below"
            yield Finding("steal", text, causes=("hypervisor",))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


_CHECKS = (
    _boot_cpu, _isolation, _tick, _device_interrupts, _other_interrupts, _rcu, _watchdogs, _vmstat, _workqueues,
    _kernel_threads, _timers, _idle_states, _governor, _siblings, _numa_balancing, _real_time, _machine_checks, _use,
)  # fmt: skip

"""What keeps CPUs from being quiet, from the files of a machine with four CPUs."""

from __future__ import annotations

import pytest

from schedlab.observe.quiet import Finding, Machine, boot_parameters, findings
from schedlab.observe.quiet.machine import CONTROLLERS, FAIR_SERVER, mask_set, mask_text

CPU = "/sys/devices/system/cpu"

INTERRUPTS = """           CPU0       CPU1       CPU2       CPU3
 24:         10          0          0         {disk}  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 25:         10          0          0          0  PCI-MSIX-0000:00:03.0   1-edge      eth0
LOC:      1000       1000       1000       {tick}   Local timer interrupts
RES:         5          5          5          {wake}   Rescheduling interrupts
ERR:          0
"""
SOFTIRQS = """                    CPU0       CPU1       CPU2       CPU3
         RCU:          0          0          0        {rcu}
"""
STAT = "cpu  0 0 0 0 0 0 0 0 0 0\ncpu2 {sibling} 0 0 {sibling_idle} 0 0 0 0 0 0\ncpu3 0 0 0 {idle} 0 0 0 {steal} 0 0\n"

LOUD = {
    CONTROLLERS: "cpuset",
    "/proc/cmdline": "quiet root=/dev/vda",
    "/proc/irq/default_smp_affinity": "f",
    "/proc/irq/24/smp_affinity_list": "0-3",
    "/proc/irq/24/effective_affinity_list": "3",
    "/proc/irq/25/smp_affinity_list": "0-3",
    "/proc/irq/25/effective_affinity_list": "0",
    "/proc/irq/26/smp_affinity_list": "0-3",
    "/proc/sys/kernel/watchdog": "1",
    "/proc/sys/kernel/nmi_watchdog": "0",
    "/proc/sys/kernel/watchdog_cpumask": "0-3",
    "/proc/sys/kernel/numa_balancing": "1",
    "/proc/sys/kernel/sched_rt_runtime_us": "950000",
    "/proc/sys/kernel/sched_rt_period_us": "1000000",
    "/proc/sys/vm/stat_interval": "1",
    f"{CPU}/online": "0-3",
    f"{CPU}/cpu3/online": "1",
    f"{CPU}/isolated": "",
    f"{CPU}/nohz_full": "(null)",
    f"{CPU}/cpu3/topology/thread_siblings_list": "2-3",
    f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave",
    f"{CPU}/cpu3/cpuidle/state1/name": "C1",
    f"{CPU}/cpu3/cpuidle/state1/latency": "2",
    f"{CPU}/cpu3/cpuidle/state2/name": "C6",
    f"{CPU}/cpu3/cpuidle/state2/latency": "133",
    f"{CPU}/cpu3/cpuidle/state2/disable": "0",
    "/sys/devices/virtual/workqueue/cpumask": "f",
    "/sys/devices/system/machinecheck/machinecheck3/check_interval": "12c",
    "/proc/timer_list": "cpu: 3\n clock 0:\nactive timers:\n #0: <00>, tick_nohz_handler, S:01\n"
    " #1: <00>, hrtimer_wakeup, S:01\n #2: <00>, hrtimer_wakeup, S:01\n",
}

QUIET = {
    "/proc/cmdline": "isolcpus=3 nohz_full=3 rcu_nocbs=3",
    "/proc/irq/default_smp_affinity": "7",
    "/proc/irq/24/smp_affinity_list": "0-2",
    "/proc/irq/24/effective_affinity_list": "0",
    "/proc/sys/kernel/watchdog": "1",
    "/proc/sys/kernel/watchdog_cpumask": "0-2",
    "/proc/sys/kernel/numa_balancing": "0",
    "/proc/sys/kernel/sched_rt_runtime_us": "-1",
    "/proc/sys/kernel/sched_rt_period_us": "1000000",
    "/proc/sys/vm/stat_interval": "120",
    f"{CPU}/online": "0-3",
    f"{CPU}/isolated": "3",
    f"{CPU}/nohz_full": "3",
    f"{CPU}/cpu3/topology/thread_siblings_list": "3",
    f"{CPU}/cpu3/cpufreq/scaling_governor": "performance",
    "/sys/devices/virtual/workqueue/cpumask": "7",
    "/sys/devices/system/machinecheck/machinecheck3/check_interval": "0",
}


def counters(**counts: int) -> dict[str, str]:
    numbers = dict.fromkeys(("disk", "tick", "wake", "rcu", "sibling", "sibling_idle", "idle", "steal"), 0) | counts
    return {
        "/proc/interrupts": INTERRUPTS.format(**numbers),
        "/proc/softirqs": SOFTIRQS.format(**numbers),
        "/proc/stat": STAT.format(**numbers),
    }


def thread(number: int, name: str, allowed: str, switches: int, *, flags: int = 0, last: int = 3) -> dict[str, str]:
    fields = ["S", *["0"] * 5, str(flags), *["0"] * 29, str(last), "0"]
    folder = f"/proc/{number}/task/{number}"
    status = f"Name:\t{name}\nCpus_allowed_list:\t{allowed}\nvoluntary_ctxt_switches:\t{switches}\n"
    return {
        f"{folder}/stat": f"{number} ({name}) {' '.join(fields)}\n",
        f"{folder}/status": f"{status}nonvoluntary_ctxt_switches:\t1\n",
    }


KERNEL = 0x00200000


def machine(before: dict[str, str], after: dict[str, str], seconds: float = 2.0) -> Machine:
    first, last = ({path: text.encode() for path, text in files.items()} for files in (before, after))
    return Machine(first, last, seconds, [3])


def loud(**more: str) -> Machine:
    tasks = [
        thread(10, "editor (x) y", "0-3", 5), thread(11, "kworker/3:1", "3", 7, flags=KERNEL),
        thread(12, "kswapd0", "0-3", 1, flags=KERNEL, last=0), thread(13, "elsewhere", "0-2", 1),
    ]  # fmt: skip
    later = [thread(10, "editor (x) y", "0-3", 25), thread(11, "kworker/3:1", "3", 17, flags=KERNEL)]
    before = LOUD | counters() | {path: text for task in tasks for path, text in task.items()}
    after = before | counters(disk=60, tick=500, wake=20, rcu=8, sibling=150, sibling_idle=50, idle=180, steal=20)
    return machine(before | more, after | more | {path: text for task in later for path, text in task.items()})


def named(found: list[Finding], subject: str) -> list[Finding]:
    return [finding for finding in found if finding.subject == subject]


def test_each_setting_that_disturbs_is_found_with_its_rate_and_its_remedy() -> None:
    found = findings(loud())
    (tick,) = named(found, "tick")
    assert (tick.boot, tick.per_second) == ("nohz_full=3", 250)
    device, default, wakeups = named(found, "interrupts")
    assert device.text == "may be delivered there: 24 virtio1-req.0"
    assert device.per_second == 30
    assert device.remedy.startswith("for irq in 24; do echo 0-2 > /proc/irq/$irq/smp_affinity_list; done ")
    assert (default.remedy, default.boot) == ("echo 7 > /proc/irq/default_smp_affinity", "irqaffinity=0-2")
    assert (wakeups.text.split(":")[0], wakeups.per_second) == ("reschedule interrupts", 10)
    assert wakeups.remedy == "schedlab noise --cpus 3 --for 60s   (names the senders, from Linux 6.4 on)"
    assert [(each.boot, each.per_second) for each in named(found, "RCU")] == [("rcu_nocbs=3", 4)]
    (watchdog,) = named(found, "watchdogs")
    assert watchdog.text == "soft-lockup detector on"
    assert watchdog.remedy == "sysctl kernel.watchdog_cpumask=0-2"
    remedies = {each.subject: each.remedy for each in found}
    assert remedies["vmstat"] == "sysctl vm.stat_interval=120"
    assert remedies["workqueues"] == "echo 7 > /sys/devices/virtual/workqueue/cpumask"
    hotplug = f"for cpu in 3; do echo 0 > {CPU}/cpu$cpu/online; echo 1 > {CPU}/cpu$cpu/online; done   "
    assert remedies["timers"] == f"{hotplug}(moves timers and delayed work away)"
    assert named(found, "kernel")[0].remedy == remedies["timers"]
    assert remedies["memory"] == "sysctl kernel.numa_balancing=0"
    assert remedies["frequency"] == "cpupower --cpu 3 frequency-set --governor performance"
    assert remedies["SMT"] == f"echo 0 > {CPU}/cpu2/online"
    texts = {each.subject: each.text for each in found}
    assert texts["SMT"] == "CPU 2 shares the core of CPU 3, 75% busy"
    assert texts["idle"] == "states that wake up slowly: C6 (133 µs)"
    assert texts["checks"] == "machine check banks are polled every 300 s"
    assert texts["timers"] == "high-resolution timers armed there: hrtimer_wakeup × 2"
    assert texts["steal"] == "a hypervisor took 10% of the time of CPU 3: pin the virtual CPU on the machine below"
    assert texts["real time"].startswith("a real-time task may run 950 of 1000 ms")
    assert boot_parameters(found) == "isolcpus=managed_irq,domain,3 nohz_full=3 irqaffinity=0-2 rcu_nocbs=3"


def test_threads_are_named_by_who_may_run_and_who_ran() -> None:
    found = findings(loud())
    (isolation,) = named(found, "isolation")
    assert isolation.text == "not isolated: 1 user thread may run there; these ran there: editor (x) y"
    bound, movable = named(found, "kernel")
    assert (bound.text, bound.per_second) == ("bound threads that ran: kworker/3:1", 5)
    assert movable.text == "1 movable thread may run there"


def test_a_machine_whose_settings_leave_the_cpu_alone_has_no_findings() -> None:
    before = QUIET | counters() | thread(12, "kswapd0", "0-2", 1, flags=KERNEL)
    assert findings(machine(before, before | counters(idle=200))) == []


def test_kernels_without_the_parameter_are_not_told_to_use_it() -> None:
    every = loud()
    without = {path: data for path, data in every.after.items() if path != f"{CPU}/nohz_full"}
    found = findings(Machine(every.before, without, 2.0, [3]))
    assert "nohz_full" not in boot_parameters(found)
    assert named(found, "tick")[0].text.startswith("the tick runs while a task runs; this kernel was built without")
    without.pop(CONTROLLERS)
    assert named(findings(Machine(every.before, without, 2.0, [3])), "isolation")[0].remedy == ""


@pytest.mark.parametrize(
    ("words", "subjects"),
    [("rcu_nocbs", ["RCU"]), ("rcu_nocbs=2-N", []), ("rcu_nocbs=all", []), ("rcu_nocbs=0-2", ["RCU"])],
)
def test_callbacks_are_offloaded_from_the_cpus_of_the_list_alone(words: str, subjects: list[str]) -> None:
    found = findings(loud(**{"/proc/cmdline": f"quiet {words}"}))
    assert [each.subject for each in named(found, "RCU")] == subjects


def test_newer_kernels_neither_fold_counters_of_isolated_cpus_nor_throttle() -> None:
    isolated = {f"{CPU}/isolated": "3", f"{CPU}/nohz_full": "3"}
    for release, subjects in (("6.1.0-9-amd64", {"vmstat"}), ("6.18.44", set())):
        found = findings(loud(**isolated, **{"/proc/sys/kernel/osrelease": release}))
        assert {each.subject for each in found} & {"vmstat"} == subjects
        assert ("debugfs" in named(found, "real time")[0].text) == (release == "6.18.44")


def test_missing_files_are_no_findings() -> None:
    only = {"/proc/stat": STAT.format(sibling=0, sibling_idle=0, idle=100, steal=0), f"{CPU}/online": "0-3"}
    assert [finding.subject for finding in findings(machine(only, only))] == ["isolation", "tick", "RCU"]


def test_cpu_0_of_several_is_a_poor_choice() -> None:
    quiet = {path: text.encode() for path, text in (QUIET | counters()).items()}
    choice = next(iter(findings(Machine(quiet, quiet, 1.0, [0]))))
    assert (choice.subject, choice.remedy) == ("choice", "schedlab doctor --quiet 3")


@pytest.mark.parametrize(("runtime", "said"), [("50000000", ["50 of 1000 ms"]), ("0", [])])
def test_the_fair_server_replaces_the_throttling_of_real_time_tasks(runtime: str, said: list[str]) -> None:
    folder = f"{FAIR_SERVER}/cpu3"
    found = named(findings(loud(**{f"{folder}/runtime": runtime, f"{folder}/period": "1000000000"})), "real time")
    assert [each.text.partition("gives other tasks ")[2] for each in found] == said
    assert all(each.remedy.startswith(f"echo 0 > {folder}/runtime ") for each in found)


@pytest.mark.parametrize(
    ("cpus", "mask"), [([0, 1, 2], "7"), ([0, 33], "2,00000001"), ([31], "80000000"), ([32], "1,00000000")]
)
def test_masks_have_groups_of_32_bits(cpus: list[int], mask: str) -> None:
    assert mask_text(cpus) == mask
    assert sorted(mask_set(mask)) == cpus

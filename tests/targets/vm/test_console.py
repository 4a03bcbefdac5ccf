"""The console shows the phase of a boot and faults of its kernel. The lines are from real kernels."""

from __future__ import annotations

import pytest

from schedlab.targets.vm.boot import AFTER, Console

BOOTING = "[    0.000000] Linux version 6.12.117+deb12-cloud-amd64\n[    0.000000] Command line: console=ttyS0\n"


def fed(text: str) -> Console:
    console = Console()
    console.feed(text)
    return console


def test_phases_follow_the_console() -> None:
    console = Console()
    assert console.phase == "firmware"
    console.feed("[    0.000000] Linux ver")
    console.feed("sion 6.12.117+deb12-cloud-amd64\n")
    assert console.phase == "kernel"
    console.feed("[    6.618189] Run /init as init process\r\n")
    assert console.phase == "init"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("[    6.6] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00007f00", "panic"),
        ("[   44.1] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [schedload:212]", "soft lock-up"),
        ("[   31.0] rcu: INFO: rcu_preempt self-detected stall on CPU", "RCU stall"),
        ("[   31.0] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "RCU stall"),
        ("[  242.7] INFO: task schedload:188 blocked for more than 120 seconds.", "hung task"),
        ("[    0.9][    T1] BUG: kernel NULL pointer dereference, address: 0000000000000010", "oops"),
        ("[    0.9] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI", "oops"),
        ("[    0.9] int3: 0000 [#1] PREEMPT SMP NOPTI", "oops"),
        ("[    3.1] general protection fault, probably for non-canonical address 0xdead", "oops"),
        ("[    3.1] kernel BUG at kernel/sched/core.c:3000!", "oops"),
        ("BUG: unable to handle page fault for address: ffffc90000000000", "oops"),
    ],
)
def test_a_kernel_s_fault_is_recognised(line: str, kind: str) -> None:
    console = fed(f"{BOOTING}{line}\n")
    assert console.fault is not None
    assert console.fault.startswith(f"{kind}: ")
    assert line.rpartition("] ")[2] in console.tail()


@pytest.mark.parametrize(
    "line",
    [
        "[    0.0] Kernel command line: console=ttyS0 oops=panic panic=-1",
        "[    0.5] NMI watchdog: Perf NMI watchdog permanently disabled",
        "[    0.1] rcu: Hierarchical RCU implementation.",
        "[    0.2] debug: BUG hunting is fun",
        "[    0.2] MDS: Vulnerable: Clear CPU buffers attempted, no microcode",
        "[    2.0] WARNING: CPU: 0 PID: 1 at kernel/sched/core.c:1 f+0x1/0x2",
    ],
)
def test_messages_of_a_healthy_kernel_are_not_a_fault(line: str) -> None:
    assert fed(f"{BOOTING}{line}\n").fault is None


def test_the_tail_contains_the_fault_and_few_later_lines() -> None:
    noise = "".join(f"[    9.0] line {number}\n" for number in range(3 * AFTER))
    tail = fed(f"{BOOTING}[    8.0] Oops: 0000 [#1]\n{noise}").tail()
    assert "Oops: 0000" in tail
    assert "line 3\n" in tail
    assert f"line {2 * AFTER}" not in tail


def test_without_a_fault_the_tail_is_the_end() -> None:
    tail = fed(BOOTING + "".join(f"[    9.0] line {number}\n" for number in range(3 * AFTER))).tail()
    assert tail.endswith(f"line {3 * AFTER - 1}")
    assert len(tail.splitlines()) == AFTER

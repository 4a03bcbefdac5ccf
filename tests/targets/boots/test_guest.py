"""Boots of a real machine: a Debian guest without KVM, in which a restart takes about half a minute."""

from __future__ import annotations

import difflib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from schedlab.experiment.target_table import BootMethod
from schedlab.files.shipped import examples
from schedlab.kernels import debian
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.targets.boots.boot import PROGRAM, BootFailed, Boots
from schedlab.targets.boots.control import Control
from schedlab.targets.ssh.connection import CONFIG, Address, Connection
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.targets.boots import machine
from tests.targets.boots.machine import TestMachine
from tests.waiting import eventually

NEW = "debian-6.12"
LIMIT = 1200.0
HANGS = 300.0
"""Limit where a kernel is known to hang: its boot would take less on a machine that does nothing else."""

pytestmark = [
    pytest.mark.verify,
    pytest.mark.slow,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(bool(machine.missing_tools()), reason=f"not installed: {', '.join(machine.missing_tools())}"),
    pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build"),
]

STATE = """uname -r; cat /proc/cmdline; md5sum /boot/grub/grub*
find / /tmp -xdev -path /var/log -prune -o -type d -printf '%p %m %u\\n' -o -printf '%p %m %u %s %l\\n' |
grep -v -x -e '/var/lib/schedlab 755 root' -e '/var/lib/schedlab/journal 755 root' | sort
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
for file in /proc/sys/kernel/sched_* /sys/kernel/debug/sched/*_ns /sys/kernel/debug/sched/features
do [ ! -f $file ] || echo $file $(cat $file); done
names=$(for each in /proc/[0-9]*; do cat $each/comm; done 2>/dev/null)
printf '%s\\n' "$names" | grep -v -e kworker -e sshd | sort"""
"""Script that shows what boots and trials may change: kernel, boot entries, files, tunables, processes.

Runs without a boot leave the folder of journals, which is empty: every file in it would be shown.
"""

HEAD = f"""
[experiment]
name = "kernels"
question = "does the newer kernel pass messages faster?"
[design]
blocks = BLOCKS
warmup = 0
control = false
seed = 1
[target]
kind = "ssh"
host = "test-machine"
boot_limit = "{LIMIT:g}s"
[[variant]]
name = "default"
tunables = {{ "kernel.sched_autogroup_enabled" = true }}
[[variant]]
name = "new"
kernel = "{NEW}"
cmdline = "mitigations=off"
"""

READY = "test machine: ready"
"""Text on the console when the machine can be reached."""

TRIALS = '[[workload]]\nuse = "pipetest"\nloops = 2000\n'
ENDLESS = """[[workload]]\nuse = "command"\nrun = "sh -c '[ -e /root/go ] || sleep 100000'"\n"""
"""A workload that sleeps unless the machine has a file."""


@pytest.fixture(scope="module")
def guest() -> Iterator[TestMachine]:
    """One machine for all tests. Each test leaves the machine on its default kernel."""
    if debian.files(NEW) is None:
        debian.fetch(NEW)
    with machine.running(machine.made()) as running:
        yield running


@pytest.fixture(autouse=True)
def reached(guest: TestMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let schedlab reach the machine."""
    monkeypatch.setenv(CONFIG, str(guest.config))


@contextmanager
def boots_of(
    limit: float = LIMIT,
    control: Control | None = None,
    method: BootMethod = "kexec",
    boot_command: str | None = None,
) -> Iterator[Boots]:
    program = find(SCHEDLOAD)
    assert program is not None
    connection = Connection(Address("test-machine"))
    boots = Boots(
        connection,
        "test-machine",
        program.read_bytes(),
        limit=limit,
        method=method,
        command=boot_command,
        control=control,
    )
    boots.begin()
    yield boots
    connection.close()


def require_unchanged(guest: TestMachine, before: str, state: str = STATE) -> None:
    """Fail with the lines of the machine's state that differ; ``state`` is the script that shows the state."""
    lines = difflib.unified_diff(
        before.splitlines(), guest.ssh(state).splitlines(), "before", "after", n=0, lineterm=""
    )
    changed = "\n".join(lines)
    print(changed)
    assert not changed


def command(folder: Path, experiment: str, *words: str, blocks: int = 1) -> Sequence[str]:
    """Write an experiment's file, and return the command that runs it."""
    file = folder / "kernels.toml"
    file.write_text(experiment.replace("BLOCKS", str(blocks)))
    store = str(folder / "store.sqlite")
    return [sys.executable, "-m", "schedlab", "run", str(file), "--store", store, *words]


def run(argv: Sequence[str], status: int = 0) -> str:
    """Run a command that must end with this status; return and print its output."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)  # fmt: skip
    print(done.stdout)
    assert done.returncode == status, done.stdout
    return done.stdout


def test_two_kernels_are_compared_over_three_blocks(guest: TestMachine, tmp_path: Path) -> None:
    before = guest.ssh(STATE)
    report = run(command(tmp_path, HEAD + TRIALS, blocks=3))
    assert "new" in report
    engine = open_store(tmp_path / "store.sqlite", create=False)
    stored = reader.runs(engine)[-1]
    assert (stored.state, stored.target) == ("complete", "ssh:test-machine")
    assert "6 boots" in run(command(tmp_path, HEAD + TRIALS, "--dry-run", blocks=3))
    require_unchanged(guest, before)


def test_kernels_that_panic_or_hang_fail_their_trials_and_the_run_goes_on(guest: TestMachine, tmp_path: Path) -> None:
    before = guest.ssh(STATE)
    experiment = HEAD.partition("[[variant]]")[0].replace(f"{LIMIT:g}s", f"{HANGS:g}s") + (
        '[[variant]]\nname = "default"\n'
        # An init that ends is a panic: "Attempted to kill init!".
        f'[[variant]]\nname = "panics"\nkernel = "{NEW}"\ncmdline = "init=/bin/false"\n'
        f'[[variant]]\nname = "hangs"\nkernel = "{NEW}"\ncmdline = "init=/sbin/hang-init"\n'
    )
    run(command(tmp_path, experiment + TRIALS), status=4)
    assert "Attempted to kill init" in guest.printed()
    assert "test machine: hangs" in guest.printed()
    failed = "\n".join(reader.failed_outputs(open_store(tmp_path / "store.sqlite", create=False), 1))
    print(failed)
    assert "back on its default kernel" in failed
    assert "its guard restarted it" in failed
    assert "default pipetest" not in failed
    require_unchanged(guest, before)


def test_a_killed_controller_s_run_goes_on(guest: TestMachine, tmp_path: Path) -> None:
    before = guest.ssh(STATE)
    argv = command(tmp_path, HEAD + ENDLESS)
    with killed(argv) as controller:
        # In the middle of a trial.
        eventually(lambda: in_trial(guest, controller), "no trial began", LIMIT)
    eventually(lambda: (now := processes(guest)) and "sleep 100000" not in now, "the trial was not ended", LIMIT)
    boots = guest.printed().count(READY)
    with killed([*argv, "--resume"]):
        # Between boots: the machine has returned to its default kernel, and has restarted for the trial.
        guest.wait_for(READY, boots + 2, LIMIT)
    guest.ssh("touch /root/go")
    run([*argv, "--resume"])
    guest.ssh("rm /root/go")
    require_unchanged(guest, before)
    # The kernel under test has its modules, although the killed run had made the link to them.
    assert "modprobe: FATAL" not in guest.printed()


@contextmanager
def killed(argv: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run schedlab, and kill it at the exit."""
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as controller:
        try:
            yield controller
        finally:
            assert controller.poll() is None
            controller.kill()


def in_trial(guest: TestMachine, controller: subprocess.Popen[bytes]) -> bool:
    """Whether an endless trial runs. A controller that has ended fails the test."""
    assert controller.poll() is None, "the controller has ended"
    return "sleep 100000" in processes(guest)


def processes(guest: TestMachine) -> str:
    """Return the command lines of the machine's processes; empty while it does not answer."""
    try:
        return guest.ssh("for each in /proc/[0-9]*; do tr '\\0' ' ' < $each/cmdline; done 2>/dev/null")
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return ""


def test_a_connection_cut_for_longer_than_the_lease_ends_the_run_which_goes_on_later(
    guest: TestMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEDLAB_LEASE", "10")
    before = guest.ssh(STATE)
    variants = '[[variant]]\nname = "late"\ntunables = { "kernel.sched_child_runs_first" = true }\n'
    argv = command(tmp_path, HEAD.partition('[[variant]]\nname = "new"')[0] + variants + ENDLESS)
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as controller:
        eventually(lambda: in_trial(guest, controller), "no trial began", LIMIT)
        guest.link(up=False)
        try:
            assert controller.wait(LIMIT) == 3
        finally:
            guest.link(up=True)
    eventually(lambda: (now := processes(guest)) and "sleep 100000" not in now, "the trial was not ended", LIMIT)
    require_unchanged(guest, before)
    guest.ssh("touch /root/go")
    run([*argv, "--resume"])
    guest.ssh("rm /root/go")
    require_unchanged(guest, before)


def test_an_example_runs_from_its_file_to_its_report(guest: TestMachine, tmp_path: Path) -> None:
    before = guest.ssh(STATE)
    # tbench needs a private network, which only this machine can make; pipetest takes minutes in the emulator.
    rows = ("TCP_STREAM", "UDP_STREAM", "TCP_RR", "hackbench-pipes")
    words = [word for row in rows for word in ("--only", row)]
    text = (examples() / "schedstats.toml").read_text()
    report = run(command(tmp_path, text, "--target", "ssh:test-machine", "--quick", "--blocks", "2", *words))
    assert all(row in report for row in rows)
    require_unchanged(guest, before)


def test_two_machines_run_the_experiment_at_once(
    guest: TestMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with machine.running(machine.made()) as other:
        config = tmp_path / "ssh_config"
        second = other.config.read_text().replace("Host test-machine\n", "Host other-machine\n")
        config.write_text(guest.config.read_text() + second)
        monkeypatch.setenv(CONFIG, str(config))
        machines = (guest, other)
        before = [each.ssh(STATE) for each in machines]
        start, _, variants = HEAD.partition("[target]")
        tables = [
            f'[[machine]]\nhost = "{name}"\nboot_limit = "{LIMIT:g}s"\n' for name in ("test-machine", "other-machine")
        ]
        variants = variants[variants.index("[[variant]]") :]
        report = run(command(tmp_path, f"{start}{''.join(tables)}{variants}{TRIALS}", blocks=2))
        assert "2 machines" in report
        stored = reader.runs(open_store(tmp_path / "store.sqlite", create=False))
        assert {(each.state, each.target) for each in stored} == {
            ("complete", "ssh:test-machine"),
            ("complete", "ssh:other-machine"),
        }
        for each, state in zip(machines, before, strict=True):
            require_unchanged(each, state)


def test_grub_starts_a_kernel_once(guest: TestMachine) -> None:
    before = guest.ssh(STATE)
    with boots_of(method="grub") as boots:
        booted = boots.boot(boots.kernel(NEW), "mitigations=off")
        print("through GRUB:", {key: round(s, 1) for key, s in booted.seconds.items()})
        assert {"mitigations=off", f"schedlab.boot={booted.nonce}"} <= set(booted.seen.command_line.split())
        boots.end()
    require_unchanged(guest, before)


def test_the_power_command_comes_before_the_guard(guest: TestMachine) -> None:
    def tail() -> str:
        return guest.printed()[-2000:]

    with boots_of(HANGS, Control(power=guest.reset, console=tail)) as boots:
        with pytest.raises(BootFailed, match="switched off and on") as failure:
            boots.boot(boots.kernel(NEW), "init=/sbin/hang-init")
        assert "test machine: hangs" in failure.value.tail
        boots.end()


def test_a_request_for_another_boot_changes_nothing(guest: TestMachine) -> None:
    with boots_of() as boots:
        before = guest.ssh("cat /proc/sys/kernel/random/boot_id")
        other = "00000000-0000-0000-0000-000000000000"
        answer = guest.ssh(f"{PROGRAM} boot reboot --boot-id {other} 2>&1 || true")
        assert "nothing was changed" in answer
        assert guest.ssh("cat /proc/sys/kernel/random/boot_id") == before
        boots.clean()

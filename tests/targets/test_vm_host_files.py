"""Guests that share this machine's file tree: permitted and refused accesses, and the end of the daemons."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab.errors import SchedlabError
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import plan
from schedlab.results.measurement import Measurement
from schedlab.store import writer
from schedlab.store.file import open_store
from schedlab.targets.vm import VirtualMachine, host_files, scripts
from schedlab.targets.vm.boot import BootFailed, started
from schedlab.targets.vm.scripts import GuestRow, hidden, trial_request
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.targets.vm import fake_qemu
from tests.targets.vm.guest_files import require_guest

pytestmark = pytest.mark.slow

FILE = """
[experiment]
name = "host-files"
[target]
kind = "{kind}"
kernel = "{kernel}"
topology = "1x1"
memory_mib = 256
host_files = true
{more}
[design]
blocks = 1
warmup = 0
control = false
[[variant]]
name = "base"
[[workload]]
use = "command"
run = "{run}"
"""


def written(kernel: str = "debian-6.12", run: str = "true", more: str = "", kind: str = "vm") -> str:
    return FILE.format(kernel=kernel, run=run, more=more, kind=kind)


def require_virtiofsd() -> None:
    """Skip the test, with the reason, if this machine's files cannot be shared with a guest."""
    require_guest("debian-6.12")
    require_daemon()


def require_daemon() -> None:
    """Skip the test, with the reason, if this machine has no virtiofsd that can be protected against writes."""
    if fault := host_files.fault():
        pytest.skip(": ".join(fault))
    if find(SCHEDLOAD) is None:
        pytest.skip("schedload is not built: make build")


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 300
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return met


def below(pid: int) -> set[int]:
    """Return all descendants of a process."""
    result = set()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in map(int, children.read_text().split()):
                result |= {child} | below(child)
        except OSError:
            continue
    return result


def daemons(pids: set[int]) -> set[int]:
    """Return the processes that run the daemon, among these processes."""
    program, result = host_files.daemon(), set()
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode() == program:
                result.add(pid)
        except OSError:
            continue
    return result


@pytest.mark.real
@pytest.mark.timeout(600)
def test_a_program_of_this_machine_runs_unpacked_and_cannot_write_to_it(tmp_path: Path) -> None:
    require_virtiofsd()
    # Each guest has a /tmp, which hides this machine's /tmp.
    this_file = Path(__file__).resolve()
    target_file = this_file.parent / f"written-by-a-guest-{os.getpid()}"
    if hidden(this_file):
        pytest.skip(f"the tests lie in {hidden(this_file)}, which a guest hides")
    # The guest's root first removes the protection inside the guest, so that this machine's protection is tested.
    script = (
        f"grep -c no-other-file-says-this {this_file}; mount -o remount,rw / && echo lifted; "
        f"echo x >{target_file} || echo kept; rm -f {this_file} || echo there; "
        "echo y >/tmp/y && cat /tmp/y; cat /proc/sys/kernel/osrelease"
    )
    experiment = parse(written(run=f"sh -c '{script}'"), "f")
    run_plan = plan(experiment, 1, quick=False)
    target = VirtualMachine(experiment.target, experiment.variant)
    assert target.missing_requirements(run_plan) == []
    fingerprint = target.fingerprint()
    digest = target.fingerprint_hash(fingerprint)
    engine = open_store(tmp_path / "store.sqlite", create=True)
    run_id = writer.begin(
        engine, writer.NewRun(run_plan, target.name, target.kind, False, "", "f", fingerprint, digest)
    )
    measured: list[Measurement] = []
    execute(
        run_plan, target, engine, run_id, lambda _, measurement: measured.extend([measurement] if measurement else [])
    )
    (measurement,) = measured
    assert (measurement.state, measurement.reason) == ("ok", "")
    words = measurement.stdout.split()
    assert words[1:5] == ["lifted", "kept", "there", "y"], (measurement.stdout, measurement.stderr)
    assert int(words[0]) > 0
    assert words[5].startswith("6.12")
    assert this_file.is_file()
    assert not target_file.exists()
    assert daemons(below(os.getpid())) == set()


def lasting(pid: int) -> bool:
    """Whether the same daemons run twice in a row: a daemon forks as it starts."""
    first = daemons(below(pid))
    time.sleep(0.5)
    return bool(first) and first == daemons(below(pid))


@pytest.mark.real
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_daemon_outlives_schedlab(tmp_path: Path, how: signal.Signals) -> None:
    require_virtiofsd()
    program = f"""
import time
from pathlib import Path
from schedlab.experiment.model import Variant
from schedlab.experiment.target_table import TargetTable
from schedlab.targets.vm import machine as machines
from schedlab.targets.vm.boot import started
table = TargetTable(kind="vm", kernel="debian-6.12", topology="1x1", host_files=True)
with started(machines.machine(table, Variant(name="v"), 1, 1), b"", Path({str(tmp_path)!r})):
    time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        assert until(lambda: lasting(process.pid) or process.poll() is not None)
        running = daemons(below(process.pid))
        assert running
        process.send_signal(how)
        process.wait()
        assert until(lambda: daemons(running) == set())
    finally:
        process.kill()
        process.wait()


def test_a_sealed_program_can_read_every_file_and_write_no_file(tmp_path: Path) -> None:
    require_daemon()
    (tmp_path / "there").write_text("as it was")
    script = f"cat {tmp_path}/there; echo x >{tmp_path}/there; echo x >{tmp_path}/new"
    done = subprocess.run(host_files.sealed("/bin/sh", "-c", script), capture_output=True, text=True, check=False)
    assert done.stdout == "as it was"
    assert done.stderr.count("Read-only file system") == 2
    assert (tmp_path / "there").read_text() == "as it was"
    assert not (tmp_path / "new").exists()
    (tmp_path / "new").write_text("only the program was sealed")


def test_a_daemon_that_dies_ends_the_boot_with_its_last_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_daemon()
    waits_for_the_daemon = """
import socket
path = next(word.rpartition("path=")[2] for word in sys.argv if word.startswith("socket,"))
with socket.socket(socket.AF_UNIX) as share:
    try:
        share.connect(path)
        share.recv(1)
    except OSError:
        pass
sys.exit("qemu: protocol error")
"""
    machine = replace(fake_qemu.install(tmp_path, monkeypatch, waits_for_the_daemon), host_files=True)
    monkeypatch.setattr(host_files, "arguments", lambda *_: ["/bin/sh", "-c", "echo out of memory >&2; exit 1"])
    with started(machine, b"", tmp_path) as guest, pytest.raises(BootFailed) as failed:
        guest.answer()
    assert "out of memory" in failed.value.reason
    assert "qemu: protocol error" in failed.value.reason
    assert not list(tmp_path.glob("boot-*"))


def test_both_kinds_of_daemon_share_the_root_through_an_existing_socket() -> None:
    assert host_files.arguments("/d", True, 5)[:5] == ["/d", "-f", "--fd=5", "-o", "source=/"]
    assert {"--fd=5", "--shared-dir=/", "--sandbox=none"} <= set(host_files.arguments("/d", False, 5))


def test_a_missing_daemon_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_files, "daemon", lambda: None)
    assert "host_files" in " ".join(missing(written()))
    assert any("there is no virtiofsd" in each and "apt-get install virtiofsd" in each for each in missing(written()))


def test_a_kernel_without_virtiofs_is_refused() -> None:
    require_guest("debian-6.1")
    messages = missing(written(kernel="debian-6.1"))
    assert any("CONFIG_VIRTIO_FS" in each and "debian-6.12" in each for each in messages), messages


def test_a_program_hidden_by_the_guest_s_folders_is_refused(tmp_path: Path) -> None:
    require_guest("debian-6.12")
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    if not hidden(program):
        pytest.skip(f"{tmp_path} is visible in guests")
    assert any("is hidden in a guest" in each for each in missing(written(run=str(program))))
    assert hidden(Path("/usr/bin/env")) is None
    assert hidden(Path("/runner/env")) is None


def test_a_link_into_a_hidden_folder_is_hidden_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "HIDDEN", (str(tmp_path.resolve() / "own"),))
    (tmp_path / "link").symlink_to(tmp_path / "own" / "program")
    assert hidden(tmp_path / "link") == str(tmp_path.resolve() / "own")
    assert hidden(tmp_path / "other") is None


def missing(text: str) -> list[str]:
    experiment = parse(text, "f")
    target = VirtualMachine(experiment.target, experiment.variant)
    return [str(each) for each in target.missing_requirements(plan(experiment, 1))]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (written(more="deterministic = true"), "at the speed of this machine"),
        (written(more='tools = ["perf"]'), "remove tools"),
        (written(kind="host"), "machine and kernel go with"),
    ],
)
def test_options_that_conflict_with_host_files_are_refused(text: str, reason: str) -> None:
    with pytest.raises(SchedlabError, match=reason):
        parse(text, "f")


def test_trials_in_the_shared_tree_use_this_machine_s_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/opt/mine/bin:/usr/bin")
    (row,) = plan(parse(written(run="env"), "f"), 1).rows
    variant = Variant(name="base")
    wanted = trial_request(GuestRow.of(row, host_files=True), variant, 60.0, 2)
    assert wanted["environment"] == {"PATH": "/opt/mine/bin:/usr/bin"}
    assert trial_request(GuestRow.of(row), variant, 60.0, 2)["environment"] == {}


def test_defaults_of_workloads_follow_the_guest_s_cpus() -> None:
    (row,) = plan(parse(written(run="env").replace('use = "command"\nrun = "env"', 'use = "noise"'), "f"), 1).rows
    words = trial_request(GuestRow.of(row), Variant(name="base"), 60.0, 64)["argv"]
    assert isinstance(words, list)
    assert words[words.index("--cpus") + 1] == "63"

"""A boot ends in a record or in a reason: a guest that is silent, sick, gone or garbled never hangs a run."""

from __future__ import annotations

import os
from dataclasses import replace
from errno import ENOSPC
from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.experiment.topology import Topology
from schedlab.targets.vm import boot, qemu
from schedlab.targets.vm.boot import BootFailed, started
from schedlab.targets.vm.console import Limits
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.targets.vm import fake_qemu

pytestmark = pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build")

PHASES = ("firmware", "kernel", "init")
UP = 'console.write(b"[    0.0] Linux version 6.12\\n[    5.0] Run /init as init process\\n")\n'


def test_records_come_as_the_guest_sends_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = fake_qemu.install(
        tmp_path, monkeypatch, UP + 'tell("ready", 0)\ntell("result", 1, b"x")\ntime.sleep(60)\n'
    )
    with started(machine, b"", tmp_path) as guest:
        assert guest.expect("ready").number == 0
        assert guest.expect("result", 30).data == b"x"
        process = guest.process
    assert process.returncode is not None
    assert not list(tmp_path.glob("boot-*"))


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("time.sleep(60)", "printed nothing more for 0.5 s in phase firmware"),
        ('console.write(b"[    0.0] Linux version 6.12\\n")\ntime.sleep(60)', "for 0.5 s in phase kernel"),
        (UP + "time.sleep(60)", "for 0.5 s in phase init"),
        (UP, "the guest ended in phase init"),
        ("", "ended in phase firmware, before its kernel printed anything: is the image complete"),
        ('sys.exit("qemu: no such accelerator")', "ended in phase firmware: qemu: no such accelerator"),
        (UP + 'results.write(b"noise and more\\n")\ntime.sleep(60)', "the guest's results are damaged"),
        (UP + 'tell("result", 1)\ntime.sleep(60)', "sent 'result' in place of 'ready'"),
    ],
)
def test_a_boot_that_cannot_go_on_says_where_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, reason: str
) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, does)
    # Only the phase that is to last too long has a short limit: on a busy machine any other may last as long.
    limits = Limits(**{phase: 0.5 if reason.endswith(f"for 0.5 s in phase {phase}") else 100.0 for phase in PHASES})
    with started(machine, b"", tmp_path, limits) as guest, pytest.raises(BootFailed) as failed:
        guest.expect("ready")
    assert reason in failed.value.reason


def test_a_guest_that_goes_on_printing_is_alive_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prints = 'for _ in range({}):\n    console.write(b"[    9.0] more\\n")\n    time.sleep(0.05)\n'
    # Longer in all than the limit of silence, each pause far shorter.
    machine = fake_qemu.install(tmp_path, monkeypatch, UP + prints.format(60) + 'tell("ready", 0)\ntime.sleep(60)\n')
    with started(machine, b"", tmp_path, Limits(100, 2, 2)) as guest:
        assert guest.expect("ready").number == 0
    monkeypatch.setattr(boot, "LONGEST", 1)
    fake_qemu.install(tmp_path, monkeypatch, UP + prints.format(10_000))
    with started(machine, b"", tmp_path, Limits(100, 2, 2)) as guest, pytest.raises(BootFailed) as failed:
        guest.expect("ready")
    assert failed.value.reason == "the guest did not come out of phase init in 2 s"


def test_a_full_disk_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")

    def full(path: Path, data: bytes) -> int:
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(CannotRunHere, match="cannot be written: No space left on device") as failed:
        started(machine, b"x", tmp_path).__enter__()
    assert failed.value.where == str(tmp_path)


def test_a_console_without_end_ends_the_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "LARGEST_CONSOLE", 10_000)
    noise = 'while True:\n    console.write(b"[    9.0] again and again\\n" * 1000)\n'
    machine = fake_qemu.install(tmp_path, monkeypatch, UP + noise)
    with started(machine, b"", tmp_path) as guest, pytest.raises(BootFailed, match="on its console"):
        guest.expect("ready")


@pytest.mark.parametrize("sends_a_result", [False, True])
def test_a_panic_is_never_a_pass_and_told_with_the_console_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sends_a_result: bool
) -> None:
    monkeypatch.setattr(boot, "LAST_WORDS", 0.2)
    panic = 'console.write(b"[    9.0] Kernel panic - not syncing: Fatal exception\\n[    9.1] the end\\n")\n'
    last = 'tell("result", 1)\n' if sends_a_result else ""
    machine = fake_qemu.install(tmp_path, monkeypatch, UP + panic + last + "time.sleep(60)")
    with (
        started(machine, b"", tmp_path) as guest,
        pytest.raises(BootFailed, match="panic: Kernel panic - not syncing: Fatal exception") as failed,
    ):
        guest.expect("result", 60)
    assert "the end" in failed.value.tail


def test_arguments_describe_nodes_memory_and_distances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")
    two = qemu.Machine(machine.image, Topology(2, 2, 1, 2), 256, [[10, 30], [30, 10]], "tcg", "isolcpus=3")
    argv = qemu.arguments(two, qemu.Files(Path("/i"), Path("/a,b"), Path("/r"), Path("/s")))
    told = " ".join(argv)
    assert "-smp 4,sockets=2,cores=2,threads=1" in told
    assert "-m 512M" in told
    assert "node,nodeid=1,cpus=2-3,memdev=node1" in told
    assert "dist,src=1,dst=0,val=30" in told
    assert "file,id=console,path=/a,,b" in told
    assert argv[argv.index("-append") + 1].endswith("tsc=reliable isolcpus=3")
    assert "-icount" not in argv


def test_host_files_take_shared_memory_and_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")
    files = qemu.Files(Path("/i"), Path("/c"), Path("/r"), Path("/s,t"))
    told = " ".join(qemu.arguments(replace(machine, host_files=True), files))
    assert "memory-backend-memfd,id=node0,size=256M,share=on" in told
    assert "socket,id=share,path=/s,,t" in told
    assert "vhost-user-fs-pci,chardev=share,tag=host" in told
    plain = " ".join(qemu.arguments(machine, files))
    assert "memory-backend-ram,id=node0,size=256M " in plain
    assert "vhost-user-fs-pci" not in plain


def test_a_seed_makes_time_and_draws_the_guest_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")
    seeded = qemu.Machine(machine.image, Topology(1, 2), 256, [[10]], "tcg", seed=7)
    argv = qemu.arguments(seeded, qemu.Files(Path("/i"), Path("/c"), Path("/r"), Path("/s")))
    assert argv[argv.index("-seed") + 1] == "7"
    assert argv[argv.index("-icount") + 1] == "shift=3,sleep=off"
    assert argv[argv.index("-rtc") + 1].endswith("clock=vm")
    # Without the second a guest of one socket and one of several would have different clocks.
    assert argv[argv.index("-append") + 1].endswith("tsc=reliable nokaslr")

"""A boot ends with a reply or a reason. A run never hangs because of a silent, broken or ended guest."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from dataclasses import replace
from errno import ENOSPC
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from schedlab.errors import CannotRunHere
from schedlab.experiment.topology import Topology
from schedlab.targets.vm import boot, qemu
from schedlab.targets.vm.boot import Boot, BootFailed, Limits, started
from schedlab.tunables.journal import frames
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.targets.vm import fake_qemu

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build"),
]

PHASES = ("firmware", "kernel", "init")
UP = 'console.write(b"[    0.0] Linux version 6.12\\n[    5.0] Run /init as init process\\n")\n'


def test_replies_arrive_in_the_order_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, UP + 'send()\nsend(text="x")\ntime.sleep(60)\n')
    with started(machine, b"", tmp_path) as guest:
        assert guest.answer().number == 1
        assert json.loads(guest.answer(30).data)["ok"] == {"text": "x"}
        process = guest.process
    assert process.returncode is not None
    assert not list(tmp_path.glob("boot-*"))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("time.sleep(60)", "printed nothing more for 0.5 s in phase firmware"),
        ('console.write(b"[    0.0] Linux version 6.12\\n")\ntime.sleep(60)', "for 0.5 s in phase kernel"),
        (UP + "time.sleep(60)", "for 0.5 s in phase init"),
        (UP, "the guest ended in phase init"),
        ("", "ended in phase firmware, before its kernel printed anything: is the image complete"),
        ('sys.exit("qemu: no such accelerator")', "ended in phase firmware: qemu: no such accelerator"),
        (UP + 'results.write(b"noise and more\\n")\ntime.sleep(60)', "the guest's results are damaged"),
        (UP + "send(number=2)\ntime.sleep(60)", "sent reply 2, not reply 1"),
    ],
)
def test_a_failed_boot_gives_its_phase_and_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, reason: str
) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, body)
    # Only the tested phase has a short limit: on a busy machine any other phase may exceed it.
    limits = Limits(**{phase: 0.5 if reason.endswith(f"for 0.5 s in phase {phase}") else 100.0 for phase in PHASES})
    with started(machine, b"", tmp_path, limits) as guest, pytest.raises(BootFailed) as failed:
        guest.answer()
    assert reason in failed.value.reason


class Printing:
    """A clock on which a guest prints a line each second, and sends its first reply at the second ``ready``.

    The clock advances when the boot waits: each wait takes a second.
    """

    def __init__(self, files: qemu.Files, ready: int) -> None:
        self.files, self.ready, self.now = files, ready, 0

    def monotonic(self) -> float:
        """Return the seconds since the start."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let the guest run for a second."""
        self.now += 1
        with self.files.console.open("a") as console:
            console.write(f"[    {self.now}.0] more\n")
        if self.now == self.ready:
            self.files.results.write_bytes(gzip.compress(b'{"id":1,"ok":{}}\n'))


@pytest.mark.parametrize(("ready", "is_ready"), [(20, True), (22, False)])
def test_output_extends_the_time_of_a_boot_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ready: int, is_ready: bool
) -> None:
    files = qemu.Files(*(tmp_path / name for name in ("initramfs", "console", "results", "share", "functions")))
    files.console.write_text("[    0.0] Linux version 6.12\n[    0.1] Run /init as init process\n")
    monkeypatch.setattr(boot, "time", Printing(files, ready))
    process = cast(subprocess.Popen[bytes], SimpleNamespace(poll=lambda: None))
    # Two seconds of silence are allowed, and ten times as many for the phase.
    guest = Boot(process, files, tmp_path / "errors", Limits(100, 2, 2))
    if is_ready:
        assert guest.answer().number == 1
        return
    with pytest.raises(BootFailed, match="the guest did not come out of phase init in 20 s"):
        guest.answer()


def test_a_full_disk_is_reported_with_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")

    def full(path: Path, data: bytes) -> int:
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(CannotRunHere, match="cannot be written: No space left on device") as failed:
        started(machine, b"x", tmp_path).__enter__()
    assert failed.value.where == str(tmp_path)


def test_an_endless_console_ends_the_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "LARGEST_CONSOLE", 10_000)
    noise = 'while True:\n    console.write(b"[    9.0] again and again\\n" * 1000)\n'
    machine = fake_qemu.install(tmp_path, monkeypatch, UP + noise)
    with started(machine, b"", tmp_path) as guest, pytest.raises(BootFailed, match="on its console"):
        guest.answer()


ENDLESS = gzip.compress(b"", mtime=0)[:10] + b"\0\0\0\xff\xff" * 100
"""The header of a reply, and empty blocks (RFC 1951, 3.2.4): 510 bytes that unpack to nothing."""


def with_results(folder: Path, results: bytes) -> Boot:
    """Return a guest that runs, and has sent these results."""
    files = qemu.Files(*(folder / name for name in ("initramfs", "console", "results", "share", "functions")))
    files.results.write_bytes(results)
    process = cast(subprocess.Popen[bytes], SimpleNamespace(poll=lambda: None))
    return Boot(process, files, folder / "errors", Limits(100, 100, 100))


def test_endless_results_end_the_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LARGEST", 500)
    monkeypatch.setattr(boot, "PIECE", 50)
    reply = gzip.compress(b'{"id":1,"ok":{}}\n', mtime=0)
    guest = with_results(tmp_path, reply + ENDLESS)
    assert guest.answer().number == 1
    with pytest.raises(BootFailed, match="the guest's results are damaged: a reply of more than"):
        guest.answer()
    with pytest.raises(BootFailed, match="the guest sends results without end"):
        with_results(tmp_path, reply + bytes(1000)).answer()


def test_few_bytes_behind_a_reply_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "PIECE", 100)
    many = "for _ in range(200):\n    send()\nsend(text='x' * 100_000)\n"
    machine = fake_qemu.install(tmp_path, monkeypatch, UP + many)
    with started(machine, b"", tmp_path) as guest:
        for number in range(1, 202):
            assert guest.answer(60).number == number
            assert guest._stream.pending <= 100
        with pytest.raises(BootFailed, match="the guest ended"):
            guest.answer(60)


@pytest.mark.parametrize("sends_a_result", [False, True])
def test_a_panic_is_a_failure_with_the_surrounding_console_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sends_a_result: bool
) -> None:
    monkeypatch.setattr(boot, "LAST_WORDS", 0.2)
    panic = 'console.write(b"[    9.0] Kernel panic - not syncing: Fatal exception\\n[    9.1] the end\\n")\n'
    last = "send()\n" if sends_a_result else ""
    machine = fake_qemu.install(tmp_path, monkeypatch, UP + panic + last + "time.sleep(60)")
    with (
        started(machine, b"", tmp_path) as guest,
        pytest.raises(BootFailed, match="panic: Kernel panic - not syncing: Fatal exception") as failed,
    ):
        guest.answer(60)
    assert "the end" in failed.value.tail


def test_arguments_describe_nodes_memory_and_distances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")
    two = qemu.Machine(machine.image, Topology(2, 2, 1, 2), 256, [[10, 30], [30, 10]], "tcg", "isolcpus=3")
    argv = qemu.arguments(two, qemu.Files(Path("/i"), Path("/a,b"), Path("/r"), Path("/s"), Path("/f")))
    messages = " ".join(argv)
    assert "-smp 4,sockets=2,cores=2,threads=1" in messages
    assert "-m 512M" in messages
    assert "node,nodeid=1,cpus=2-3,memdev=node1" in messages
    assert "dist,src=1,dst=0,val=30" in messages
    assert "file,id=console,path=/a,,b" in messages
    assert argv[argv.index("-append") + 1].endswith("tsc=reliable isolcpus=3")
    assert "-icount" not in argv


def test_host_files_take_shared_memory_and_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")
    files = qemu.Files(Path("/i"), Path("/c"), Path("/r"), Path("/s,t"), Path("/f"))
    messages = " ".join(qemu.arguments(replace(machine, host_files=True), files))
    assert "memory-backend-memfd,id=node0,size=256M,share=on" in messages
    assert "socket,id=share,path=/s,,t" in messages
    assert "vhost-user-fs-pci,chardev=share,tag=host" in messages
    plain = " ".join(qemu.arguments(machine, files))
    assert "memory-backend-ram,id=node0,size=256M " in plain
    assert "vhost-user-fs-pci" not in plain


def test_a_random_seed_fixes_the_guest_s_time_and_random_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")
    seeded = qemu.Machine(machine.image, Topology(1, 2), 256, [[10]], "tcg", seed=7)
    argv = qemu.arguments(seeded, qemu.Files(Path("/i"), Path("/c"), Path("/r"), Path("/s"), Path("/f")))
    assert argv[argv.index("-seed") + 1] == "7"
    assert argv[argv.index("-icount") + 1] == "shift=3,sleep=off"
    assert argv[argv.index("-rtc") + 1].endswith("clock=vm")
    # Without the second parameter, guests with one socket and with several would use different clocks.
    assert argv[argv.index("-append") + 1].endswith("tsc=reliable nokaslr")


def test_symbols_load_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")
    files = qemu.Files(Path("/i"), Path("/c"), Path("/r"), Path("/s"), Path("/f,g"))
    argv = qemu.arguments(replace(machine, symbols=Path("/addresses")), files)
    plugin = argv[argv.index("-plugin") + 1]
    assert plugin.endswith("_tcg.so,symbols=/addresses,output=/f,,g")
    assert "-plugin" not in qemu.arguments(machine, files)


@pytest.mark.parametrize(("version", "doubled"), [("7.2.22 (Debian)", "x"), ("8.2.0", ""), ("10.0.2 (Debian)", "")])
def test_a_machine_model_reaches_the_plugin_with_the_shape_of_the_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, doubled: str
) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")
    monkeypatch.setattr(qemu, "version", lambda: version)
    files = qemu.Files(*(Path(f"/{name}") for name in "icrsf"))
    machine = replace(machine, symbols=Path("/a"), cache=Path("/m"), topology=Topology(2, 3, 1, 2), memory_mib=512)
    plugin = (argv := qemu.arguments(machine, files))[argv.index("-plugin") + 1]
    assert plugin.endswith(f",output=/f,machine=/m,guest=2x3x1x2x{512 << 20}{doubled}")


@pytest.mark.parametrize(
    ("release", "seed", "cpus", "added", "late"),
    [
        ("6.1.0-56", 7, 2, "", True),
        ("5.10.0-46", 7, 4, "nohz_full=1", True),
        ("6.1.0-56", 7, 1, "", False),
        ("6.1.0-56", None, 2, "", False),
        ("6.1.0-56", 7, 2, "maxcpus=2", False),
        ("6.12.117", 7, 2, "", False),
    ],
)
def test_a_kernel_that_hangs_while_counted_gets_its_cpus_after_boot(
    release: str,
    seed: int | None,
    cpus: int,
    added: str,
    late: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = fake_qemu.install(tmp_path, monkeypatch, "")
    image = replace(machine.image, release=release)
    counted = qemu.Machine(image, Topology(1, cpus), 256, [[10]], "tcg", added, seed)
    assert counted.late_cpus is late
    assert ("maxcpus=1 lpj=" in counted.whole_command_line) is late

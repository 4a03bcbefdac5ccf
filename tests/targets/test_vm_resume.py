"""An interrupted and resumed run in guests. A stand-in for QEMU counts the boots; all other parts are real."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedlab.findings.run import findings
from schedlab.store import reader, writer
from schedlab.store.file import open_store
from schedlab.targets.vm import initramfs, qemu
from schedlab.targets.vm import machine as machines
from schedlab.workloads.tools import SCHEDLOAD, find
from tests.cli.in_process import runner
from tests.kernels.kernel_files import bzimage
from tests.targets.test_vm_untrusted_guests import GUEST
from tests.targets.vm import fake_qemu
from tests.waiting import eventually

FILE = """
[experiment]
name = "interrupted"
[target]
kind = "vm"
kernel = "{kernel}"
topology = "1x2"
memory_mib = 192
accel = "tcg"
[design]
blocks = 2
control = false
warmup = 1
[[variant]]
name = "base"
[[variant]]
name = "quiet"
cmdline = "quiet"
[[workload]]
use = "command"
label = "one"
run = "true"
[[workload]]
use = "command"
label = "two"
run = "true"
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

INTERRUPTED = (4, 8)
"""Numbers of the boots that hang between their two trials.

Boots 1 and 2 are the warm-up. Boot 4 is the second variant of the first block. The resumed run boots the first block
again, so boot 8 is the second variant of the second block.
"""

STANDIN = """
import gzip, os, re
initramfs = gzip.decompress(open(sys.argv[sys.argv.index("-initrd") + 1], "rb").read())
with open({log!r}, "a+") as log:
    print("booted", file=log, flush=True)
    log.seek(0)
    boots = len(log.readlines())
up(**ready)
for number, _ in enumerate(re.findall(rb'"op": "run"', initramfs), start=1):
    if boots in {interrupted_boots} and number > 1:
        time.sleep(600)
    result(**good)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the experiment's file and its kernel, with the stand-in as QEMU in ``$PATH``."""
    if find(SCHEDLOAD) is None:
        pytest.skip("schedload is not built: make build")
    if initramfs.busybox() is None:
        pytest.skip(f"there is no static busybox: apt-get install {initramfs.BUSYBOX_PACKAGE}")
    (tmp_path / "bzImage").write_bytes(bzimage("6.12.1"))
    (tmp_path / "f.toml").write_text(FILE.format(kernel=tmp_path / "bzImage"))
    body = GUEST.replace("DMESG", "b''") + STANDIN.format(log=str(tmp_path / "boots"), interrupted_boots=INTERRUPTED)
    (tmp_path / "bin").mkdir()
    fake_qemu.written(tmp_path / "bin" / qemu.PROGRAM, body)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    machines.image.cache_clear()
    yield tmp_path
    machines.image.cache_clear()


def recorded(store: Path) -> int:
    """Return the number of trials in the store."""
    if not store.exists():
        return 0
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        try:
            return int(connection.execute("select count(*) from trial").fetchone()[0])
        except sqlite3.OperationalError:  # the store is being created
            return 0


def standins(place: Path) -> list[Path]:
    """Return the processes of running stand-ins."""
    result = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(place / "bin").encode() in entry.read_bytes():
                result.append(entry)
        except OSError:
            continue
    return result


def interrupted(words: list[str], store: Path, after: int, how: signal.Signals) -> tuple[int, str]:
    """Send a signal to a run after this number of stored trials; return its exit code and output."""
    # Restore the default: the parent of the tests may have ignored the signal.
    argv = [sys.executable, "-c", RUN, *words]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        eventually(
            lambda: recorded(store) == after or process.poll() is not None, "the boot that hangs was not reached", 300
        )
        process.send_signal(how)
        output, _ = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    return process.returncode, output


RUN = """
from schedlab.cli import main
main()
"""


def test_a_run_interrupted_twice_boots_only_for_missing_trials(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = place / "store.sqlite"
    words = ["run", str(place / "f.toml"), "--store", str(store)]
    code, output = interrupted(words, store, 7, signal.SIGINT)
    assert (code, "--resume" in output) == (130, True)
    eventually(lambda: not standins(place), "a guest outlived schedlab", 300)
    # The interrupted block again, without the warm-up, and the next block up to its second boot.
    code, output = interrupted([*words, "--resume"], store, 7 + 4 + 3, signal.SIGKILL)
    assert (code, "--resume" in output) == (-signal.SIGKILL, False)
    eventually(lambda: not standins(place), "a guest outlived schedlab", 300)

    done = runner(monkeypatch, capsys)(*words, "--resume")
    assert done.code == 0
    assert done.words == "", "the journal's agent has removed the folder of the killed run"
    boots = (place / "boots").read_text().count("booted")
    assert boots == INTERRUPTED[1] + 2
    engine = open_store(store, create=False)
    run = reader.run(engine, None)
    assert (run.id, run.state, run.recorded) == (1, "complete", 12)
    assert writer.done(engine, run.id) == set(range(12))
    with sqlite3.connect(store) as connection:
        replaced = connection.execute(
            "select trial.position from trial join cell on cell.id = cell_id where superseded order by 1"
        ).fetchall()
    assert replaced == [(position,) for position in (4, 5, 6, 8, 9, 10)]
    assert [note for note in run.notes if note.startswith("interrupted")] == [
        "interrupted after 7 trials; block 1 had to be measured again",
        "interrupted after 11 trials; block 2 had to be measured again",
    ]
    result = findings(engine, run.id)
    assert [verdict.n for verdict in result.verdicts] == [2, 2]
    assert not len(result.failures)
    assert "incomplete" not in [warning.kind for warning in result.warnings]
    engine.dispose()

"""A new store is made completely or not at all, for its owner alone. A store that cannot be written is read,
unless the store needs an upgrade."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.errors import StoreError
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import plan
from schedlab.store import reader, sqlite
from schedlab.store.file import open_store
from schedlab.store.tables import RELEASED
from tests.conftest import DURABLE, begin

SCHEDLAB = str(Path(sys.executable).parent / "schedlab")

KILLS = """
import os, signal, sys
from pathlib import Path
from random import Random
from schedlab.store.file import open_store

def make(path, last):
    "Make a store in a child that kills itself at its call number `last`; return the number of its calls."
    read, write = os.pipe()
    if child := os.fork():
        os.close(write)
        os.waitpid(child, 0)
        with os.fdopen(read, "rb") as pipe:
            return int(pipe.read() or 0)
    calls = 0
    def count(*_):
        nonlocal calls
        calls += 1
        if calls == last:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(count)
    open_store(path, create=True)
    sys.setprofile(None)
    os.write(write, str(calls).encode())
    os._exit(0)

folder = Path(sys.argv[1])
most = make(folder / "first", 0)
moments = Random(1).sample(range(most * 9 // 10), 90) + list(range(most - 10, most))
for moment in moments:
    path = folder / str(moment)
    make(path, moment)
    existed = path.exists()
    open_store(path, create=not existed).dispose()
    print("whole" if existed else "absent")
assert not [name for name in os.listdir(folder) if name.startswith(".")], "a killed process left a file"
"""

FULL = """
import resource, sys
from pathlib import Path
from schedlab.store.file import open_store
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
open_store(Path(sys.argv[1]), create=True)
"""


def python(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_store_whose_maker_is_killed_at_any_moment_is_whole_or_absent(tmp_path: Path) -> None:
    done = python(KILLS, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) == {"whole", "absent"}


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 4096, 20_000])
def test_a_store_that_does_not_fit_on_the_disk_is_not_made(tmp_path: Path, size: int) -> None:
    path = tmp_path / "store.sqlite"
    done = python(FULL, path, size)
    assert f"StoreError: {path}: cannot be made: File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []
    open_store(path, create=True).dispose()


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_a_new_store_is_for_its_owner_alone(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        engine = open_store(tmp_path / "store.sqlite", create=True)
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE schedlab_store SET written_by = 'test'")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"], 0o600)


def test_a_file_system_without_unnamed_files_gets_a_store_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "O_TMPFILE", 0)
    open_store(tmp_path / "store.sqlite", create=True).dispose()
    open_store(tmp_path / "store.sqlite", create=True).dispose()
    assert [path.name for path in tmp_path.iterdir()] == ["store.sqlite"]


def test_an_empty_file_becomes_a_store_and_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to("target")
    for name in ("empty", "link"):
        open_store(tmp_path / name, create=True).dispose()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").is_file()


@pytest.mark.parametrize("before", [None, b""])
def test_a_lock_on_the_folder_does_not_delay_a_new_store(tmp_path: Path, before: bytes | None) -> None:
    if before is not None:
        (tmp_path / "store.sqlite").write_bytes(before)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        open_store(tmp_path / "store.sqlite", create=True).dispose()
    finally:
        os.close(folder)


def test_an_empty_file_that_another_process_keeps_locked_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_ATTEMPTS", 2)
    with (tmp_path / "store.sqlite").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="is locked by another process"):
            open_store(tmp_path / "store.sqlite", create=True)
    open_store(tmp_path / "store.sqlite", create=True).dispose()


def test_a_store_that_cannot_be_written_is_read_without_a_file_beside_it(
    tmp_path: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a ?%#" / "store.sqlite"
    path.parent.mkdir()
    engine = open_store(path, create=True)
    begin(engine, plan(experiment, 1))
    engine.dispose()
    monkeypatch.setattr(sqlite, "is_read_only", lambda path, create: True)
    read_only = open_store(path, create=False)
    with read_only.connect():
        assert reader.run(read_only, 1).name == "test"
        assert [each.name for each in path.parent.iterdir()] == ["store.sqlite"]


def test_trials_in_the_log_of_a_store_that_cannot_be_written_are_read(
    tmp_path: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_store(tmp_path / "store.sqlite", create=True)
    with engine.connect():
        begin(engine, plan(experiment, 1))
        monkeypatch.setattr(sqlite, "is_read_only", lambda path, create: True)
        assert len(reader.runs(open_store(tmp_path / "store.sqlite", create=False))) == 1


def test_an_old_store_that_cannot_be_written_is_refused_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.sqlite"
    engine = open_store(path, create=True)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE schedlab_store SET version = {RELEASED}")
    engine.dispose()
    monkeypatch.setattr(sqlite, "is_read_only", lambda path, create: True)
    with pytest.raises(StoreError, match=r"needs an upgrade and cannot be written\n.*copy the store"):
        open_store(path, create=False)


@pytest.mark.root
def test_a_store_on_a_read_only_mount_is_reported(tmp_path: Path, experiment: Experiment) -> None:
    if os.geteuid() != 0:
        pytest.skip("a mount needs root")
    if shutil.which("unshare") is None:
        pytest.skip("the command unshare (util-linux) is missing")
    engine = open_store(tmp_path / "store.sqlite", create=True)
    begin(engine, plan(experiment, 1))
    engine.dispose()
    command = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && "$2" store list --store "$1/$3"'
    argv = ["unshare", "--mount", "sh", "-c", command, "sh", str(tmp_path), SCHEDLAB, "store.sqlite"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if "unshare failed" in done.stderr:
        pytest.skip(f"no mount namespace: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "test" in done.stdout


def test_a_committed_trial_survives_a_power_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "SETTINGS", DURABLE)
    open_store(tmp_path / "store.sqlite", create=True).dispose()
    connection = sqlite.connect(tmp_path / "store.sqlite", read_only=False)
    full = 2  # https://www.sqlite.org/pragma.html#pragma_synchronous
    assert connection.execute("PRAGMA synchronous").fetchone() == (full,)
    connection.close()

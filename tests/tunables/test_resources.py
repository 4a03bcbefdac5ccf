"""Folders and shared memory of a dead run are removed at the next start; resources of other users and runs stay."""

from __future__ import annotations

import ctypes
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from schedlab.files import folders
from schedlab.files.locks import try_lock
from schedlab.tunables import Journal, Refusal, System, pending, recover
from schedlab.tunables.journal.replies import Resource
from tests.tunables.conftest import hows, kill
from tests.waiting import eventually

pytestmark = pytest.mark.slow

OTHER_UID = 12345
IPC_CREAT, IPC_EXCL, IPC_RMID = 0o1000, 0o2000, 0

MAKE = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
number = libc.shmget(int(sys.argv[1]), 4096, 0o1600)
if sys.argv[2] == "attached":
    libc.shmat.restype = ctypes.c_void_p
    libc.shmat(number, None, 0)
print(number, flush=True)
sys.stdin.read()
"""


def killed(system: System, journals: Path, *made: tuple[str, str]) -> None:
    """Leave the journal of a run that was killed after it had recorded these resources."""
    journal = Journal.open(journals, "killed", system)
    for kind, name in made:
        journal.made(kind, name)
    kill(journal)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with contents."""
    (tmp_path / "scratch" / "deep").mkdir(parents=True)
    (tmp_path / "scratch" / "deep" / "file").write_text("large")
    return tmp_path / "scratch"


@pytest.fixture
def key() -> Iterator[int]:
    """A key of System V shared memory that no other test uses; its segments are removed at the end."""
    key = 0x5C4ED000 + os.getpid() % 0x1000
    yield key
    subprocess.run(["ipcrm", "--shmem-key", str(key)], capture_output=True, check=False)


@contextmanager
def segment(key: int, state: str) -> Iterator[None]:
    """A segment that a process made, which is alive in the block."""
    argv = [sys.executable, "-c", MAKE, str(key), state]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) >= 0
        yield
        process.kill()


def exists(key: int) -> bool:
    return int(ctypes.CDLL(None).shmget(key, 0, 0)) != -1


def test_a_folder_of_a_killed_run_is_removed_by_the_next_start(fake: System, journals: Path, folder: Path):
    killed(fake, journals, ("folder", str(folder)))
    assert list(map(str, recover(journals))) == [f"folder {folder} removed"]
    assert not folder.exists()
    assert pending(journals) == []


def test_a_live_run_keeps_its_folder_and_removes_it_when_it_closes(fake: System, journals: Path, folder: Path):
    with Journal.open(journals, "live", fake) as journal:
        journal.made("folder", str(folder))
        assert recover(journals) == []
        assert folder.exists()
    assert not folder.exists()
    assert pending(journals) == []


def test_a_resource_recorded_as_removed_is_left_alone(fake: System, journals: Path, folder: Path):
    journal = Journal.open(journals, "run", fake)
    journal.made("folder", str(folder))
    journal.gone("folder", str(folder))
    journal.close()
    assert folder.exists()


def test_a_resource_is_on_record_before_it_is_made(fake: System, journals: Path):
    with Journal.open(journals, "run", fake) as journal:
        journal.made("folder", "/nowhere")
        assert pending(journals)[0].made == [Resource(what="folder", name="/nowhere")]


def test_without_a_journal_nothing_is_made(fake: System, tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(Refusal, match=rf"nothing was made(.|\n)*set {folders.state_variable()} to"):
        Journal.open(tmp_path / "file", "run", fake).made("folder", "/nowhere")


def test_a_link_in_place_of_the_folder_is_not_followed(fake: System, journals: Path, folder: Path):
    (folder.parent / "link").symlink_to(folder)
    killed(fake, journals, ("folder", str(folder.parent / "link")))
    assert recover(journals) == []
    assert (folder / "deep" / "file").exists()


@pytest.mark.root
def test_another_users_folder_of_the_same_name_stays(fake: System, journals: Path, folder: Path):
    if os.geteuid() != 0:
        pytest.skip("needs root to make a folder of another user")
    os.chown(folder, OTHER_UID, OTHER_UID)
    killed(fake, journals, ("folder", str(folder)))
    assert recover(journals) == []
    assert folder.exists()
    assert pending(journals) == []


def test_a_folder_that_a_live_run_has_taken_over_stays(fake: System, journals: Path, folder: Path):
    killed(fake, journals, ("folder", str(folder)))
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert recover(journals) == []
        assert folder.exists()
    finally:
        os.close(handle)


def test_shared_memory_of_a_killed_server_is_removed(fake: System, journals: Path, key: int):
    with segment(key, "detached"):
        pass
    assert exists(key)
    killed(fake, journals, ("segment", str(key)))
    assert list(map(str, recover(journals))) == [f"segment {key} removed"]
    assert not exists(key)


def test_shared_memory_in_use_stays_until_a_later_start(fake: System, journals: Path, key: int):
    killed(fake, journals, ("segment", str(key)))
    with segment(key, "attached"):
        (outcome,) = recover(journals)
        assert outcome.how == "failed"
        assert "still in use" in str(outcome)
        assert exists(key)
    assert hows(recover(journals)) == ["removed"]
    assert not exists(key)


def test_shared_memory_is_removed_when_its_last_user_ends(fake: System, journals: Path, key: int):
    killed(fake, journals, ("segment", str(key)))
    with ExitStack() as user, ThreadPoolExecutor() as pool:
        user.enter_context(segment(key, "attached"))
        outcomes = pool.submit(recover, journals)
        eventually(lambda: is_being_recovered(journals))
        user.close()
        assert list(map(str, outcomes.result())) == [f"segment {key} removed"]
    assert not exists(key)


def is_being_recovered(journals: Path) -> bool:
    (path,) = journals.glob("*.journal")
    with path.open() as file:
        return not try_lock(file.fileno())


def test_a_kind_of_a_later_version_is_reported_and_stays_on_record(fake: System, journals: Path):
    killed(fake, journals, ("satellite", "7"))
    assert list(map(str, recover(journals))) == [
        "satellite 7 could not be removed: this program does not support this kind"
    ]
    assert len(pending(journals)) == 1

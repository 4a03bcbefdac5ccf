"""Only one run at a time on a machine, even if other users delete, link or take names (tests/files/test_locks.py)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.targets.host.lock import FILE, holder, machine_lock

pytestmark = pytest.mark.slow

OTHER_UID = 12345
HOLDER = """
import sys; from pathlib import Path
from schedlab.targets.host.lock import machine_lock
with machine_lock(Path(sys.argv[1]), sys.argv[2]):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for lock files, not made yet."""
    return tmp_path / "locks"


@pytest.fixture
def name() -> str:
    """A name for the abstract socket that no other test uses."""
    return f"schedlab-test-{os.getpid()}"


@contextmanager
def other_run(folder: Path, name: str, *before: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has the lock; ``before`` are arguments before its command line."""
    argv = [*before, sys.executable, "-c", HOLDER, str(folder), name]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_a_free_machine_has_no_holder_and_asking_creates_nothing(folder: Path, name: str) -> None:
    assert holder(folder, name) is None
    assert not folder.exists()


def test_a_second_run_is_refused_with_process_and_user_of_the_first(folder: Path, name: str) -> None:
    with other_run(folder, name) as process:
        words = f"process {process.pid} of user "
        assert words in str(holder(folder, name))
        with pytest.raises(CannotRunHere, match=words), machine_lock(folder, name):
            pass
        assert (folder / FILE).read_text() == f"{process.pid}\n"
    with machine_lock(folder, name):
        assert (folder / FILE).read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("gone", ["file", "folder"])
def test_two_runs_exclude_each_other_when_the_lock_file_is_deleted(folder: Path, name: str, gone: str) -> None:
    with other_run(folder, name):
        shutil.rmtree(folder) if gone == "folder" else (folder / FILE).unlink()
        assert holder(folder, name) is not None
        with pytest.raises(CannotRunHere), machine_lock(folder, name):
            pass


def test_the_lock_file_excludes_runs_that_do_not_share_the_network(folder: Path, name: str) -> None:
    """Two names represent two network namespaces."""
    with other_run(folder, f"{name}-elsewhere") as process:
        assert holder(folder, name) == f"process {process.pid}"
        with pytest.raises(CannotRunHere, match=f"process {process.pid}"), machine_lock(folder, name):
            pass


def link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def hard_link(path: Path, victim: Path) -> None:
    path.hardlink_to(victim)


def named_pipe(path: Path, victim: Path) -> None:
    os.mkfifo(path)


def folder_in_place(path: Path, victim: Path) -> None:
    path.mkdir()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("place", [link, hard_link, named_pipe, folder_in_place])
def test_a_lock_file_that_is_not_a_file_of_its_own_is_refused_at_once(folder: Path, name: str, place) -> None:
    folder.mkdir(mode=0o700)
    victim = folder / "victim"
    victim.write_text("precious")
    place(folder / FILE, victim)
    for lock in (machine_lock, _asked):
        with pytest.raises(CannotRunHere, match=FILE), lock(folder, name):
            pass
    assert victim.read_text() == "precious"


@contextmanager
def _asked(folder: Path, name: str) -> Iterator[None]:
    holder(folder, name)
    yield


def test_a_folder_that_others_can_write_is_refused(folder: Path, name: str) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(CannotRunHere, match="can be written by other users"), machine_lock(folder, name):
        pass


def test_a_refused_start_leaves_the_machine_free(folder: Path, name: str) -> None:
    folder.touch()
    with pytest.raises(CannotRunHere), machine_lock(folder, name):
        pass
    folder.unlink()
    with machine_lock(folder, name):
        pass


@pytest.mark.root
def test_another_users_lock_file_is_refused(folder: Path, name: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to make a file of another user")
    folder.mkdir(mode=0o700)
    (folder / FILE).touch()
    os.chown(folder / FILE, OTHER_UID, OTHER_UID)
    with pytest.raises(CannotRunHere, match="belongs to another user"), machine_lock(folder, name):
        pass


@pytest.mark.root
def test_runs_of_two_users_exclude_each_other(tmp_path: Path, folder: Path, name: str) -> None:
    """The second user has no access to the first user's folder; the socket's name is common to all users."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    with other_run(folder, name), ExitStack() as stack:
        os.seteuid(OTHER_UID)
        stack.callback(os.seteuid, 0)
        assert "of user root" in str(holder(tmp_path / "unreachable", name))

"""A run's scratch folder is named in the run's register before it exists, and removed at the exit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.files import scratch


class Notes:
    """A register that keeps the calls, and whether the folder existed at each call."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str, bool]] = []

    def made(self, what: str, name: str) -> None:
        self.entries.append(("made", name, Path(name).exists()))

    def gone(self, what: str, name: str) -> None:
        self.entries.append(("gone", name, Path(name).exists()))


def test_a_folder_is_private_and_removed_at_the_exit(tmp_path: Path) -> None:
    with scratch.folder(Notes(), tmp_path) as folder:
        assert folder.name.startswith(scratch.PREFIX)
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_registered_before_it_is_made_and_until_it_is_removed(tmp_path: Path) -> None:
    register = Notes()
    with scratch.folder(register, tmp_path) as folder:
        pass
    assert register.entries == [("made", str(folder), False), ("gone", str(folder), False)]


def test_a_folder_that_cannot_be_registered_is_not_made(tmp_path: Path) -> None:
    class Full(Notes):
        def made(self, what: str, name: str) -> None:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), scratch.folder(Full(), tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_could_not_be_removed_stays_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch.shutil, "rmtree", lambda *_, **__: None)
    register = Notes()
    with scratch.folder(register, tmp_path):
        pass
    assert [entry[0] for entry in register.entries] == ["made"]


KILLED = """
import os, sys; from pathlib import Path; from schedlab.files import scratch
with scratch.locked_folder("schedlab-twin-", Path(sys.argv[1])) as folder:
    print(folder, flush=True); sys.stdin.read()
"""


def test_the_next_start_removes_the_locked_folder_of_a_killed_process_alone(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        dead = Path(process.stdout.readline().strip())
        (dead / "file").touch()
        (tmp_path / "schedlab-twin-link.locked").symlink_to(tmp_path)
        (tmp_path / "schedlab-twin-open.locked").mkdir(mode=0o755)
        with scratch.locked_folder("schedlab-twin-", tmp_path) as live:
            assert dead.exists()
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            with scratch.locked_folder("schedlab-twin-", tmp_path):
                assert not dead.exists()
                assert live.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "schedlab-twin-link.locked",
        "schedlab-twin-open.locked",
    ]

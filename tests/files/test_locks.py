"""Locks on files: exclusive, shared, non-blocking, and released when the holder closes the file."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from schedlab.files.locks import lock, locked, try_lock


def is_locked(path: Path) -> bool:
    """Return whether another open file holds the lock of this file."""
    with path.open() as file:
        return not try_lock(file.fileno())


def test_a_lock_is_held_inside_the_block_only(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path, 0o600) as file:
        assert is_locked(path)
        assert os.fstat(file).st_mode & 0o777 == 0o600
    assert path.exists()
    assert not is_locked(path)


def test_shared_locks_exclude_an_exclusive_lock_until_a_single_holder_is_left(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path, shared=True) as first:
        with locked(path, shared=True):
            assert not try_lock(first)
        assert try_lock(first)


def test_a_lock_file_that_is_replaced_before_it_is_locked_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise one process would have the lock of the deleted file, and another process the lock of the new file."""
    path = tmp_path / "lock"
    flock, replaced = fcntl.flock, []

    def replacing_flock(file: int, how: int) -> None:
        if not replaced:
            replaced.append(path.stat().st_ino)
            (tmp_path / "new").touch()
            (tmp_path / "new").rename(path)
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", replacing_flock)
    with locked(path) as file:
        assert os.fstat(file).st_ino == path.stat().st_ino != replaced[0]


@pytest.mark.timeout(60)
def test_a_link_a_pipe_and_a_second_name_are_not_lock_files(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.touch()
    (tmp_path / "link").symlink_to(victim)
    (tmp_path / "second").hardlink_to(victim)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "second", "pipe"):
        with pytest.raises(OSError, match=name), locked(tmp_path / name):
            pass


def test_a_folder_can_be_locked(tmp_path: Path) -> None:
    holder, other = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    try:
        lock(holder)
        assert not try_lock(other)
        os.close(holder)
        assert try_lock(other)
    finally:
        os.close(other)

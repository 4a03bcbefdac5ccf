"""Locks on files: exclusive, shared, non-blocking, and released when the holder closes the file."""

from __future__ import annotations

import os
from pathlib import Path

from schedlab.locks import is_locked, lock, locked, try_lock


def test_a_lock_is_held_inside_the_block_only(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path, 0o600) as file:
        assert is_locked(path)
        assert os.fstat(file).st_mode & 0o777 == 0o600
    assert path.exists()
    assert not is_locked(path)


def test_a_file_that_does_not_exist_is_not_locked(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []


def test_shared_locks_exclude_an_exclusive_lock_until_one_holder_is_left(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path, shared=True) as first:
        with locked(path, shared=True):
            assert not try_lock(first)
        assert try_lock(first)


def test_a_folder_can_be_locked(tmp_path: Path) -> None:
    holder, other = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    try:
        lock(holder)
        assert not try_lock(other)
        os.close(holder)
        assert try_lock(other)
    finally:
        os.close(other)

"""Folders of the state on this machine belong to one user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from schedlab.files import folders

OTHER_UID = 12345


def test_journals_of_root_are_in_the_systems_folder_and_of_users_in_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCHEDLAB_STATE", raising=False)
    assert folders.journals(uid=0) == Path("/var/lib/schedlab/journal")
    monkeypatch.setenv("SCHEDLAB_STATE", "/elsewhere")
    assert folders.journals(uid=0) == Path("/elsewhere/journal")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert folders.journals(uid=1000) == Path("/state/schedlab/journal")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/user")
    assert folders.journals(uid=1000) == Path("/home/user/.local/state/schedlab/journal")


@pytest.mark.parametrize("uid", [0, 1000])
def test_the_variable_of_the_state_moves_the_journals(uid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(folders.state_variable(uid), "/elsewhere")
    assert folders.journals(uid).is_relative_to("/elsewhere")


def test_lock_files_are_in_the_runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert folders.locks(uid=0) == Path("/run/schedlab")
    if (uid := os.geteuid()) != 0:
        assert folders.locks(uid) == tmp_path / "schedlab"


def test_a_runtime_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert folders.locks(uid=OTHER_UID) == Path("/state/schedlab")


def test_a_private_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    folder = folders.private(tmp_path / "a" / "b")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folders.private(folder) == folder


def test_a_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(PermissionError, match="written by other users"):
        folders.private(tmp_path / "open")


def test_a_link_is_not_a_private_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(NotADirectoryError, match="symbolic link"):
        folders.private(tmp_path / "link")


@pytest.mark.root
def test_another_users_folder_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to make a folder of another user")
    folder = folders.private(tmp_path / "other-user")
    os.chown(folder, OTHER_UID, OTHER_UID)
    with pytest.raises(PermissionError):
        folders.private(folder)

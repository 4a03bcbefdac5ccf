"""Folders of the state on this machine belong to one user."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.files import cache, folders, scratch


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


def test_a_folder_of_the_cache_on_another_file_system_is_made_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Path("/dev/shm")
    if elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("/dev/shm and the temporary folder are one file system")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with scratch.locked_folder("schedlab-twin-", elsewhere) as other:
        (tmp_path / "schedlab").mkdir()
        (tmp_path / "schedlab/kernels").symlink_to(other)
        made = cache.made_once(tmp_path / "schedlab/kernels/one", lambda part: (part / "file").touch())
        assert [path.name for path in made.iterdir()] == ["file"]


def test_a_folder_of_the_cache_can_be_read_by_others_as_its_mask_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = cache.made_once(tmp_path / "schedlab/one", lambda part: None)
    plain = tmp_path / "plain"
    plain.mkdir()
    assert made.stat().st_mode == plain.stat().st_mode
    assert [*(tmp_path / "schedlab/parts").iterdir()] == []

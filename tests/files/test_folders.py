"""Folders of the state on this machine belong to one user."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.files import folders


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

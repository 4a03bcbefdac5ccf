"""Folders of schedlab on this machine: the default store and journals.

For the cache see :mod:`schedlab.files.cache`.

Importing this module is cheap, because every command searches for journals at its start.
"""

from __future__ import annotations

import os
from pathlib import Path


def default_store() -> str:
    """Return ``$SCHEDLAB_STORE`` (a path or a URL), otherwise the path ``schedlab.sqlite`` under
    ``$XDG_DATA_HOME/schedlab`` (``~/.local/share``)."""
    if named := os.environ.get("SCHEDLAB_STORE"):
        return named
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return str(Path(home) / "schedlab" / "schedlab.sqlite")


def journals(uid: int | None = None) -> Path:
    """Return the folder of journals: /var/lib/schedlab/journal for root, otherwise a folder below $XDG_STATE_HOME.

    $SCHEDLAB_STATE replaces root's /var/lib/schedlab. Root's folder depends on no other variable: a command without the
    variables of a killed run must find that run's journal.
    """
    return _state(os.geteuid() if uid is None else uid) / "journal"


def state_variable(uid: int | None = None) -> str:
    """Return the environment variable that moves the state of this user. For root, the variable names the folder;
    for other users, the parent folder."""
    return "SCHEDLAB_STATE" if (os.geteuid() if uid is None else uid) == 0 else "XDG_STATE_HOME"


def _state(uid: int) -> Path:
    value = os.environ.get(state_variable(uid))
    if uid == 0:
        return Path(value or "/var/lib/schedlab")
    return Path(value or Path.home() / ".local/state") / "schedlab"

"""Folders of schedlab on this machine: the default store, journals and lock files.

For the cache see :mod:`schedlab.files.cache`.

Importing this module is cheap, because every command searches for journals at its start.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def default_store() -> Path:
    """Return ``$SCHEDLAB_STORE``, otherwise ``schedlab.sqlite`` under ``$XDG_DATA_HOME/schedlab``
    (``~/.local/share``)."""
    if named := os.environ.get("SCHEDLAB_STORE"):
        return Path(named)
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "schedlab" / "schedlab.sqlite"


def journals(uid: int | None = None) -> Path:
    """Return the folder of journals: /var/lib/schedlab/journal for root, otherwise a folder below $XDG_STATE_HOME.

    $SCHEDLAB_STATE replaces root's /var/lib/schedlab. Root's folder depends on no other variable: a command without the
    variables of a killed run must find that run's journal.
    """
    return _state(os.geteuid() if uid is None else uid) / "journal"


def locks(uid: int | None = None) -> Path:
    """Return the folder of lock files: /run/schedlab for root, otherwise $XDG_RUNTIME_DIR/schedlab.

    Without a runtime folder of this user (``su`` keeps the previous user's variable), return the folder of the state.
    """
    uid = os.geteuid() if uid is None else uid
    if uid == 0:
        return Path("/run/schedlab")
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{uid}")
    try:
        is_ours = runtime.stat().st_uid == uid
    except OSError:
        is_ours = False
    return runtime / "schedlab" if is_ours else _state(uid)


def private(path: Path) -> Path:
    """Make a folder that only this user can write, or check that an existing folder has this property; OSError."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = path.lstat()
    if not stat.S_ISDIR(state.st_mode):
        raise NotADirectoryError(20, "is a symbolic link, not a folder", str(path))
    if state.st_uid != os.geteuid() or state.st_mode & 0o022:
        raise PermissionError(1, "can be written by other users", str(path))
    return path


def state_variable(uid: int | None = None) -> str:
    """Return the environment variable that moves the state of this user. For root, the variable names the folder;
    for other users, the parent folder."""
    return "SCHEDLAB_STATE" if (os.geteuid() if uid is None else uid) == 0 else "XDG_STATE_HOME"


def _state(uid: int) -> Path:
    value = os.environ.get(state_variable(uid))
    if uid == 0:
        return Path(value or "/var/lib/schedlab")
    return Path(value or Path.home() / ".local/state") / "schedlab"

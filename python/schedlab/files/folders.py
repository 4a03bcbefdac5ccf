"""Folders of schedlab on this machine: the default store, journals, the cache, and folders of killed processes.

Importing this module is cheap, because every command searches for journals at its start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LOCKED = ".locked"
"""Suffix of the names of folders that are locked while their process lives (:mod:`schedlab.files.scratch`)."""


def locked_folders() -> Iterator[Path]:
    """Yield the locked folders of live and of killed processes, in the places where commands make them."""
    for place in {"/dev/shm", "/tmp", os.environ.get("TMPDIR") or "/tmp", str(parts())}:
        with suppress(OSError), os.scandir(place) as entries:
            names = [entry.name for entry in entries]
            yield from (Path(place, each) for each in names if each.startswith("schedlab-") and each.endswith(LOCKED))


def cache() -> Path:
    """Return ``$XDG_CACHE_HOME/schedlab``, by default ``~/.cache/schedlab``."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "schedlab"


def parts() -> Path:
    """Return the folder in the cache of what is not complete yet."""
    return cache() / "parts"


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


def traces() -> Path:
    """Return root's folder of records of trace instances (``crates/load/src/noise/instances.rs``)."""
    return _state(0) / "traces"


def state_variable(uid: int | None = None) -> str:
    """Return the environment variable that moves the state of this user. For root, the variable names the folder;
    for other users, the parent folder."""
    return "SCHEDLAB_STATE" if (os.geteuid() if uid is None else uid) == 0 else "XDG_STATE_HOME"


def _state(uid: int) -> Path:
    value = os.environ.get(state_variable(uid))
    if uid == 0:
        return Path(value or "/var/lib/schedlab")
    return Path(value or Path.home() / ".local/state") / "schedlab"

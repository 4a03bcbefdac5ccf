"""Journals that dead runs left behind: listing them, and undoing what they tell of."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from schedlab.locks import is_locked, locked
from schedlab.tunables import mounts
from schedlab.tunables.codecs import codec
from schedlab.tunables.errors import JournalDamaged
from schedlab.tunables.outcomes import Failed, LeftAlone, Outcome, Restored
from schedlab.tunables.signals import deferred_signals
from schedlab.tunables.system import System

from . import log
from .history import Histories, History
from .processes import namespace, start_of
from .records import Opened, Released, read
from .undo import undo


def default_journal_dir(uid: int | None = None) -> Path:
    """Where journals are kept: /var/lib/schedlab/journal for root, else below $XDG_STATE_HOME."""
    if (os.geteuid() if uid is None else uid) == 0:
        return Path("/var/lib/schedlab/journal")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(state) / "schedlab/journal"


@dataclass(frozen=True)
class PendingJournal:
    """A journal in the directory. `live` when its run still holds it; `damaged` says why it cannot be read.

    `opened` is whose it is (None when damaged or empty), `histories` the values it has to answer for.
    """

    path: Path
    opened: Opened | None
    histories: tuple[History, ...]
    live: bool
    damaged: JournalDamaged | None = None

    @property
    def run_id(self) -> str:
        """The run's name."""
        return self.opened.run if self.opened else self.path.stem


def pending(directory: Path) -> list[PendingJournal]:
    """Every journal in the directory, oldest first; one that is damaged says so. No directory: none."""
    try:
        paths = [path for path in directory.iterdir() if path.suffix == log.SUFFIX]
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return []
    found = [journal for path in paths if (journal := _look(path)) is not None]
    return sorted(found, key=lambda journal: (journal.opened.when if journal.opened else 0.0, journal.path))


def recover(directory: Path, system: System) -> list[Outcome]:
    """Undo what dead runs left behind; to be called by every start, before anything is looked at or written.

    Out: what became of each value; a damaged journal is one Failed, and stays untouched. Journals of live runs, of
    other machines that share the directory, and values of an earlier boot (which the reboot has undone) are left
    alone. Also unmounts a debugfs that a killed run mounted. Cheap when there is nothing to do.
    """
    outcomes: list[Outcome] = []
    if any(not journal.live for journal in pending(directory)):
        with deferred_signals(), locked(directory / ".recover.lock", 0o600):
            for journal in pending(directory):  # again: another start may have been at it until now
                if not journal.live:
                    outcomes.extend(_recover_one(journal, system))
    _sweep_unborn(directory)
    if system.real and system.is_root:
        mounts.unmount_leftover()
    return outcomes


def is_foreign(journal: PendingJournal, system: System) -> bool:
    """Whether another machine, which shares the directory, wrote it."""
    opened = journal.opened
    if opened is None or opened.root != "/":
        return False
    return system.real and opened.host != system.host and opened.boot_id != system.boot_id


def _look(path: Path) -> PendingJournal | None:
    try:
        records = read(path)
    except JournalDamaged as damage:
        return PendingJournal(path, None, (), live=is_locked(path), damaged=damage)
    except FileNotFoundError:
        return None  # its run has just ended
    opened = records[0] if records and isinstance(records[0], Opened) else None
    return PendingJournal(path, opened, tuple(Histories(records).all()), live=_is_live(path, opened))


def _is_live(path: Path, opened: Opened | None) -> bool:
    """A run is live when the lock is held and its process exists: a child that outlived it may keep the lock."""
    if not is_locked(path):
        return False
    if opened is None or opened.pid_namespace != namespace():
        return True
    return start_of(opened.pid) == opened.pid_start


def _recover_one(journal: PendingJournal, system: System) -> list[Outcome]:
    if journal.damaged is not None:
        return [Failed(journal.run_id, journal.path, "the originals it holds", str(journal.damaged))]
    if is_foreign(journal, system):
        return []
    opened = journal.opened
    if opened is None:
        log.remove(journal.path)
        return []
    target = system if opened.root == str(system.root) else System(root=Path(opened.root), uid=system.uid)
    histories = list(journal.histories)
    if target.boot_id and opened.boot_id != target.boot_id:
        outcomes = _after_reboot(histories, target)
    else:
        outcomes = _undo_from(journal.path, histories, target)
    if not any(isinstance(outcome, Failed) for outcome in outcomes):
        if any(isinstance(outcome, LeftAlone) for outcome in outcomes):
            log.set_aside(journal.path)
        else:
            log.remove(journal.path)
    return outcomes


def _undo_from(path: Path, histories: list[History], system: System) -> list[Outcome]:
    def release(history: History, how: Literal["restored", "left"]) -> None:
        log.append_to_dead(path, Released((history.last.n,), how))

    with system.debugfs() if any(_debugfs(h) for h in histories) else nullcontext():
        if system.real and system.debugfs_root is None:
            reachable = [history for history in histories if not _debugfs(history)]
            reason = "debugfs is not mounted; it needs root, and a kernel that lets it be mounted"
            lost: list[Outcome] = [Failed(h.name, h.path, h.original, reason) for h in histories if _debugfs(h)]
            return lost + undo(reachable, system.files, release)
        return undo(histories, system.files, release)


def _after_reboot(histories: list[History], system: System) -> list[Outcome]:
    """The kernel forgot the run's values with the reboot; whatever is there now was not written by the run."""
    outcomes: list[Outcome] = []
    for history in histories:
        try:
            current = codec(history.codec).decode(system.files.read(history.path))
        except OSError:
            current = None
        if current == history.original:
            outcomes.append(Restored(history.name, history.path, history.original, wrote=False))
        else:
            reason = "as the machine was booted since, and the kernel forgot the run's value"
            outcomes.append(LeftAlone(history.name, history.path, history.original, current, reason))
    return outcomes


def _debugfs(history: History) -> bool:
    return history.path.is_relative_to(mounts.DEBUGFS)


def _sweep_unborn(directory: Path) -> None:
    """Remove journals that a run died while creating: they tell of no write."""
    for path in directory.glob(f"*{log.UNBORN}"):
        if not is_locked(path):
            path.unlink(missing_ok=True)

"""Journals that dead runs left behind: listing them, and undoing the changes that they record."""

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
from schedlab.tunables.signals import deferred_signals
from schedlab.tunables.system import System

from . import journal_file
from .journal_file import Opened, Released, namespace, read, start_of
from .undo import Failed, Histories, History, LeftAlone, Outcome, Restored, retire, undo


def default_journal_dir(uid: int | None = None) -> Path:
    """The folder of journals: /var/lib/schedlab/journal for root, else a folder below $XDG_STATE_HOME."""
    if (os.geteuid() if uid is None else uid) == 0:
        return Path("/var/lib/schedlab/journal")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(state) / "schedlab/journal"


@dataclass(frozen=True)
class PendingJournal:
    """A journal in the folder. `live` while its run keeps it locked; `damaged` is why it cannot be read.

    `opened` is its first record (None when damaged or empty), `histories` the values that it is responsible for.
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
    """Return every journal in the folder, damaged ones too, oldest first; an empty list when there is no folder."""
    try:
        paths = [path for path in directory.iterdir() if path.suffix == journal_file.SUFFIX]
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return []
    journals = [journal for path in paths if (journal := _read(path)) is not None]
    return sorted(journals, key=lambda journal: (journal.opened.when if journal.opened else 0.0, journal.path))


def recover(directory: Path, system: System) -> list[Outcome]:
    """Undo what dead runs left behind. Every start calls it before it reads or writes anything else.

    Out: the outcome of each value; a damaged journal is a Failed, and stays unchanged. Three things are left alone:
    journals of live runs, journals of other machines that share the folder, and values of an earlier boot, which the
    reboot has undone. A debugfs that a killed run mounted is unmounted. Cheap when there is nothing to do.
    """
    outcomes: list[Outcome] = []
    if any(not journal.live for journal in pending(directory)):
        with deferred_signals(), locked(directory / ".recover.lock", 0o600):
            # Read again: another start may have recovered some journals while this one waited for the lock.
            for journal in pending(directory):
                if not journal.live:
                    outcomes.extend(_recover_one(journal, system))
    _remove_incomplete(directory)
    if system.real and system.is_root:
        mounts.unmount_leftover()
    return outcomes


def is_foreign(journal: PendingJournal, system: System) -> bool:
    """Whether another machine, which shares the folder, wrote the journal."""
    opened = journal.opened
    if opened is None or opened.root != "/":
        return False
    return system.real and opened.host != system.host and opened.boot_id != system.boot_id


def _read(path: Path) -> PendingJournal | None:
    try:
        records = read(path)
    except JournalDamaged as damage:
        return PendingJournal(path, None, (), live=is_locked(path), damaged=damage)
    except FileNotFoundError:
        return None  # its run has just ended
    opened = records[0] if records and isinstance(records[0], Opened) else None
    return PendingJournal(path, opened, tuple(Histories(records).all()), live=_is_live(path, opened))


def _is_live(path: Path, opened: Opened | None) -> bool:
    """Whether the file is locked and the run's process exists. A child that outlived the run may keep the lock."""
    if not is_locked(path):
        return False
    if opened is None or opened.pid_namespace != namespace():
        return True
    return start_of(opened.pid) == opened.pid_start


def _recover_one(journal: PendingJournal, system: System) -> list[Outcome]:
    if journal.damaged is not None:
        return [Failed(journal.run_id, journal.path, "its original values", str(journal.damaged))]
    if is_foreign(journal, system):
        return []
    opened = journal.opened
    if opened is None:
        journal_file.remove(journal.path)
        return []
    target = system if opened.root == str(system.root) else System(root=Path(opened.root), uid=system.uid)
    histories = list(journal.histories)
    if target.boot_id and opened.boot_id != target.boot_id:
        outcomes = _after_reboot(histories, target)
    else:
        outcomes = _undo(journal.path, histories, target)
    retire(journal.path, outcomes)
    return outcomes


def _undo(path: Path, histories: list[History], system: System) -> list[Outcome]:
    def release(history: History, how: Literal["restored", "left"]) -> None:
        journal_file.append_to_dead(path, Released((history.last.n,), how))

    with system.debugfs() if any(h.in_debugfs for h in histories) else nullcontext():
        if system.real and system.debugfs_root is None:
            reason = "debugfs is not mounted; it needs root, and a kernel that lets it be mounted"
            lost: list[Outcome] = [Failed(h.name, h.path, h.original, reason) for h in histories if h.in_debugfs]
            return lost + undo([history for history in histories if not history.in_debugfs], system.files, release)
        return undo(histories, system.files, release)


def _after_reboot(histories: list[History], system: System) -> list[Outcome]:
    """The outcomes after a reboot. The kernel forgot the run's values, so nothing is written."""
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


def _remove_incomplete(directory: Path) -> None:
    """Remove journals whose run died while creating them: no write depends on them."""
    for path in directory.glob(f"*{journal_file.INCOMPLETE}"):
        if not is_locked(path):
            path.unlink(missing_ok=True)

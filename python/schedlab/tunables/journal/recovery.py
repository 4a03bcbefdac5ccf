"""Journals of dead runs: list the journals, and undo the recorded changes."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from schedlab.files import processes
from schedlab.files.locks import is_locked, locked
from schedlab.tunables import mounts
from schedlab.tunables.codecs import codec
from schedlab.tunables.errors import JournalDamaged, JournalUnreadable
from schedlab.tunables.signals import deferred_signals
from schedlab.tunables.system import System

from . import journal_file, resources
from .journal_file import Gone, Made, Opened, Released
from .resources import Removed
from .undo import Damaged, Failed, Histories, History, LeftAlone, Outcome, Restored, retire, undo


@dataclass(frozen=True)
class PendingJournal:
    """A journal in the folder. `live` while its run keeps the journal locked; `fault` is the damage, if any.

    `opened` is the journal's first record (None when the record cannot be read), `histories` are the values that the
    run changed, and `made` the resources to remove, last first.
    """

    path: Path
    live: bool
    opened: Opened | None = None
    histories: tuple[History, ...] = ()
    made: tuple[Made, ...] = ()
    fault: JournalDamaged | JournalUnreadable | None = None

    @property
    def run_id(self) -> str:
        """The run's name."""
        return self.opened.run if self.opened else self.path.stem


def pending(directory: Path) -> list[PendingJournal]:
    """Return every journal in the folder, also damaged journals, oldest first; an empty list without the folder."""
    try:
        paths = [path for path in directory.iterdir() if path.suffix == journal_file.SUFFIX]
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return []
    journals = [journal for path in paths if (journal := _read(path)) is not None]
    return sorted(journals, key=lambda journal: (journal.opened.when if journal.opened else 0.0, journal.path))


def recover(directory: Path, system: System) -> list[Outcome]:
    """Undo the changes of dead runs. Every start of schedlab calls this function before any other read or write.

    Out: the outcome of each value and of each resource that the run had made. A damaged journal moves to the folder
    DAMAGED after all its readable records are undone. A journal that cannot be read gives a Failed, and stays.

    The function does not touch journals of live runs, journals of other machines that share the folder, and values of
    an earlier boot, which the reboot has undone. A debugfs that a killed run mounted is unmounted. Cheap when there is
    nothing to do.
    """
    outcomes: list[Outcome] = []
    if any(not journal.live for journal in pending(directory)):
        with deferred_signals(), locked(directory / ".recover.lock", 0o600):
            # Read again: another start may have recovered some journals while this start waited for the lock.
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
    locked_now = False
    try:
        # The lock is tested first: the file of a dead run no longer changes.
        locked_now = is_locked(path)
        contents = journal_file.read(path)
    except FileNotFoundError:
        return None  # the run has just ended
    except OSError as error:
        return PendingJournal(path, live=False, fault=JournalUnreadable(path, f"cannot be opened: {error.strerror}"))
    except JournalUnreadable as fault:
        return PendingJournal(path, locked_now, fault=fault)
    live = locked_now and _is_alive(contents.opened)
    return PendingJournal(
        path,
        live,
        contents.opened,
        tuple(Histories(contents.records).all()),
        tuple(resources.left(contents.records)),
        None if live else contents.damage,
    )


def _is_alive(opened: Opened | None) -> bool:
    """Whether the run's process exists. A child that outlived the run may keep the lock."""
    return opened is None or not processes.is_gone(opened.pid, opened.pid_start, opened.pid_namespace)


def _recover_one(journal: PendingJournal, system: System) -> list[Outcome]:
    if isinstance(journal.fault, JournalUnreadable):
        return [Failed(journal.run_id, journal.path, "its original values", str(journal.fault))]
    if is_foreign(journal, system):
        return []
    opened, histories = journal.opened, list(journal.histories)
    is_ours = opened is None or opened.root == str(system.root)
    target = system if opened is None or is_ours else System(root=Path(opened.root), uid=system.uid)
    booted_since = bool(opened and target.boot_id and opened.boot_id != target.boot_id)
    outcomes = _after_reboot(histories, target) if booted_since else _undo(journal.path, histories, target)
    for resource in journal.made:
        is_lost = booted_since and resource.what in resources.LOST_AT_BOOT
        outcome = Removed(resource.what, resource.name, was_there=False) if is_lost else resources.remove(resource)
        if not isinstance(outcome, Removed) or outcome.was_there:
            outcomes.append(outcome)
        if isinstance(outcome, Removed):
            journal_file.append_to_dead(journal.path, Gone(resource.what, resource.name))
    # A power cut tears the last line of a journal, and a reboot undoes the change that the line announced.
    damage = None if booted_since else journal.fault
    kept = retire(journal.path, outcomes, damaged=damage is not None)
    return [*outcomes, Damaged(kept, f"line {damage.line}: {damage.why}")] if damage else outcomes


def _undo(path: Path, histories: list[History], system: System) -> list[Outcome]:
    def release(history: History, how: Literal["restored", "left"]) -> None:
        journal_file.append_to_dead(path, Released((history.last.n,), how))

    with system.debugfs() if any(h.in_debugfs for h in histories) else nullcontext():
        if system.real and system.debugfs_root is None:
            reason = "debugfs is not mounted; mounting debugfs needs root, and a kernel that permits the mount"
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
    """Remove journals whose run died while creating them: no write depends on such a journal."""
    for path in directory.glob(f"*{journal_file.INCOMPLETE}"):
        if not is_locked(path):
            path.unlink(missing_ok=True)

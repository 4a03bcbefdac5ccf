"""The journal: it records each change of a tunable on disk first, and undoes it whichever way the run ends."""

from .live import Journal
from .recovery import PendingJournal, default_journal_dir, pending, recover
from .script import undo_script
from .undo import Change, Failed, LeftAlone, Outcome, Restored

__all__ = [
    "Change",
    "Failed",
    "Journal",
    "LeftAlone",
    "Outcome",
    "PendingJournal",
    "Restored",
    "default_journal_dir",
    "pending",
    "recover",
    "undo_script",
]

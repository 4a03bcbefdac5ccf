"""The journal: what a run changed, on disk before it is changed, and undone whatever way the run ends."""

from .live import Journal
from .recovery import PendingJournal, default_journal_dir, pending, recover
from .script import undo_script

__all__ = ["Journal", "PendingJournal", "default_journal_dir", "pending", "recover", "undo_script"]

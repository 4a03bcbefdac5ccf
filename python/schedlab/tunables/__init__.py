"""Tunables of the Linux scheduler: the catalogue, whether this kernel lets them be set, and setting them safely.

`lookup` finds a tunable by any of its names, and `setting` parses a value for it. `System.resolve` returns whether
this kernel lets it be set, and why not. A `Journal` sets it, and puts it back whichever way the run ends. Every start
calls `recover` first. Importing this package is cheap: the catalogue, and with it pydantic, is read on first use.
"""

from .availability import Absent, Available, BootOnly, ReadOnly, Refused, Resolution, State
from .errors import (
    BadValue,
    ChangedMeanwhile,
    JournalDamaged,
    JournalError,
    NotTaken,
    TunableError,
    Unavailable,
    UnknownTunable,
    WriteFailed,
)
from .journal.live import Journal
from .journal.recovery import PendingJournal, default_journal_dir, pending, recover
from .journal.script import undo_script
from .journal.undo import Change, Failed, LeftAlone, Outcome, Restored
from .library import catalogue, lookup, names_of
from .setting import Setting, model_setting, setting
from .signals import Interrupted, deferred_signals, restore_on_signals
from .system import System
from .terms import KernelRange, KernelVersion

__all__ = [
    "Absent",
    "Available",
    "BadValue",
    "BootOnly",
    "Change",
    "ChangedMeanwhile",
    "Failed",
    "Interrupted",
    "Journal",
    "JournalDamaged",
    "JournalError",
    "KernelRange",
    "KernelVersion",
    "LeftAlone",
    "NotTaken",
    "Outcome",
    "PendingJournal",
    "ReadOnly",
    "Refused",
    "Resolution",
    "Restored",
    "Setting",
    "State",
    "System",
    "TunableError",
    "Unavailable",
    "UnknownTunable",
    "WriteFailed",
    "catalogue",
    "default_journal_dir",
    "deferred_signals",
    "lookup",
    "model_setting",
    "names_of",
    "pending",
    "recover",
    "restore_on_signals",
    "setting",
    "undo_script",
]

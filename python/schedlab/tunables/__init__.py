"""Tunables of the Linux scheduler: which there are, whether they can be set here, and setting them safely.

`lookup` finds a tunable by any of its names and `Tunable.parse` checks a value; `System.resolve` says whether this
kernel lets it be set, and why not; a `Journal` sets it, and puts it back whatever way the run ends. Every start
calls `recover` first. Importing this is cheap: the catalogue, and with it pydantic, is read when first asked for.
"""

from .availability import Absent, Available, BootOnly, ReadOnly, Refused, Resolution
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
from .journal import Journal, PendingJournal, default_journal_dir, pending, recover, undo_script
from .kernel import KernelRange, KernelVersion
from .library import catalogue, lookup, names_of
from .listing import Description, Row, State, describe, rows
from .model import Tunable
from .outcomes import Change, Failed, LeftAlone, Outcome, Restored
from .setting import Setting, model_setting, setting
from .signals import Interrupted, deferred_signals, restore_on_signals
from .system import System

__all__ = [
    "Absent",
    "Available",
    "BadValue",
    "BootOnly",
    "Change",
    "ChangedMeanwhile",
    "Description",
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
    "Row",
    "Setting",
    "State",
    "System",
    "Tunable",
    "TunableError",
    "Unavailable",
    "UnknownTunable",
    "WriteFailed",
    "catalogue",
    "default_journal_dir",
    "deferred_signals",
    "describe",
    "lookup",
    "model_setting",
    "names_of",
    "pending",
    "recover",
    "restore_on_signals",
    "rows",
    "setting",
    "undo_script",
]

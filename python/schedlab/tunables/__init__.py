"""Tunables of the Linux scheduler: the catalogue, the availability of tunables on this kernel, and safe changes of
their values.

`lookup` finds a tunable by any of its names, and `setting` parses a value for it. `System.resolve` returns whether
this kernel lets the tunable be set, and why not. A `Journal` sets tunables, and restores their values however the run
ends. Every start calls `recover` first. Importing this package is cheap: the catalogue is read, and pydantic imported,
on first use.
"""

from .availability import Absent, Available, BootOnly, ReadOnly, Refused, State
from .errors import (
    BadValue,
    ChangedMeanwhile,
    JournalDamaged,
    JournalError,
    JournalUnreadable,
    NotTaken,
    TunableError,
    Unavailable,
    UnknownTunable,
    WriteFailed,
)
from .journal.live import Journal
from .journal.recovery import pending, recover
from .journal.resources import GROUP, NotRemoved, Removed, remove_group
from .journal.script import undo_script
from .journal.undo import Damaged, Failed, LeftAlone, Restored
from .library import catalogue, lookup, names_of
from .setting import Setting, model_setting, setting
from .signals import Interrupted, deferred_signals, restore_on_signals
from .system import System
from .terms import KernelVersion

__all__ = [
    "GROUP",
    "Absent",
    "Available",
    "BadValue",
    "BootOnly",
    "ChangedMeanwhile",
    "Damaged",
    "Failed",
    "Interrupted",
    "Journal",
    "JournalDamaged",
    "JournalError",
    "JournalUnreadable",
    "KernelVersion",
    "LeftAlone",
    "NotRemoved",
    "NotTaken",
    "ReadOnly",
    "Refused",
    "Removed",
    "Restored",
    "Setting",
    "State",
    "System",
    "TunableError",
    "Unavailable",
    "UnknownTunable",
    "WriteFailed",
    "catalogue",
    "deferred_signals",
    "lookup",
    "model_setting",
    "names_of",
    "pending",
    "recover",
    "remove_group",
    "restore_on_signals",
    "setting",
    "undo_script",
]

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
    JournalError,
    TunableError,
    Unavailable,
    UnknownTunable,
)
from .journal.client import Lost, Outcome, Refusal
from .journal.journal import Journal
from .journal.recovery import pending, recover
from .journal.script import undo_script
from .library import catalogue, lookup, names_of
from .setting import Setting, model_setting, setting
from .signals import Interrupted, deferred_signals, kept_handlers, received, restore_on_signals
from .system import System
from .terms import KernelVersion

__all__ = [
    "Absent",
    "Available",
    "BadValue",
    "BootOnly",
    "Interrupted",
    "Journal",
    "JournalError",
    "KernelVersion",
    "Lost",
    "Outcome",
    "ReadOnly",
    "Refusal",
    "Refused",
    "Setting",
    "State",
    "System",
    "TunableError",
    "Unavailable",
    "UnknownTunable",
    "catalogue",
    "deferred_signals",
    "kept_handlers",
    "lookup",
    "model_setting",
    "names_of",
    "pending",
    "received",
    "recover",
    "restore_on_signals",
    "setting",
    "undo_script",
]

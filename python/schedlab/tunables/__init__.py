"""Tunables of the Linux scheduler: the catalogue, the availability of tunables on this kernel, and safe changes of
their values.

`lookup` finds a tunable by any of its names, and `setting` parses a value for it. `System.resolve` returns whether
this kernel lets the tunable be set, and why not. A `Journal` sets tunables, and restores their values however the run
ends. Every start calls `recover` first. Importing this package is cheap: the catalogue is read, and pydantic imported,
on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from schedlab.tunables.availability import Absent, Available, BootOnly, ReadOnly, Refused, State
from schedlab.tunables.errors import BadValue, JournalError, TunableError, Unavailable, UnknownTunable
from schedlab.tunables.journal.recovery import pending, recover
from schedlab.tunables.library import catalogue, lookup, names_of
from schedlab.tunables.setting import Setting, model_setting, setting
from schedlab.tunables.signals import Interrupted, deferred_signals, kept_handlers, received, restore_on_signals
from schedlab.tunables.system import System
from schedlab.tunables.terms import KernelVersion

if TYPE_CHECKING:
    from schedlab.tunables.journal.client import Lost, Refusal
    from schedlab.tunables.journal.journal import Journal
    from schedlab.tunables.journal.replies import Outcome

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
]

_OF_AGENTS = {
    "Journal": "journal.journal",
    "Lost": "journal.client",
    "Outcome": "journal.replies",
    "Refusal": "journal.client",
}


def __getattr__(name: str) -> object:
    if name in _OF_AGENTS:
        return getattr(import_module(f"{__name__}.{_OF_AGENTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""schedlab: a laboratory for Linux scheduler changes.

The functions are imported on first use, so that importing ``schedlab`` takes no time.
"""

from __future__ import annotations

from importlib import import_module

# Without the import of typing: Ctrl-C in the time before ``schedlab.cli.main`` prints a traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from schedlab.api import open_store, run
    from schedlab.simulation.api import simulate

__all__ = ["open_store", "run", "simulate"]

_MODULES = {"open_store": "schedlab.api", "run": "schedlab.api", "simulate": "schedlab.simulation.api"}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

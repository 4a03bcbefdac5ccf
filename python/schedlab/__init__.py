"""schedlab: a laboratory for Linux scheduler changes.

:func:`schedlab.simulate` is imported when it is first asked for, so that importing ``schedlab`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedlab.simulation.api import simulate

__all__ = ["simulate"]


def __getattr__(name: str) -> object:
    if name == "simulate":
        from schedlab.simulation.api import simulate

        return simulate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

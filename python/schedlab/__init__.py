"""schedlab: a laboratory for Linux scheduler changes.

The functions are imported on first use, so that importing ``schedlab`` takes no time.
"""

from __future__ import annotations

from importlib import import_module

# Without the import of typing: Ctrl-C in the time before ``schedlab.cli.main`` prints a traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from schedlab.api.cost import cost
    from schedlab.api.judging import judge_ask, judge_confirm, judge_open, judge_status
    from schedlab.api.modelling import predict, reproduce, twin
    from schedlab.api.noise import noise
    from schedlab.api.reading import attribute, compare, history, import_, merge, plan
    from schedlab.api.running import bisect, run, sweep, try_
    from schedlab.api.stored import open_store
    from schedlab.api.tuning import tune
    from schedlab.simulation.api import simulate

__all__ = [
    "attribute", "bisect", "compare", "cost", "history", "import_", "judge_ask", "judge_confirm", "judge_open",
    "judge_status", "merge", "noise", "open_store", "plan", "predict", "reproduce", "run", "simulate", "sweep", "try_",
    "tune", "twin",
]  # fmt: skip

_MODULES = {
    "api.cost": ("cost",),
    "api.judging": ("judge_ask", "judge_confirm", "judge_open", "judge_status"),
    "api.modelling": ("predict", "reproduce", "twin"),
    "api.noise": ("noise",),
    "api.reading": ("attribute", "compare", "history", "import_", "merge", "plan"),
    "api.running": ("bisect", "run", "sweep", "try_"),
    "api.stored": ("open_store",),
    "api.tuning": ("tune",),
    "simulation.api": ("simulate",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _PLACES:
        return getattr(import_module(f"schedlab.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

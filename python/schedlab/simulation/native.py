"""The extension module, loaded when it is first needed.

``run(machine, kernel, program, settings)`` takes the TOML texts of the two models, the JSON text of a
``schedlab_workload::Program``, and the settings of :class:`schedlab.simulation.settings.Settings` as a dictionary.
It returns a dictionary (times in nanoseconds):

``end``: ``finished`` or ``horizon``; ``end_ns``: virtual time since the machine's start; ``elapsed_ns``, ``user_ns``,
``system_ns``: of the program; ``digest``: sixteen hex digits that differ when anything observable does;
``metrics``: name, unit, direction, value, samples, as ``schedload --json`` tells them; ``counters`` and
``program_counters`` by name; ``ledger``: the accounts' names, and for each CPU the time of each account;
``latencies``: distributions by name with count, mean, extremes, quantiles and buckets; ``tasks``; ``schedstats``:
``switch`` (whether the kernel has one), ``state`` (``on``, ``off``, ``partly``), ``on_at_end``, ``file``
(/proc/schedstat, None if they were never on) and ``tasks`` (/proc/PID/sched by PID, of those asked for).

With ``timeline``, a path, it writes a trace in Perfetto's format there while the simulation runs; what is there after
an error is no trace.

``machines()`` and ``kernels()`` return the TOML texts of the shipped models by name.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from schedlab.simulation.errors import NotBuilt

_FUNCTIONS = ("check", "check_kernel", "check_machine", "kernels", "machines", "read_rt_app", "run")


@cache
def extension() -> ModuleType:
    """The module ``schedlab._sim``; NotBuilt tells how to make it."""
    try:
        from schedlab import _sim
    except ImportError as error:
        why = "is not built" if isinstance(error, ModuleNotFoundError) else f"cannot be loaded: {error}"
        raise NotBuilt(f"the simulator {why}", where="schedlab._sim", todo="make build") from error
    _require_functions(_sim)
    return _sim


def _require_functions(module: ModuleType) -> None:
    """Refuse an extension module that an older source tree was built into: it lacks functions."""
    for function in _FUNCTIONS:
        if not hasattr(module, function):
            raise NotBuilt(
                f"the simulator is of another version: it has no {function}()",
                where="schedlab._sim",
                todo="make build",
            )


@cache
def build() -> str:
    """Twelve hex digits of the extension module's bytes: another build may give other figures."""
    from hashlib import sha256
    from pathlib import Path

    return sha256(Path(str(extension().__file__)).read_bytes()).hexdigest()[:12]

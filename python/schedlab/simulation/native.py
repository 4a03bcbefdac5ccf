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

from schedlab.extension import extension

__all__ = ["build", "extension"]


@cache
def build() -> str:
    """Twelve hex digits of the extension module's bytes: another build may give other figures."""
    from hashlib import sha256
    from pathlib import Path

    return sha256(Path(str(extension().__file__)).read_bytes()).hexdigest()[:12]

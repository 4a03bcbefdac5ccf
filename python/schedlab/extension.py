"""The extension module ``schedlab._sim`` of crates/python, imported on first use.

``run(machine, kernel, program, settings)`` takes the TOML texts of the two models, the JSON text of a
``schedlab_workload::Program``, and the settings of :class:`schedlab.simulation.settings.Settings` as a dictionary.
``run`` returns a dictionary (times in nanoseconds):

- ``end``: ``finished`` or ``horizon``; ``end_ns``: virtual time since the machine's start.
- ``elapsed_ns``, ``user_ns``, ``system_ns``: times of the program.
- ``digest``: sixteen hex digits that change with everything observable.
- ``metrics``: name, unit, direction, value and samples, as in the output of ``schedload --json``.
- ``counters`` and ``program_counters`` by name.
- ``ledger``: the accounts' names, and for each CPU the time of each account.
- ``latencies``: distributions by name with count, mean, extremes, quantiles and buckets.
- ``tasks`` and ``locks``: a dictionary for each task and each lock.
- ``groups``: for each control group its metrics (:func:`schedlab.experiment.groups.metrics`) but pressure, in seconds.
- ``schedstats``: ``switch`` (whether the kernel has the switch), ``state`` (``on``, ``off``, ``partly``),
  ``on_at_end``, ``file`` (/proc/schedstat, None if schedstats were never on) and ``tasks`` (/proc/PID/sched of the
  wanted PIDs).

- ``interruptions``: None without ``watched``, a list of CPUs. Otherwise start and end of the program's window, and each
  time in the window in which one of these CPUs did not run the program: CPU, start, and parts as (cause, length).

With ``timeline``, a path, ``run`` writes a trace in Perfetto's format to the file during the simulation. After an error
the file is not a valid trace.

``write_interruptions(path, document)`` writes a measurement of interruptions, the JSON of
``schedlab_timeline::Interruptions``, as a trace in the same format.

``machines()`` and ``kernels()`` return the TOML texts of the shipped models by name. ``workloads()`` and
``native_program()`` are the registry of native workloads, see :mod:`schedlab.workloads.declarations`.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from schedlab.errors import Exit, SchedlabError
from schedlab.files.shipped import repair


class NotBuilt(SchedlabError):
    """Error for an extension module that is missing or has another version."""

    exit_code = Exit.CANNOT_RUN


_FUNCTIONS = (
    "beside", "check", "check_kernel", "check_machine", "kernels", "machines", "native_program", "read_rt_app", "run",
    "workloads", "write_interruptions",
)  # fmt: skip


@cache
def extension() -> ModuleType:
    """The module ``schedlab._sim``; NotBuilt names the command that builds it."""
    try:
        from schedlab import _sim
    except ImportError as error:
        why = "is missing" if isinstance(error, ModuleNotFoundError) else f"cannot be loaded: {error}"
        raise NotBuilt(f"the simulator {why}", where="schedlab._sim", todo=repair()) from error
    _require_functions(_sim)
    return _sim


def _require_functions(module: ModuleType) -> None:
    """Refuse an extension module that was built from an older source tree and lacks functions."""
    for function in _FUNCTIONS:
        if not hasattr(module, function):
            raise NotBuilt(
                f"the simulator is of another version: it has no {function}()",
                where="schedlab._sim",
                todo=repair(),
            )


@cache
def build() -> str:
    """Twelve hex digits of the extension module's bytes: another build may give other figures."""
    from hashlib import sha256
    from pathlib import Path

    return sha256(Path(str(extension().__file__)).read_bytes()).hexdigest()[:12]

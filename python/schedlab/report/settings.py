"""What a variant sets, in one line: ``slice 12 ms, cpus 0-3``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from schedlab.experiment.model import State
from schedlab.notation.units import with_unit
from schedlab.tunables import Setting


def sets(state: State) -> str:
    """Return the attributes that a state sets; empty for a state that keeps the machine's values."""
    return ", ".join(_parts(state))


def setting(each: Setting) -> str:
    """Return name and value of a tunable, with its unit: ``sched.migration_cost_ns 0.5 ms``."""
    unit = each.tunable.unit if each.tunable is not None else ""
    try:
        return f"{each.name} {with_unit(int(each.text), '' if unit == 'count' else unit)}"
    except ValueError:
        return f"{each.name} {each.text}"


def _parts(state: State) -> Iterator[str]:
    if state.kernel:
        yield f"kernel {state.kernel}"
    if state.cmdline:
        yield f"command line {state.cmdline}"
    if state.topology:
        yield f"topology {state.topology}"
    if state.memory_mib:
        yield f"memory of a node {state.memory_mib} MiB"
    if state.distances:
        yield f"node distances {state.distances}"
    if state.sched_ext:
        yield f"scheduler {shlex.join(state.sched_ext)}"
    if state.policy:
        yield f"policy {state.policy}{'' if state.priority is None else f' {state.priority}'}"
    if state.nice is not None:
        yield f"nice {state.nice}"
    if state.slice is not None:
        yield f"slice {with_unit(state.slice, 'ns')}"
    if state.cpus:
        yield f"cpus {state.cpus}"
    yield from map(setting, state.tunables.values())
    yield from (f"{name}={value}" for name, value in state.environment.items())

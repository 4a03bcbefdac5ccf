"""Words of experiment files and command lines as the simulator's settings."""

from __future__ import annotations

from schedlab.cpulist import parse_cpu_list
from schedlab.simulation.errors import SettingRefused
from schedlab.simulation.models import Model, kernel, kernel_names
from schedlab.simulation.settings import Attributes
from schedlab.units import parse_time_ns


def attributes(
    policy: str, priority: int | None, nice: int, length: str | int | None, cpus: str | None, under: Model
) -> Attributes:
    """The attributes of all tasks under a kernel model; ``length`` is a slice, a text or nanoseconds.

    SettingRefused for what does not go together, and for a slice of its own under a kernel that has none.
    """
    realtime = policy in ("fifo", "rr")
    if realtime != (priority is not None):
        what = f"policy {policy!r} needs a priority from 1 to 99" if realtime else "priority goes with fifo or rr only"
        raise SettingRefused(what, where="priority")
    if length is not None and not has_slices(under):
        having = [name for name in kernel_names() if has_slices(kernel(name))]
        raise SettingRefused(
            f"{under.name} has no slices of single tasks", where="slice", todo=f"these have them: {', '.join(having)}"
        )
    try:
        chosen = None if cpus is None else parse_cpu_list(cpus)
    except ValueError as error:
        raise SettingRefused(str(error), where="cpus") from error
    slice_ns = nanoseconds(length, "slice") if isinstance(length, str) else length
    return Attributes(policy, priority, nice, chosen, slice_ns)


def has_slices(under: Model) -> bool:
    """Whether a task may ask for a slice of its own: ``sched_attr::sched_runtime`` of EEVDF (since 6.12)."""
    return str(under.data["policy"]) == "eevdf"


LAST_NS = (1 << 54) - 2
"""The last moment of virtual time, 208 days: limits of docs/simulator-model.md."""


def nanoseconds(text: str, where: str) -> int:
    """A time such as ``"0.1ms"``; SettingRefused when it is none, or none within virtual time."""
    try:
        ns = parse_time_ns(text)
    except ValueError as error:
        raise SettingRefused(str(error), where=where) from error
    if not 0 <= ns <= LAST_NS:
        raise SettingRefused(f"{text!r} is not between 0 and {LAST_NS} ns, where virtual time ends", where=where)
    return ns


def seed_of(seed: int) -> int:
    """The seed; SettingRefused when it is not from 0 to 2^64 - 1."""
    if not 0 <= seed < 1 << 64:
        raise SettingRefused(f"{seed} is no seed: they are from 0 to 2^64 - 1", where="seed")
    return seed

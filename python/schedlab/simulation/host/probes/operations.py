"""Operations and programs of probes, see crates/workload/src/program/op.rs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LOOPS = 300
"""Operations in a try of a short operation: a few milliseconds, so that most tries are undisturbed."""

Op = Mapping[str, Any] | str
"""An operation; without fields, a string."""

YIELD: Op = "yield"


def times(count: int, body: Sequence[Op]) -> Op:
    """Repeat operations."""
    return {"loop": {"repeat": {"count": count}, "body": list(body)}}


def on(cpu: int) -> Op:
    """Bind the task to a CPU."""
    return {"set": {"attributes": {"cpus": [cpu]}}}


def policy(name: str, priority: int | None = None) -> Op:
    """Set the task's policy."""
    attributes = {"policy": name} if priority is None else {"policy": name, "priority": priority}
    return {"set": {"attributes": attributes}}


IN_TURN = policy("batch")
"""Start of a task that shares its CPU with the tasks that it wakes.

A woken task of this policy does not preempt its waker (``check_preempt_wakeup_fair()``, kernel/sched/fair.c, v6.12), so
that the tasks run in one order. Others alternate between two orders with different numbers of switches, on a machine
at other moments than in a model.
"""


def stamp(slot: str) -> Op:
    """Write the time to a slot."""
    return {"stamp": {"slot": slot}}


def lap(slot: str, series: str) -> Op:
    """Record the time since a slot's time in a series, and write the time to the slot."""
    return {"lap": {"slot": slot, "series": series}}


def record(slot: str, series: str) -> Op:
    """Record the time since a slot's time in a series."""
    return {"record": {"slot": slot, "series": series}}


def up(name: str) -> Op:
    """Increment a semaphore."""
    return {"up": {"semaphore": name, "count": 1}}


def down(name: str) -> Op:
    """Decrement a semaphore, which may wait."""
    return {"down": {"semaphore": name}}


def compute(ns: int) -> Op:
    """Compute for a time of an undisturbed CPU."""
    return {"compute": {"ns": ns}}


def touch(region: str, size: int, *, pattern: str = "sequential", write: bool = False, offset: Any = 0) -> Op:
    """Read or write memory, a cache line at a time."""
    return {
        "touch": {
            "region": region, "offset": offset, "bytes": size, "stride": 64, "pattern": pattern, "write": write,
        }
    }  # fmt: skip


def make_program(
    name: str,
    groups: Mapping[str, Sequence[Op]],
    series: Sequence[str],
    *,
    threads: bool = False,
    **resources: Sequence[Mapping[str, Any]],
) -> Mapping[str, Any]:
    """A program with a task for each group, whose slot ``turn`` has the time of its start."""
    slots = [{"name": "turn", "scope": "task"}, *resources.pop("slots", ())]
    mode = "thread" if threads else "process"
    return {
        "schema": 2,
        "name": name,
        "resources": {**resources, "slots": slots},
        "series": list(series),
        "groups": [
            {"name": group, "count": 1, "mode": mode, "body": [stamp("turn"), *body]} for group, body in groups.items()
        ],
        "metrics": [
            {"name": each, "unit": "ns", "direction": "lower", "quantity": {"mean": each}} for each in series
        ],
    }  # fmt: skip


def semaphores(*names: str) -> list[Mapping[str, Any]]:
    """Semaphores of a program, 0 at first."""
    return [{"name": name, "scope": "program", "initial": 0} for name in names]


def channel(name: str, kind: str) -> Mapping[str, Any]:
    """A channel of a program; TCP sends each message at once."""
    return {"name": name, "kind": kind, "count": 1, "scope": "program"} | ({"no_delay": True} if kind == "tcp" else {})

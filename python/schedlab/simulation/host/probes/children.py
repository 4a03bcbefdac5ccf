"""Probes of child processes."""

from __future__ import annotations

from schedlab.simulation.host.probes.operations import Op, compute, lap, make_program, record, stamp, times
from schedlab.simulation.host.runners import Probe

FAR_BEHIND_NS = 400_000
"""Time in which a woken task on another CPU runs and waits again, also on a virtual machine."""


def child(cpu: int, *, executes: bool) -> Probe:
    """A child process: series ``clone`` until the parent continues, ``start`` from then on until the child's first
    operation, ``end`` until the child has been reaped. The child may execute a new image.
    """
    work = {"exec": {"image": {"work": {"ns": 0}}}}
    first = record("waits", "start")
    body = [
        times(
            60,
            [
                stamp("waits"),  # for a child that preempts its parent
                {"fork": {"body": [first, work] if executes else [first]}},
                lap("turn", "clone"),
                stamp("waits"),
                {"wait": {}},
                lap("turn", "end"),
            ],
        )
    ]
    program = make_program(
        "child", {"first": body}, ["clone", "start", "end"], slots=[{"name": "waits", "scope": "program"}]
    )
    return Probe("child", program, (cpu,))


def child_start_remote(parent: int, other: int) -> Probe:
    """A child process that starts on another CPU, as its parent's CPU is busy: series ``start``, from the fork on."""
    turn: list[Op] = [
        stamp("forks"),
        {"fork": {"body": [record("forks", "start")]}},
        compute(FAR_BEHIND_NS),
        {"wait": {}},
    ]
    program = make_program(
        "child-start-remote", {"first": [times(60, turn)]}, ["start"], slots=[{"name": "forks", "scope": "program"}]
    )
    return Probe("child on another CPU", program, (parent, other))

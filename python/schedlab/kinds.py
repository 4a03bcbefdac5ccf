"""How a run's figures came to be, and what follows from it for those who read them."""

from __future__ import annotations

import re

REAL, SIMULATED = "real", "simulated"
EMULATED, VIRTUAL, DETERMINISTIC = "real, emulated", "real, virtual machine", "real, emulated, deterministic"
"""Kinds of runs in virtual machines: a real kernel on an emulated CPU, on a virtualised one, and on an emulated one
whose clock counts instructions."""

_SPEED = re.compile(r"(ns|us|ms|s|min|h)(/\w+)?|.+/(s|min|hour|op)|%")


def in_time(kind: str) -> bool:
    """Whether trials follow each other in time, so that their order can tell of drift and disturbances."""
    return kind not in (SIMULATED, DETERMINISTIC)


def emulated(kind: str) -> bool:
    """Whether the kernel was real and its CPUs were not: right in what it does, wrong in how long it takes."""
    return kind in (EMULATED, DETERMINISTIC)


def tells_speed(unit: str) -> bool:
    """Whether a figure of this unit is a time, a rate or a share of time."""
    return _SPEED.fullmatch(unit) is not None

"""Kinds of figures: their origin (real, emulated, counted, simulated, imported), and the properties of each origin."""

from __future__ import annotations

import re

REAL, SIMULATED = "real", "simulated"
EMULATED, VIRTUAL, DETERMINISTIC = "real, emulated", "real, virtual machine", "real, emulated, deterministic"
"""Kinds of runs in virtual machines: a real kernel on an emulated CPU, on a virtualised CPU, and on an emulated CPU
whose clock counts instructions."""

IMPORTED = "imported"
"""Kind of figures that other tools measured, which every report states."""

COUNTED = "counted"
"""Kind of the single figures of a deterministic run that are numbers of instructions."""

INSTRUCTIONS = "instructions"
"""Unit of counted figures; ``instructions/op`` for one operation."""

_SPEED = re.compile(r"(ns|us|ms|s|min|h)(/\w+)?|.+/(s|min|hour|op)|%")


def in_time(kind: str) -> bool:
    """Whether trials follow each other in real time, so that drift and disturbances are possible."""
    return kind not in (SIMULATED, DETERMINISTIC)


def emulated(kind: str) -> bool:
    """Whether a real kernel ran on emulated CPUs: its behaviour is real, its times are not."""
    return kind in (EMULATED, DETERMINISTIC)


def of_figure(kind: str, unit: str) -> str:
    """Return the kind of a figure in this unit, from a run of this kind."""
    return COUNTED if kind == DETERMINISTIC and is_counted(unit) else kind


def is_counted(unit: str) -> bool:
    """Whether a figure in this unit is a number of instructions."""
    return unit.partition("/")[0] == INSTRUCTIONS


def is_speed(unit: str) -> bool:
    """Whether a figure in this unit is a time, a rate or a share of time."""
    return _SPEED.fullmatch(unit) is not None

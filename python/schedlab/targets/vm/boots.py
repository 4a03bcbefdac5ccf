"""How often a plan boots, and how long a boot takes where none was measured yet."""

from __future__ import annotations

from itertools import groupby

from schedlab.execution.estimate import Boots
from schedlab.experiment.model import TargetTable, Variant
from schedlab.experiment.plan import Plan
from schedlab.targets.vm import guests

EMULATED, EMULATED_CPU, COUNTED_CPU = 6.5, 0.1, 0.9
"""Seconds from QEMU's start to the first trial, those that each CPU adds, and those where instructions are counted:
CPU time of QEMU for Debian's 6.12 with 1, 4 and 16 CPUs, on a virtual Xeon of 2.1 GHz. It is that of booting the image:
a kernel that is booted at its own entry takes some 2.5 s less, which is seen at the first boots."""

KVM = 2.0
"""Seconds of a boot at the speed of the machine."""


def boots(plan: Plan, table: TargetTable) -> Boots | None:
    """The plan's boots on this target; None where it boots nothing."""
    if table.kind != "vm":
        return None
    stretches = groupby(plan.trials, key=lambda trial: (trial.phase, trial.block, trial.variant.name))
    variants = [next(trials).variant for _, trials in stretches]
    booted = [variant for variant in variants if not guests.gap_of(table, variant)]
    seconds = sum(_seconds(table, variant) for variant in booted)
    return Boots(len(booted), seconds, waits=not table.deterministic)


def _seconds(table: TargetTable, variant: Variant) -> float:
    if guests.accel_of(table) == "kvm":
        return KVM
    each = COUNTED_CPU if table.deterministic else EMULATED_CPU
    return EMULATED + each * guests.topology_of(table, variant).cpus

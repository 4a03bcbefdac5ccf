"""sched_ext schedulers of variants: whether the kernel takes them, started before their trials, watched, stopped."""

from schedlab.targets.sched_ext.check import obstacles
from schedlab.targets.sched_ext.slot import Slot, wanted

__all__ = ["Slot", "obstacles", "wanted"]

"""sched_ext schedulers of variants: requirements, loading before trials, checks during trials, unloading."""

from schedlab.targets.sched_ext.requirements import missing_requirements
from schedlab.targets.sched_ext.slot import Slot, wanted

__all__ = ["Slot", "missing_requirements", "wanted"]

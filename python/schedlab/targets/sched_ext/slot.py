"""The kernel's slot for a sched_ext scheduler during a run: which variant's scheduler is loaded, and its faults."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from schedlab.errors import TrialFailure
from schedlab.experiment.model import Variant
from schedlab.targets.sched_ext.kernel import Kernel
from schedlab.targets.sched_ext.scheduler import Scheduler
from schedlab.tunables.signals import deferred_signals


class Slot:
    """The kernel's single slot for a scheduler, used by a run in which some variants have a scheduler.

    A scheduler is loaded when its variant is put in place, and stays loaded during that variant's trials. The owner
    calls :meth:`clear` at the end.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._variant: str | None = None
        self._scheduler: Scheduler | None = None
        self._failure = ""
        self._sequence: int | None = None
        self.notes: list[str] = []

    @property
    def is_loaded(self) -> bool:
        """Whether a scheduler of this run is loaded."""
        return self._scheduler is not None

    def clear(self) -> None:
        """Stop this run's scheduler; CannotRunHere when the kernel keeps the scheduler loaded."""
        self._variant = None
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is None:
            return
        with deferred_signals():
            self._note(scheduler.stop())

    def put(self, variant: Variant) -> None:
        """Load the variant's scheduler, if the variant has a scheduler; :meth:`fault` reports a failure.

        A scheduler that has failed is stopped and started again. CannotRunHere when a scheduler cannot be removed.
        """
        if self.serves(variant):
            return
        self.clear()
        self._variant, self._failure = variant.name, ""
        if variant.sched_ext is None:
            status = self._kernel.status()
            self._sequence = status.enable_seq if status else None
            return
        self._scheduler = Scheduler(variant.sched_ext, self._kernel)
        try:
            self._scheduler.start()
        except TrialFailure as failure:
            self._failure = str(failure)
            self.clear()
            self._variant = variant.name
        else:
            self._note(note(variant, self._scheduler.ops))

    def serves(self, variant: Variant) -> bool:
        """Whether this variant was put in place last and has no fault. Another variant always starts afresh."""
        return variant.name == self._variant and not self.fault()

    def fault(self) -> str:
        """Explain why a trial would be invalid now: another scheduler than the variant's is loaded. Empty otherwise."""
        if self._failure:
            return self._failure
        if self._scheduler is not None:
            return self._scheduler.fault()
        now = self._kernel.status()
        if now and now.loaded:
            return f"sched_ext: {now.shown} is loaded by another process; this variant has no scheduler"
        if now and now.enable_seq != self._sequence:
            return "sched_ext: another process loaded a scheduler meanwhile; this variant has no scheduler"
        return ""

    def check(self) -> None:
        """Raise TrialFailure when there is a :meth:`fault`."""
        if fault := self.fault():
            raise TrialFailure(fault)

    def _note(self, remark: str) -> None:
        if remark and remark not in self.notes:
            self.notes.append(remark)


def note(variant: Variant, ops: str) -> str:
    """A note for reports: the kernel's name for this variant's scheduler."""
    return f"sched_ext: variant {variant.name!r} ran under {ops!r} ('{shlex.join(variant.sched_ext or ())}')"


def wanted(variants: Sequence[Variant]) -> bool:
    """Whether any variant has a scheduler. Otherwise a loaded scheduler is a part of the machine."""
    return any(variant.sched_ext is not None for variant in variants)

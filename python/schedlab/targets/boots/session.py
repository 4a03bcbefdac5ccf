"""A session that boots the machine for each sequence of trials of the same block and variant."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.observe.fingerprint import differences
from schedlab.results.measurement import Measurement
from schedlab.targets.boots.boot import Booted, BootFailed, Boots
from schedlab.targets.protocol import Boots as PlannedBoots
from schedlab.targets.protocol import Session
from schedlab.targets.trial import Remarks
from schedlab.tunables import BadValue, Refusal, Unavailable

OF_KERNEL = ("kernel.", "mitigations.", "topology.isolated", "topology.nohz_full", "tools.", "memory_kib")
"""Parts of a fingerprint that a kernel and its command line may change. Kernels reserve different amounts of memory."""

MEMORY = 0.02
"""Share of the memory by which kernels may differ before the difference is reported."""

TYPICAL = 45.0
"""Guess of the seconds from a trial on one kernel to a trial on the next, by kexec with a small initial file system."""

Open = Callable[[], AbstractContextManager[tuple[Session, Mapping[str, Any]]]]
"""Opens a session on the running kernel, and returns it with the machine's fingerprint."""


def boots_kernels(variants: Sequence[Variant]) -> bool:
    """Whether an experiment with these variants boots the machine: then it boots for all of them."""
    return any(variant.kernel or variant.cmdline for variant in variants)


def planned(plan: Plan) -> PlannedBoots | None:
    """Return the plan's boots on another machine, with a guess of their time; None if it does not boot."""
    if not boots_kernels(plan.variants):
        return None
    count = sum(1 for _ in groupby(plan.trials, key=_boot_of))
    names = frozenset(variant.name for variant in plan.variants)
    return PlannedBoots(count, count * TYPICAL, waits=True, variants=names)


def _boot_of(trial: Trial) -> tuple[str, int, str]:
    return trial.phase, trial.block, trial.variant.name


@dataclass
class _Running:
    """A boot and the last of its trials; ``failure`` is set when it did not come up or has ended."""

    key: tuple[str, int, str]
    last: int
    stack: ExitStack = field(default_factory=ExitStack)
    session: Session | None = None
    booted: Booted | None = None
    failure: BootFailed | None = None

    def continues_with(self, trial: Trial) -> bool:
        """Whether the trial belongs to this boot."""
        return self.key == _boot_of(trial) and trial.index > self.last


class BootingSession(Session):
    """Session that boots a kernel and then runs trials in sessions on that kernel."""

    def __init__(self, plan: Plan, boots: Boots, open_session: Open) -> None:
        self._boots = boots
        self._pause = plan.experiment.design.pause
        self._open = open_session
        self._running: _Running | None = None
        self._first: Mapping[str, Any] | None = None
        self._remarks = Remarks(variant.name for variant in plan.variants)
        self._notes: list[str] = []

    @property
    def notes(self) -> Sequence[str]:
        """Notes of all boots' sessions, and what differed between boots."""
        return [*self._notes, *self._remarks.texts]

    def put_in_place(self, variant: Variant) -> None:
        """Do nothing: a boot begins with its variant in place."""

    def run(self, trial: Trial) -> Measurement:
        """Run a trial, on a new boot for the first trial of a sequence. A boot that fails, fails its trials."""
        started, began = time.time(), time.monotonic()
        running = self._running
        if running is None or not running.continues_with(trial):
            self.close()
            running = self._running = _Running(_boot_of(trial), trial.index)
        running.last = trial.index
        try:
            if running.failure is not None:
                raise running.failure
            return self._measured(running, trial)
        except BootFailed as failure:
            running.failure = failure
            return Measurement("failed", started, time.monotonic() - began, reason=failure.reason, stderr=failure.tail)

    def _measured(self, running: _Running, trial: Trial) -> Measurement:
        """Run the trial; BootFailed when the kernel does not come up, or ends during the trial."""
        if running.booted is None:
            running.booted = self._boot(trial.variant)
        try:
            if running.session is None:
                running.session = self._opened(running, trial.variant)
            return running.session.run(trial)
        except (Unavailable, BadValue) as error:
            raise BootFailed(error.what) from error
        except CannotRunHere as error:
            if isinstance(error, Refusal) and error.kind == "refused":
                # The kernel under test does not take the variant's value.
                raise BootFailed(error.what) from error
            if self._boots.is_running(running.booted):
                raise
            why = "the kernel under test ended during the trial: it panicked, or the machine was reset"
            raise BootFailed(why, self._boots.console()) from error

    def _boot(self, variant: Variant) -> Booted:
        try:
            kernel = self._boots.kernel(variant.kernel)
        except SchedlabError as error:
            raise BootFailed(f"there is no kernel to boot: {error.what}") from error
        return self._boots.boot(kernel, variant.cmdline or "")

    def _opened(self, running: _Running, variant: Variant) -> Session:
        """Open a session on the new kernel with the variant in place; note how the machine differs from other boots."""
        session, fingerprint = running.stack.enter_context(self._open())
        if self._first is None:
            self._first = fingerprint
        self._remarks.add(variant.name, [f"the machine differs: {line}" for line in changed(self._first, fingerprint)])
        session.put_in_place(variant)
        time.sleep(self._pause)
        return session

    def close(self) -> None:
        """End the session on the running kernel."""
        running, self._running = self._running, None
        if running is None:
            return
        if running.session is not None:
            self._notes += [note for note in running.session.notes if note not in self._notes]
        try:
            running.stack.close()
        except CannotRunHere:
            if running.failure is None:
                raise


def changed(first: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the differences between two boots that neither the kernel nor its command line explains."""
    lines = [line for line in differences(first, now) if not line.startswith(OF_KERNEL)]
    old, new = first.get("memory_kib"), now.get("memory_kib")
    if old and new and abs(new / old - 1) > MEMORY:
        lines.append(f"memory_kib ({old} → {new})")
    return lines

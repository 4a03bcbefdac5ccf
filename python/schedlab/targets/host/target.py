"""This machine's kernel as a target."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from schedlab import cache, scratch
from schedlab.errors import CannotRunHere, TrialFailure
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.experiment.rows import Row
from schedlab.measurement import Measurement
from schedlab.observe.conditions import Watch, between
from schedlab.observe.counters import Counters
from schedlab.observe.fingerprint import differences, stable_hash, take
from schedlab.targets import sched_ext
from schedlab.targets.host.check import obstacles
from schedlab.targets.host.interpret import cpu_seconds, interpret, process_counters
from schedlab.targets.host.launch import launch
from schedlab.targets.host.lock import machine_lock
from schedlab.targets.protocol import Download, Obstacle
from schedlab.targets.remarks import Remarks
from schedlab.targets.sched_ext.kernel import Kernel
from schedlab.tunables import Journal, Restored, System, default_journal_dir
from schedlab.workloads.base import AnyAdapter, Parameters, Place
from schedlab.workloads.registry import adapter

Switch = Callable[[Mapping[str, object]], None]
"""Makes the tunables those named, and puts back the others that this run has changed."""


class Host:
    """The kernel that runs here, or with ``root`` a tree of files in its place (for tests and demonstrations)."""

    name = "host"
    virtual = False
    warms = True

    def __init__(self, root: Path = Path("/"), journal_dir: Path | None = None) -> None:
        self._system = System(root)
        self._journal_dir = journal_dir or default_journal_dir()
        self.kind = "real" if self._system.real else "real, tunables in a tree of files"
        self.leftovers: Sequence[str] = ()
        self._slot: sched_ext.Slot | None = None

    def obstacles(self, plan: Plan) -> Sequence[Obstacle]:
        """See :mod:`schedlab.targets.host.check`."""
        return list(obstacles(plan, self._system))

    def downloads(self) -> Sequence[Download]:
        """Nothing: it is this machine."""
        return ()

    def fingerprint(self) -> Mapping[str, Any]:
        """See :mod:`schedlab.observe.fingerprint`; a tree of files in the kernel's place is named in it."""
        return take() | {"tunables": str(self._system.root)}

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """See :func:`schedlab.observe.fingerprint.differences`; a scheduler that this run has loaded is none."""
        own = "kernel.sched_ext " if self._slot is not None and self._slot.holds else None
        found = differences(fingerprint, self.fingerprint())
        return [path for path in found if own is None or not path.startswith(own)]

    def fingerprint_hash(self, fingerprint: Mapping[str, Any]) -> str:
        """See :func:`schedlab.observe.fingerprint.stable_hash`."""
        return stable_hash(fingerprint)

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[HostSession]:
        """Journal open, debugfs mounted if it is needed, workloads prepared; all undone at the exit."""
        with ExitStack() as stack:
            stack.enter_context(machine_lock())
            place = stack.enter_context(scratch.folder())
            switch = stack.enter_context(self._switching(plan, run_id))
            prepared = {row.key: _Prepared(row, Place(cache.folder(), place)) for row in plan.rows}
            for item in prepared.values():
                stack.enter_context(item.adapter.prepared(item.parameters, item.place))
            counters = stack.enter_context(Counters.open())
            # Last in, first out: what is put back afterwards is put back under the machine's own scheduler.
            slot = stack.enter_context(self._scheduling(plan))
            yield HostSession(prepared, switch, counters, slot, [variant.name for variant in plan.variants])

    @contextmanager
    def _scheduling(self, plan: Plan) -> Iterator[sched_ext.Slot | None]:
        """The place for the variants' sched_ext schedulers; None where none has one: then it is not this run's."""
        if not sched_ext.wanted(plan.variants):
            yield None
            return
        self._slot = slot = sched_ext.Slot(Kernel(self._system.root))
        try:
            yield slot
        finally:
            self._slot = None
            try:
                slot.clear()
            except CannotRunHere as error:
                self.leftovers = [error.what]

    @contextmanager
    def _switching(self, plan: Plan, run_id: int) -> Iterator[Switch]:
        """A function that makes the tunables those of a variant; at the exit they are as they were before."""
        self.leftovers = ()
        if not any(variant.tunables for variant in plan.variants):
            yield lambda wanted: None
            return
        with (
            self._system.debugfs(),
            Journal.open(self._journal_dir, f"run-{run_id}-process-{os.getpid()}", self._system) as journal,
        ):

            def switch(wanted: Mapping[str, object]) -> None:
                journal.put(wanted)
                if journal.left_alone:
                    # The next baseline would be measured at that value, and compared with those before.
                    raise CannotRunHere(
                        f"{journal.left_alone[0]}; the run has ended, its trials are kept",
                        todo="put the value back and go on with --resume",
                    )

            try:
                yield switch
            finally:
                outcomes = [*journal.left_alone, *journal.close()]
                self.leftovers = [
                    *self.leftovers,
                    *(str(outcome) for outcome in outcomes if not isinstance(outcome, Restored)),
                ]


class _Prepared:
    """A row with its adapter and its validated parameters."""

    def __init__(self, row: Row, place: Place) -> None:
        self.adapter: AnyAdapter = adapter(row.use)
        self.parameters: Parameters = self.adapter.parameters.model_validate(row.parameters)
        self.place = place


class HostSession:
    """Runs trials on the host; see :class:`schedlab.targets.protocol.Session`."""

    def __init__(
        self,
        prepared: Mapping[tuple[str, str], _Prepared],
        switch: Switch,
        counters: Counters,
        slot: sched_ext.Slot | None = None,
        variants: Sequence[str] = (),
    ) -> None:
        self._prepared = prepared
        self._remarks = Remarks(variants)
        self._switch = switch
        self._counters = counters
        self._slot = slot
        self._watch = Watch()
        self._cpus = os.cpu_count() or 1

    @property
    def notes(self) -> Sequence[str]:
        """What could not be counted, and what would turn it on; which sched_ext schedulers were loaded."""
        return [*self._counters.notes, *self._remarks.told, *(self._slot.notes if self._slot else ())]

    def put_in_place(self, variant: Variant) -> None:
        """Write the variant's tunables, and put back those that it does not name; attributes go with each launch.

        The variant's sched_ext scheduler is loaded after that, and stays until another variant takes its place.
        """
        if self._slot and not self._slot.serves(variant):
            self._slot.clear()
        self._switch(variant.tunables)
        if self._slot:
            self._slot.put(variant)

    def run(self, trial: Trial) -> Measurement:
        """One trial; a failure, a timeout or unreadable output is a measurement with its reason."""
        row = self._prepared[trial.row.key]
        try:
            row.adapter.before_trial(row.parameters, row.place)
            command = row.adapter.command(row.parameters, row.place)
            self._look()
        except TrialFailure as failure:
            return Measurement("failed", time.time(), 0.0, reason=f"not started: {failure}")
        before, started, first = self._watch.look(), time.time(), self._counters.snapshot()
        during: list[int] = []

        def every_second() -> None:
            during.extend(self._watch.frequencies())
            self._look()

        try:
            launched = launch(command, trial.variant, trial.row.timeout, every_second)
            last, after = self._counters.snapshot(), self._watch.look()
            elapsed = time.time() - started
            self._look()
        except TrialFailure as failure:
            return Measurement("failed", started, time.time() - started, reason=str(failure))
        self._remarks.add(trial.variant.name, self._counters.remarks(first))
        state, metrics, reason = interpret(row.adapter, row.parameters, launched, trial.row.timeout)
        return Measurement(
            state=state,
            started=started,
            elapsed=elapsed,
            metrics=metrics,
            reason=reason,
            conditions=between(before, after, during, elapsed, cpu_seconds(launched), self._cpus),
            counters=self._counters.delta(first, last) | process_counters(launched),
            command=launched.argv,
            stdout=launched.stdout,
            stderr=launched.stderr,
        )

    def _look(self) -> None:
        """Raise TrialFailure when the scheduler is not what the variant says: what runs now is no trial of it."""
        if self._slot:
            self._slot.watch()

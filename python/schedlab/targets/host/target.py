"""This machine's kernel as a target, and the requirements of a plan that this machine does not meet."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from schedlab.errors import CannotRunHere, TrialFailure
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial, every_row
from schedlab.experiment.state import GUEST_ONLY
from schedlab.files import folders
from schedlab.observe.conditions import Watch, between
from schedlab.observe.counters.collection import Counters
from schedlab.observe.fingerprint import take
from schedlab.results.measurement import UNDOCUMENTED, Measurement
from schedlab.simulation.models import kernels_with
from schedlab.targets import sched_ext
from schedlab.targets.groups import Groups, placed
from schedlab.targets.groups import missing_requirements as missing_groups
from schedlab.targets.hooks import Hooks
from schedlab.targets.protocol import MissingRequirement, Session, Target, naming
from schedlab.targets.sched_ext.kernel import Kernel
from schedlab.targets.settling import measured_rows, read_here, settled
from schedlab.targets.trial import PreparedRow, Remarks, attributes, cpu_seconds, interpret, launch, measured, remarks
from schedlab.tunables import Journal, Outcome, System
from schedlab.tunables.availability import remedy_of
from schedlab.tunables.journal.client import WAIT
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.base import Command, Place
from schedlab.workloads.command.adapter import RunParameters
from schedlab.workloads.preparation import Prepared, place_of, prepared
from schedlab.workloads.tools import SCHEDLOAD, find, install_line, missing


class Host(Target):
    """The running kernel, or with ``root`` a tree of files in its place (for tests and demonstrations)."""

    name = "host"
    virtual = False
    warms = True

    def __init__(self, root: Path = Path("/"), journal_dir: Path | None = None) -> None:
        self._system = System(root)
        self._journal_dir = journal_dir or folders.journals()
        self.kind = "real" if self._system.real else "real, tunables in a tree of files"
        self._slot: sched_ext.Slot | None = None

    def missing_requirements(self, plan: Plan) -> Sequence[MissingRequirement]:
        """See :func:`missing_requirements`."""
        return list(missing_requirements(plan, self._system))

    def fingerprint(self) -> Mapping[str, Any]:
        """See :mod:`schedlab.observe.fingerprint`; ``tunables`` names a tree of files in the kernel's place."""
        return take() | {"tunables": str(self._system.root)}

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """Return the differences, without the sched_ext scheduler that this run has loaded."""
        changes = super().changes(fingerprint)
        loaded = self._slot is not None and self._slot.is_loaded
        return [path for path in changes if not (loaded and path.startswith("kernel.sched_ext "))]

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[Session]:
        """Lock the machine, mount debugfs if necessary, prepare workloads; undo everything at the exit."""
        with ExitStack() as stack:
            journal = stack.enter_context(self._journal(run_id))
            hooks = Hooks(journal.agent, plan)
            if any(variant.tunables for variant in plan.variants):
                stack.enter_context(self._system.debugfs())
            groups = placed(plan, journal.agent, self._system)
            journal.watch(groups.every_state(plan.variants))
            cpus = os.cpu_count() or 1
            rows = {row.key: PreparedRow.of(row) for row in measured_rows(plan, cpus)}
            ready = stack.enter_context(prepared(journal.agent, rows))
            counters = stack.enter_context(Counters.open())
            # Entered last and left first: tunables and workloads are undone under the machine's own scheduler.
            slot = stack.enter_context(self._scheduling(plan))
            names = [variant.name for variant in plan.variants]
            session = HostSession(rows, ready, journal, counters, hooks, slot, names, groups)
            yield settled(session, plan, read_here, cpus)

    @contextmanager
    def _scheduling(self, plan: Plan) -> Iterator[sched_ext.Slot | None]:
        """Yield the slot for sched_ext schedulers; None when no variant has a scheduler."""
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
    def _journal(self, run_id: int) -> Iterator[Journal]:
        """Yield the run's journal; the exit restores all values, and removes the resources that the run made."""
        self.leftovers = ()
        with Journal.open(self._journal_dir, f"run-{run_id}-process-{os.getpid()}", self._system) as journal:
            self._report(journal.begin_alone())
            try:
                yield journal
            finally:
                self._report(journal.close())

    def _report(self, outcomes: Sequence[Outcome]) -> None:
        self.leftovers = [*self.leftovers, *(str(each) for each in outcomes if each.is_leftover)]


class HostSession:
    """Session that runs trials on the host; see :class:`schedlab.targets.protocol.Session`."""

    def __init__(
        self,
        rows: Mapping[tuple[str, str], PreparedRow],
        ready: Prepared[tuple[str, str]],
        journal: Journal,
        counters: Counters,
        hooks: Hooks,
        slot: sched_ext.Slot | None = None,
        variants: Sequence[str] = (),
        groups: Groups = Groups(),  # noqa: B008  # immutable
    ) -> None:
        self._rows = rows
        self._ready = ready
        self._remarks = Remarks(variants)
        self._journal = journal
        self._counters = counters
        self._hooks = hooks
        self._slot = slot
        self._groups = groups
        self._watch = Watch()
        self._cpus = os.cpu_count() or 1

    @property
    def notes(self) -> Sequence[str]:
        """Counters that are missing and how to enable them, undocumented knobs, the output of hooks, and the loaded
        sched_ext schedulers."""
        return [
            *self._counters.notes,
            *self._remarks.texts,
            *(f"{UNDOCUMENTED}{each}" for each in self._journal.remarks),
            *self._hooks.outputs.notes,
            *(self._slot.notes if self._slot else ()),
        ]

    def put_in_place(self, variant: Variant) -> None:
        """Write the variant's tunables and restore the others; each launch applies the variant's attributes.

        The variant's hook is applied above its tunables. Its sched_ext scheduler is loaded last, and stays loaded until
        the next variant is put in place.
        """
        if self._slot and not self._slot.serves(variant):
            self._slot.clear()
        self._hooks.leave(variant)
        self._journal.put(self._groups.wanted(variant))
        if self._journal.left_alone:
            # Another process changed the value: later baselines would differ from earlier baselines.
            raise CannotRunHere(
                f"{self._journal.left_alone[0]}; the run has ended, its trials are kept",
                todo="put the value back, then continue the run with --resume",
            )
        self._hooks.enter(variant)
        if self._slot:
            self._slot.put(variant)

    def run(self, trial: Trial) -> Measurement:
        """Run a trial; a failure, a timeout or unreadable output is a measurement with its reason."""
        row = self._rows[trial.row.key]
        try:
            command, *loads = (self._ready.command(each.key) for each in (trial.row, *trial.row.beside))
            self._check()
        except TrialFailure as failure:
            return Measurement("failed", time.time(), 0.0, reason=f"not started: {failure}")
        before, started = self._watch.snapshot(), time.time()
        first, began = self._counters.snapshot(), time.monotonic()
        during: list[int] = []

        def every_second() -> None:
            during.extend(self._watch.frequencies())
            self._check()

        try:
            agent = self._journal.agent
            options, files = self._groups.options(trial.row, loads), self._groups.observed(trial.row)
            launched = launch(command, trial.variant, trial.row.timeout, every_second, agent, options, files)
            last, after = self._counters.snapshot(), self._watch.snapshot()
            elapsed = time.monotonic() - began
            self._check()
        except TrialFailure as failure:
            return Measurement("failed", started, time.monotonic() - began, reason=str(failure))
        self._remarks.add(trial.variant.name, [*self._counters.remarks(first), *remarks(trial, launched)])
        outcome = interpret(row.adapter, row.parameters, launched, trial.row.timeout)
        conditions = between(before, after, during, elapsed, cpu_seconds(launched), self._cpus)
        counters = self._counters.delta(first, last)
        result = measured(launched, outcome, (started, elapsed), conditions, counters)
        if launched.reply is not None:
            self._remarks.add(trial.variant.name, self._groups.remarks(launched.reply))
            result = self._groups.completed(result, trial.row, launched.reply)
        return self._hooks.checked(result)

    def _check(self) -> None:
        """Raise TrialFailure when the loaded scheduler is not the variant's, and Lost when the tunables are not."""
        self._journal.check()
        if self._slot:
            self._slot.check()


PROBE_SECONDS = 10.0


def missing_requirements(plan: Plan, system: System) -> Iterator[MissingRequirement]:
    """Everything that would stop this plan here: tools, attributes, tunables, sched_ext schedulers."""
    if find(SCHEDLOAD) is None:
        yield MissingRequirement("schedload", "the load generator and launcher is missing", SCHEDLOAD.package)
        return
    try:
        with closing(LocalAgent(root=system.root)) as agent:
            busy = agent.holder()
            if busy is not None:
                yield MissingRequirement("machine", f"another run is measuring on this machine ({busy})", WAIT)
            yield from _tools(plan, place_of(agent))
            yield from missing_groups(plan, agent)
    except CannotRunHere as error:
        yield MissingRequirement(error.where or "machine", error.what, error.todo)
    for variant in plan.variants:
        yield from _guest_only(variant)
    yield from _attributes(plan)
    yield from _tunables(plan, system)
    yield from sched_ext.missing_requirements(plan, system)


def _tools(plan: Plan, place: Place) -> Iterator[MissingRequirement]:
    reported: set[str] = set()
    sets_path = any("PATH" in variant.environment for variant in plan.variants)
    for row in every_row(plan):
        each = PreparedRow.of(row)
        absent = missing(each.adapter.tools)
        reasons = [f"{tool.program} is not installed" for tool in absent]
        reasons += [] if sets_path else _absent_program(each)
        for reason in reasons or each.adapter.missing_requirements(each.parameters, place):
            if (key := f"{row.label}/{reason}") not in reported:
                reported.add(key)
                yield MissingRequirement(f"workload {row.label!r}", reason, install_line(absent) if absent else "")


def _absent_program(row: PreparedRow) -> list[str]:
    """Return that the program of a command does not exist. A relative path may lead to a file that a variant makes, and
    ``setup`` may install any program."""
    if not isinstance(row.parameters, RunParameters) or row.adapter.needs_state(row.parameters):
        return []
    program = shlex.split(row.parameters.run)[0]
    if shutil.which(program) or ("/" in program and not program.startswith("/")):
        return []
    return [f"there is no program {program!r}"]


def _guest_only(variant: Variant) -> Iterator[MissingRequirement]:
    subject = naming([variant.name])
    for key in ("kernel", "cmdline", *GUEST_ONLY):
        if getattr(variant, key) is not None:
            where = "vm:KERNEL" if key in GUEST_ONLY else "vm:KERNEL or sim:MACHINE"
            remedy = f"use --target {where}, or remove {key} from the variant"
            yield MissingRequirement(subject, f"sets {key}, which cannot change on the running host", remedy)


def _attributes(plan: Plan) -> Iterator[MissingRequirement]:
    """Probe each set of attributes by starting ``true`` with it: only the kernel can say whether it permits the set."""
    users: dict[tuple[str, ...], list[Variant]] = {}
    for variant in plan.variants:
        if options := attributes(variant):
            users.setdefault(tuple(options), []).append(variant)
    for variants in users.values():
        probe = launch(Command(("true",)), variants[0], PROBE_SECONDS)
        if probe.status != 0:
            reason, _, remedy = probe.stderr.strip().removeprefix("schedload: ").partition("\n")
            reason = reason or f"the launcher ended with {probe.status}"
            yield MissingRequirement(naming([variant.name for variant in variants]), reason, remedy.strip())


def _tunables(plan: Plan, system: System) -> Iterator[MissingRequirement]:
    users: dict[str, list[str]] = {}
    simulated: dict[str, None] = {}
    for variant in plan.variants:
        for name, setting in variant.tunables.items():
            users.setdefault(name, []).append(variant.name)
            if setting.tunable is None:
                simulated[name] = None
    for name in simulated:
        remedy = f"run it with --target sim:MACHINE/{kernels_with(name)[0]}"
        subject = f"tunable {name!r} ({naming(users.pop(name))})"
        yield MissingRequirement(subject, "only simulated kernels have this tunable", remedy)
    if not users:
        return
    with system.debugfs():
        for variant in plan.variants:
            real = {name: setting for name, setting in variant.tunables.items() if name not in simulated}
            for name, answer in system.check(real).items():
                if variants := users.pop(name, None):
                    subject = f"tunable {name!r} ({naming(variants)})"
                    yield MissingRequirement(subject, answer.why, remedy_of(name, answer))

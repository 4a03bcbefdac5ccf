"""A session in guests: one boot for each sequence of trials of the same block and variant, in the plan's order."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.experiment.target_table import TargetTable
from schedlab.kernels import pvh
from schedlab.kernels.parameters import Names, not_understood, words
from schedlab.notation.cpulist import parse_cpu_list
from schedlab.results.instructions import counted
from schedlab.results.measurement import PARAMETERS, UNDOCUMENTED, Measurement
from schedlab.simulation import models
from schedlab.targets.groups import Groups, controllers
from schedlab.targets.hooks import Outputs, Step, hooks_of, steps
from schedlab.targets.protocol import SILENT_CONTROL
from schedlab.targets.trial import Remarks
from schedlab.targets.vm import functions
from schedlab.targets.vm import machine as machines
from schedlab.targets.vm.boot import Boot, BootFailed, started
from schedlab.targets.vm.boot_parameters import doubts, files_to_keep, has_names, lacking
from schedlab.targets.vm.jobs import MESSAGES, STEP_SECONDS, content, contents
from schedlab.targets.vm.measure import Files, loaded, measurement
from schedlab.targets.vm.qemu import Machine
from schedlab.targets.vm.scripts import GuestRow, launched_words, scheduler_files, trial_request
from schedlab.targets.vm.settings import faults, remarks, settings
from schedlab.tunables.journal.frames import Garbled
from schedlab.tunables.journal.replies import AllWritten, MadeGroups
from schedlab.tunables.journal.replies import Files as Reading
from schedlab.tunables.journal.replies import Trial as Completed

GRACE = 60.0
"""Seconds beyond a trial's timeout in which a guest ends the trial and sends its results."""

SLOWER = 8
"""Limit of a deterministic trial's real time, in multiples of its timeout. The guest's clock counts instructions."""

OFFLINE = ("/online", "/smt/control")
"""Ends of the paths that put CPUs offline (Documentation/ABI/testing/sysfs-devices-system-cpu @ v6.12)."""

STEADY = ("tsc", "kvm-clock")
"""Clock sources that are read without an exit from the guest."""


@dataclass
class _Running:
    """A boot and its trials; ``failed`` is set when the boot has ended. ``symbols`` is set if instructions are
    counted by function, and ``counted`` is the number of earlier trials in the plug-in's output."""

    trials: Sequence[Trial]
    stack: ExitStack
    machine: Machine
    boot: Boot | None = None
    failed: BootFailed | None = None
    done: int = 0
    symbols: functions.Symbols | None = None
    counted: int = 0

    def expects(self, trial: Trial) -> bool:
        """Whether this trial is the next of the boot."""
        return self.done < len(self.trials) and self.trials[self.done].index == trial.index


class GuestSession:
    """Session that runs trials in guests; see :class:`schedlab.targets.protocol.Session`."""

    def __init__(
        self, plan: Plan, table: TargetTable, rows: Mapping[tuple[str, str], GuestRow], base: bytes, scratch: Path
    ) -> None:
        self._plan = plan
        self._table = table
        self._rows = rows
        self._base = base
        self._scratch = scratch
        self._groups = Groups.of_guest(plan.experiment.group)
        self._running: _Running | None = None
        self._notes = [SILENT_CONTROL] if table.deterministic and plan.experiment.design.control else []
        self._outputs = Outputs(plan)
        self._remarks = Remarks(variant.name for variant in plan.variants)

    @property
    def notes(self) -> Sequence[str]:
        """Notes on the kind of the figures, and on data that could not be observed."""
        return [*self._notes, *self._remarks.texts, *self._outputs.notes]

    def put_in_place(self, variant: Variant) -> None:
        """Do nothing: a boot begins with its variant in place."""

    def run(self, trial: Trial) -> Measurement:
        """Return the trial's measurement; boot a guest for the first trial of a sequence, or after a guest died."""
        started, began = time.time(), time.monotonic()
        if gap := machines.gap_of(self._table, trial.variant):
            return Measurement("failed", started, 0.0, reason=f"there is no kernel to boot: {gap}")
        if self._running is None or not self._running.expects(trial):
            self.close()
            self._running = self._start(trial)
        running = self._running
        running.done += 1
        cpus = running.machine.topology.cpus
        row, options = self._rows[trial.row.key], self._options(trial, cpus)
        argv = launched_words(row, trial.variant, trial.row.timeout, cpus, options)
        try:
            measured = self._run(running, trial, argv)
        except (BootFailed, Garbled) as error:
            failure = error if isinstance(error, BootFailed) else BootFailed(f"the guest's results: {error}", "")
            before_trials = running.boot is None or running.failed is not None
            running.failed = failure if before_trials else None
            running.stack.close()
            if not before_trials:
                self._running = None
            elapsed = time.monotonic() - began
            return Measurement("failed", started, elapsed, reason=failure.reason, command=argv, stderr=failure.tail)
        if running.trials[-1] is trial:
            self.close()
        return measured

    def _run(self, running: _Running, trial: Trial, argv: Sequence[str]) -> Measurement:
        if running.failed is not None:
            raise running.failed
        if running.boot is None:
            running.boot = self._up(running)
        if self._pause:
            running.boot.answer(self._pause + GRACE)
        started, began = time.time(), time.monotonic()
        not_loaded = self._scheduler(running.boot, trial)[1]
        limit = trial.row.timeout * (SLOWER if self._table.deterministic else 1) + GRACE
        reply = running.boot.answer(limit)
        name, reason = self._scheduler(running.boot, trial)
        checks = steps(hooks_of(self._plan, trial.variant), "check")
        faults = [self._hook_fault(running.boot, step) for step in checks]
        if not_loaded:
            return Measurement("failed", started, time.monotonic() - began, reason=not_loaded, command=argv)
        answer = content(reply, Completed)
        files = Files.of_trial(answer, name, reason)
        measured, remarks = measurement(
            trial,
            self._rows[trial.row.key],
            answer,
            files,
            argv,
            started,
            time.monotonic() - began,
            running.machine.topology.cpus,
            self._scratch,
        )
        measured = self._groups.completed(measured, trial.row, answer)
        if self._table.deterministic:
            measured = replace(measured, metrics=[counted(metric) for metric in measured.metrics])
        if running.symbols is not None and measured.state == "ok":
            row = self._rows[trial.row.key]
            loops = row.parameters.model_dump()["loops"] if trial.row.use == functions.MARKED else None
            section = functions.section(running.boot.functions.read_text(), running.counted)
            running.counted += 1
            counters = running.symbols.counters(section.figures(loops))
            measured = replace(measured, counters={**measured.counters, **counters})
        if measured.state == "ok" and any(faults):
            reason = f"after the trial: {next(filter(None, faults))}"
            measured = replace(measured, state="failed", metrics=(), reason=reason)
        if measured.state != "ok":
            running.symbols = None  # the trial may lack its marks, so that the marks of later trials are not known
        self._remarks.add(trial.variant.name, [*remarks, *self._groups.remarks(answer)])
        if note := loaded(trial, files):
            self._note(note)
        return measured

    def _options(self, trial: Trial, cpus: int) -> list[str]:
        loads = [self._rows[load.key].command(cpus) for load in trial.row.beside]
        return self._groups.options(trial.row, loads)

    def _check_groups(self, boot: Boot) -> None:
        try:
            content(boot.answer(), MadeGroups)
        except Garbled as error:
            raise CannotRunHere(
                f"the guest's kernel cannot make the groups: {error}; the run has ended, its trials are kept",
                todo="use another kernel, or remove the settings of groups",
            ) from error

    def _scheduler(self, boot: Boot, trial: Trial) -> tuple[str, str]:
        """Return the name of the guest's sched_ext scheduler and the reason of its fault; empty for a variant without
        a scheduler.
        """
        if trial.variant.sched_ext is None:
            return "", ""
        answer = content(boot.answer(STEP_SECONDS + GRACE), Completed).stdout
        name, _, reason = answer.partition("\n")
        return name, reason

    def _hook_fault(self, boot: Boot, step: Step) -> str:
        """Return why a command of a hook failed in the guest; empty for success."""
        limit = step[1].limit * (SLOWER if self._table.deterministic else 1) + GRACE
        return self._outputs.fault_of(step, content(boot.answer(limit), Completed))

    @property
    def _pause(self) -> float:
        return self._plan.experiment.design.pause

    def _start(self, trial: Trial) -> _Running:
        """Prepare a boot for this trial and the following trials of the same block and variant."""
        rest = self._plan.trials[trial.index :]
        of_block = (trial.phase, trial.block, trial.variant.name)
        trials = list(takewhile(lambda each: (each.phase, each.block, each.variant.name) == of_block, rest))
        # The trials of a search are in no plan. Each of them is a boot.
        trials = trials or [trial]
        machine = machines.machine(self._table, trial.variant, self._plan.seed, trial.block)
        return _Running(trials, ExitStack(), machine)

    def _up(self, running: _Running) -> Boot:
        """Boot until just before the first trial; CannotRunHere when a tunable had no effect."""
        variant = running.trials[0].variant
        cpus = running.machine.topology.cpus
        requests = [
            trial_request(
                self._rows[trial.row.key],
                variant,
                trial.row.timeout,
                cpus,
                self._options(trial, cpus),
                self._groups.observed(trial.row),
            )
            for trial in running.trials
        ]
        image = running.machine.image
        if not image.is_unchanged():
            raise CannotRunHere(
                "the kernel image has changed since the run began; the run has ended, its trials are kept",
                where=str(image.path),
                todo="begin a new run; build kernels elsewhere during a run",
            )
        machine = running.machine
        if machines.enters(self._table, image):
            machine = replace(machine, kernel=pvh.written(image, self._scratch))
        if self._table.functions:
            running.symbols = functions.symbols(image, self._base, self._scratch)
            machine = replace(machine, symbols=running.symbols.addresses)
        if self._table.cache:
            model = self._scratch / "machine.toml"
            model.write_text(models.machine(self._table.cache).text)
            machine = replace(machine, cache=model)
        variant, *others = map(self._groups.extended, (variant, *self._plan.variants))
        wanted = settings(variant, image, others)
        facts = files_to_keep(running.machine.command_line)
        hooks = hooks_of(self._plan, variant)
        jobs = contents(
            requests,
            wanted,
            self._pause,
            scheduler_files(variant, image),
            self._table.host_files,
            facts,
            machine.late_cpus,
            hooks,
            [group.name for group in self._groups.tables],
            controllers(self._plan),
        )
        boot = running.stack.enter_context(started(machine, self._base + jobs, self._scratch))
        if self._groups.tables:
            self._check_groups(boot)
        written = content(boot.answer(), AllWritten).written
        files = Files.read(content(boot.answer(), Reading))
        for setting, fault in faults(variant, written):
            if not setting.catalogued.is_documented:
                raise BootFailed(f"{setting.name}: {fault}", "")
            raise CannotRunHere(
                f"variant {variant.name!r}: {fault}; the run has ended, its trials are kept",
                todo="remove the tunable, or use another kernel",
            )
        for remark in remarks(variant, written):
            self._note(f"{UNDOCUMENTED}{remark}")
        self._check_parameters(variant, running.machine, files)
        self._check(running.machine, files, {each.path for each in written if each.name in variant.tunables})
        for step in steps(hooks, "apply", "check"):
            if why := self._hook_fault(boot, step):
                raise BootFailed(why, "")
        return boot

    def _check_parameters(self, variant: Variant, machine: Machine, files: Files) -> None:
        """Raise CannotRunHere if the kernel recognises none of a variant's parameters; note single unknown words.

        Such a variant would be measured as its baseline.
        """
        own_words, command_line = words(variant.cmdline or ""), machine.command_line
        names = Names.of(machine.image) if has_names(command_line) else Names(None)
        unknown, refused = lacking(command_line, names), not_understood(files.text(MESSAGES.lstrip("/")), command_line)
        wrong = [word for word in own_words if word in refused or word in unknown]
        # In this machine's file tree a trial may load modules, which have further parameters.
        if wrong and wrong == own_words and not (machine.host_files and set(wrong) & set(unknown)):
            raise CannotRunHere(
                f"variant {variant.name!r}: the guest's kernel does not understand {' '.join(wrong)}; "
                "the run has ended, its trials are kept",
                where="cmdline",
                todo="see Documentation/admin-guide/kernel-parameters.txt of that kernel, or remove the parameter",
            )
        shown = {**files.below("sys/module"), **files.below("proc/sys")}
        messages = {
            word: (f"the guest's kernel does not recognise {word}, and ignores this parameter") for word in refused
        }
        messages = {**dict(doubts(command_line, shown, names)), **unknown, **messages}
        for word, message in messages.items():
            prefix = f"variant {variant.name!r}: " if word in own_words else ""
            self._note(f"{PARAMETERS}{prefix}{message}")

    def _check(self, machine: Machine, files: Files, written: Collection[str]) -> None:
        """Check that all CPUs are online, unless a tunable puts them offline; note a slow clock source."""
        online = files.text("sys/devices/system/cpu/online").strip()
        limits_cpus = machine.limits_cpus or any(path.endswith(OFFLINE) for path in written)
        if not limits_cpus and (up := len(parse_cpu_list(online))) != machine.topology.cpus:
            raise BootFailed(f"only {up} of the guest's {machine.topology.cpus} CPUs came up", "")
        clock = files.text("sys/devices/system/clocksource/clocksource0/current_clocksource").strip()
        if clock not in STEADY:
            self._note(f"the guest's clock source is {clock!r}: each read of the clock leaves the guest")

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def close(self) -> None:
        """End the running guest."""
        if self._running is not None:
            self._running.stack.close()
            self._running = None

"""Another machine's running kernel as a target, reached by ssh."""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from schedlab.errors import CannotRunHere, TrialFailure
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.experiment.target_table import TargetTable
from schedlab.files import scratch
from schedlab.observe.fingerprint import FILES, take
from schedlab.results.measurement import UNDOCUMENTED, Measurement
from schedlab.targets import groups
from schedlab.targets.boots import kernels
from schedlab.targets.boots.boot import LIMIT, PROGRAM, BootFailed, Boots
from schedlab.targets.boots.control import control
from schedlab.targets.boots.session import BootingSession, boots_kernels
from schedlab.targets.hooks import Hooks
from schedlab.targets.protocol import Download, MissingRequirement, Session, Target
from schedlab.targets.settling import measured_rows, settled
from schedlab.targets.ssh import trials
from schedlab.targets.ssh.agent import CONTINUE, Agent, Lost, Outcome, RemoteFiles
from schedlab.targets.ssh.connection import Address, Connection
from schedlab.targets.ssh.requirements import missing_requirements
from schedlab.targets.trial import PreparedRow, Remarks, kernel_files
from schedlab.tunables import System, deferred_signals
from schedlab.tunables.journal.replies import Described
from schedlab.tunables.journal.values import Values
from schedlab.workloads.preparation import Prepared, prepared
from schedlab.workloads.tools import SCHEDLOAD, find

LOST_SECONDS = 10.0
"""Limit in seconds for a lost agent to put all values back."""

FOLDER = "schedlab-remote-"
"""Prefix of folders on this machine for the files of another machine."""


class Remote(Target):
    """A machine at an address; with ``root`` its tunables are in a tree of files, for tests and demonstrations."""

    virtual = False
    warms = True

    def __init__(
        self, address: str, root: Path = Path("/"), table: TargetTable | None = None, variants: Sequence[Variant] = ()
    ) -> None:
        """Make the target. ``table`` has the keys for boots, ``variants`` the kernels to download."""
        self._table = table
        self._variants = variants
        self._boots_kernels = boots_kernels(variants)
        self._address = Address.parse(address)
        self.name = f"ssh:{self._address}"
        self.kind = "real" if root == Path("/") else "real, tunables in a tree of files"
        self._root = root.absolute()
        self._connection: Connection | None = None
        self._agent: Agent | None = None
        atexit.register(self.close)

    def missing_requirements(self, plan: Plan) -> Sequence[MissingRequirement]:
        """See :mod:`schedlab.targets.ssh.requirements`. CannotRunHere when the machine cannot be reached."""
        agent = self.reached()
        missing = list(missing_requirements(plan, agent, self.system(agent)))
        if self._boots_kernels:
            with self._boots() as boots:
                missing += kernels.missing_requirements(plan, boots)
        return missing

    def downloads(self) -> Sequence[Download]:
        """See :func:`schedlab.targets.boots.kernels.downloads`."""
        return kernels.downloads(self._variants)

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """Return the differences. A session that boots notes the differences of each boot instead."""
        return () if self._boots_kernels else super().changes(fingerprint)

    def fingerprint(self) -> Mapping[str, Any]:
        """See :mod:`schedlab.observe.fingerprint`; ``tools`` has schedload, which comes from here.

        A machine that an interrupted run left under test returns to its default kernel first.
        """
        if self._boots_kernels:
            with self._boots() as boots:
                restarted = boots.restore()
            if restarted:
                self.close()
        return self._fingerprint()

    def _fingerprint(self) -> Mapping[str, Any]:
        agent = self.reached()
        files, facts = agent.files(FILES), agent.facts
        with scratch.locked_folder(FOLDER) as folder, agent.fitting(), kernel_files():
            files.write(folder)
            taken = take(folder)
            taken["kernel"] |= {"machine": facts.machine}
        return taken | {
            "tools": {"schedload": facts.version},
            "root": None,
            "tunables": str(self._root),
        }

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[Session]:
        """Begin a run, on the running kernel or on a kernel for each variant. The exit leaves the machine as it was."""
        self.leftovers = ()
        try:
            if not self._boots_kernels:
                with self._on_kernel(plan, run_id) as session:
                    yield session
            else:
                with self._on_kernels(plan, run_id) as booting:
                    yield booting
        finally:
            self.close()

    @contextmanager
    def _on_kernels(self, plan: Plan, run_id: int) -> Iterator[BootingSession]:
        """Boot the kernels of the variants; the exit returns the machine to its default kernel."""
        self._end_agent()
        with self._boots() as boots:
            try:
                boots.begin()
                booting = BootingSession(plan, boots, lambda: self._booted(plan, run_id))
                try:
                    yield booting
                finally:
                    with deferred_signals():
                        self._end(booting, boots)
            except BootFailed as error:
                raise CannotRunHere(error.reason, where=self.name, todo=CONTINUE) from error

    def _end(self, booting: BootingSession, boots: Boots) -> None:
        """End the session, and return the machine to its default kernel; a failure is a leftover."""
        try:
            booting.close()
            self._end_agent()
        finally:
            try:
                boots.end()
            except CannotRunHere as error:
                self.leftovers = [*self.leftovers, str(error)]

    @contextmanager
    def _booted(self, plan: Plan, run_id: int) -> Iterator[tuple[Session, Mapping[str, Any]]]:
        """Open a session on the running kernel, with the machine's fingerprint."""
        with self._on_kernel(plan, run_id) as session:
            yield session, self._fingerprint()

    @contextmanager
    def _boots(self) -> Iterator[Boots]:
        table = self._table or TargetTable(kind="ssh", host=str(self._address))
        if (program := find(SCHEDLOAD)) is None:
            raise CannotRunHere("schedload is missing", todo=SCHEDLOAD.package)
        with control(table.power, table.console) as commands:
            yield Boots(
                self.connected(),
                self.name,
                program.read_bytes(),
                limit=table.boot_limit or LIMIT,
                method=table.boot_method or "kexec",
                command=table.boot_command,
                control=commands,
            )

    @contextmanager
    def _on_kernel(self, plan: Plan, run_id: int) -> Iterator[Session]:
        """Lock the machine and start the lease; the exit undoes everything and ends the agent."""
        agent = self.reached()
        try:
            self.leftovers = [*self.leftovers, *_leftovers(agent.begin(f"run-{run_id}"))]
            hooks = Hooks(agent, plan)
            cpus = agent.facts.cpus
            rows = {row.key: PreparedRow.of(row) for row in measured_rows(plan, cpus)}
            system = self.system(agent)
            with (
                ExitStack() as stack,
                system.debugfs() if any(variant.tunables for variant in plan.variants) else nullcontext(),
            ):
                stack.enter_context(agent.fitting())
                # In memory, because files are written at each trial.
                observer = trials.Observer(stack.enter_context(scratch.locked_folder(FOLDER)))
                ready = stack.enter_context(prepared(agent, rows))
                placed = groups.placed(plan, agent, system)
                session = RemoteSession(agent, system, rows, ready, plan.variants, observer, hooks, placed)
                yield settled(session, plan, lambda paths: agent.read(paths)[0], cpus)
        finally:
            try:
                self.leftovers = [*self.leftovers, *_leftovers(agent.end())]
            except Lost as error:
                self.leftovers = [*self.leftovers, *self._left_by(agent, error)]
            finally:
                self._end_agent()

    def _left_by(self, lost: Agent, error: Lost) -> list[str]:
        """Undo, by another agent, what a lost agent has left; return what is not undone, or not known."""
        unknown = [f"not known for all values: {error.what}"]
        if self._boots_kernels:
            return unknown  # the machine may be restarting
        try:
            agent = self.reached()
            outcomes = agent.recover()
            deadline = time.monotonic() + LOST_SECONDS + lost.undo_seconds
            while (left := _journals_of(lost, agent)) and any(journal.live for journal in left):
                if time.monotonic() > deadline:
                    break
                time.sleep(0.1)
                outcomes += agent.recover()
        except CannotRunHere:
            return unknown
        text = f"the run's values: process {lost.facts.pid} there does not answer, and has not put them back"
        return [*_leftovers(outcomes), *(text for journal in left if journal.live)]

    def close(self) -> None:
        """End the agent and the connection; both begin anew when they are needed again."""
        self._end_agent()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _end_agent(self) -> None:
        if self._agent is not None:
            self._agent.close()
            self._agent = None

    def connected(self) -> Connection:
        """Return the connection; open it if there is none."""
        if self._connection is None:
            self._connection = Connection(self._address)
        return self._connection

    def reached(self) -> Agent:
        """Return the running agent; start one if there is none."""
        if self._agent is not None and not self._agent.alive:
            self.close()
        if self._agent is None:
            # A machine that boots kernels has the program for the boots.
            program = PROGRAM if self._boots_kernels else None
            self._agent = Agent(self.connected(), self._root, program)
        return self._agent

    def system(self, agent: Agent) -> System:
        """Return the machine with its tunables, as the agent shows it."""
        return System(self._root, agent.facts.uid, RemoteFiles(agent))


def _journals_of(lost: Agent, agent: Agent) -> list[Described]:
    """Return the journals that a lost agent has left on its machine, according to another agent."""
    return [each for each in agent.journals() if each.opened is not None and each.opened.pid == lost.facts.pid]


def _leftovers(outcomes: Sequence[Outcome]) -> list[str]:
    return [str(outcome) for outcome in outcomes if outcome.is_leftover]


class RemoteSession:
    """Session that runs trials on another machine; see :class:`schedlab.targets.protocol.Session`."""

    def __init__(
        self,
        agent: Agent,
        system: System,
        rows: Mapping[tuple[str, str], PreparedRow],
        ready: Prepared[tuple[str, str]],
        variants: Sequence[Variant],
        observer: trials.Observer,
        hooks: Hooks,
        placed: groups.Groups,
    ) -> None:
        self._agent = agent
        self._hooks = hooks
        self._observer = observer
        self._rows = rows
        self._ready = ready
        self._values = Values(agent, system)
        self._groups = placed
        self._values.watch(placed.every_state(variants), rehearse=not boots_kernels(variants))
        self._remarks = Remarks(variant.name for variant in variants)
        self._samples = [trials.FREQUENCIES] if agent.read([trials.FREQUENCIES])[0] else []

    @property
    def notes(self) -> Sequence[str]:
        """Counters that are missing and how to enable them, undocumented knobs, and the output of hooks."""
        knobs = (f"{UNDOCUMENTED}{each}" for each in self._values.remarks)
        return [*self._remarks.texts, *knobs, *self._hooks.outputs.notes]

    def put_in_place(self, variant: Variant) -> None:
        """Write the variant's tunables, restore the others, and apply the variant's hook.

        Each launch applies the variant's attributes.
        """
        self._hooks.leave(variant)
        if left := self._values.put(self._groups.wanted(variant)).left:
            # Another process changed the value: later baselines would differ from earlier baselines.
            raise CannotRunHere(
                f"{left[0].text}; the run has ended, its trials are kept", where=self._agent.where, todo=CONTINUE
            )
        self._hooks.enter(variant)

    def run(self, trial: Trial) -> Measurement:
        """Run a trial; a failure, a timeout or unreadable output is a measurement with its reason."""
        row = self._rows[trial.row.key]
        try:
            command, *loads = (self._ready.command(each.key) for each in (trial.row, *trial.row.beside))
        except TrialFailure as failure:
            return Measurement("failed", time.time(), 0.0, reason=f"not started: {failure}")
        measured, remarks = trials.run(
            self._agent, row, command, loads, trial, self._samples, self._observer, self._groups
        )
        self._remarks.add(trial.variant.name, remarks)
        return self._hooks.checked(measured)

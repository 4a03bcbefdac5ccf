"""The journal of a live run: the journal records every change of a tunable, and closing the journal undoes the
changes."""

from __future__ import annotations

import atexit
import errno
import os
import re
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal

from schedlab.files import processes
from schedlab.tunables.availability import Available, Refused, Resolution
from schedlab.tunables.codecs import codec
from schedlab.tunables.errors import (
    BadValue,
    ChangedMeanwhile,
    JournalError,
    NotTaken,
    TunableError,
    Unavailable,
    WriteFailed,
)
from schedlab.tunables.setting import Setting, setting
from schedlab.tunables.signals import deferred_signals
from schedlab.tunables.system import System

from . import resources
from .journal_file import (
    FORMAT,
    Back,
    Done,
    Gone,
    JournalFile,
    Made,
    Opened,
    Record,
    Released,
    Write,
)
from .resources import NotRemoved, Removed
from .undo import Change, Histories, History, LeftAlone, Outcome, Slot, Verdict, is_open, judge, retire, undo

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True)
class _Step:
    """A planned write."""

    name: str
    path: Path
    codec: str
    original: str
    old: str
    new: str


@dataclass
class _Commit:
    """The numbered writes of one move between states: the recorded writes and the completed writes."""

    recorded: list[tuple[int, _Step]] = field(default_factory=list)
    made: list[tuple[int, _Step]] = field(default_factory=list)


class Journal:
    """Journal of one run: sets tunables and restores their values, records other resources of the run and removes
    leftovers.

    A context manager: at the end of the block, whichever way it ends, every change is undone and the file removed. One
    thread may use it, for one `System`.
    """

    def __init__(self, directory: Path, run_id: str, system: System) -> None:
        """Prefer `Journal.open`."""
        if _RUN_ID.fullmatch(run_id) is None:
            raise JournalError(f"{run_id!r} cannot name a journal: letters, digits, '.', '_', '+' and '-' only")
        self.directory = directory
        self.run_id = run_id
        self.left_alone: list[LeftAlone] = []
        """Values that another process changed before their variant ended; these values are not written again."""
        self._system = system
        self._file: JournalFile | None = None
        self._histories = Histories()
        self._resources: list[Record] = []
        self._writes = 0
        self._debugfs = ExitStack()
        self._pid = os.getpid()
        atexit.register(self._at_exit)

    @classmethod
    def open(cls, directory: Path, run_id: str, system: System) -> Journal:
        """Open a journal in `directory` for a run that changes `system`; JournalError when `run_id` is not a file name.

        The file is created with the first write: a run that changes nothing needs no folder and leaves no file.
        """
        return cls(directory, run_id, system)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> Path | None:
        """The journal's file, or None before the first write."""
        return self._file.path if self._file else None

    def apply(self, values: Mapping[str, object]) -> list[Change]:
        """Set tunables, keep those that were set before, and return the writes that were needed.

        Args: settings, or values of an experiment file, by name. All tunables are set, or no tunable: when a tunable
        cannot be set, the earlier writes are undone and a TunableError names the tunable (UnknownTunable, BadValue,
        Unavailable, WriteFailed, NotTaken, ChangedMeanwhile, JournalError).
        """
        return self._move(values, keep=True)

    def put(self, wanted: Mapping[str, object]) -> list[Change]:
        """Give the system its original values except for `wanted`, and return the writes that were needed.

        From one variant to the next, only the differences are written; `put({})` ends the last variant. Without a
        difference there is no write and no fsync. Errors as for `apply`; after an error the state is as before
        the call.
        """
        return self._move(wanted, keep=False)

    def restore(self) -> list[Outcome]:
        """Restore every value that only this run changed, in reverse order. Signals are deferred until the end."""
        if self._file is None:
            return []
        with deferred_signals():
            self._mount_if_needed(self._histories.all())
            return undo(self._histories.all(), self._system.files, self._release)

    def close(self) -> list[Outcome]:
        """Restore, then remove the journal's file, see `retire`. A second call has no effect.

        The file is not archived, because the store records the values that a run had set.
        """
        if os.getpid() != self._pid:
            return []  # a forked child: the values are its parent's to undo
        with deferred_signals():
            outcomes = [*self.restore(), *(self._removed(resource) for resource in resources.left(self._resources))]
            file, self._file = self._file, None
            if file is not None:
                if not is_open(outcomes):
                    with suppress(OSError):
                        file.append([], durable=False, closed=True)
                retire(file.path, [*outcomes, *self.left_alone])
                file.close()
            self._debugfs.close()
            atexit.unregister(self._at_exit)
        return outcomes

    def made(self, what: str, name: str) -> None:
        """Record, on disk, that the run is about to make a resource (see `resources`); JournalError.

        `close` removes the resource unless `gone` was called. After a kill, the next `recover` removes it.
        """
        file, record = self._created_file(), Made(what, name)
        try:
            file.append([record], durable=True)
        except OSError as error:
            raise JournalError(f"cannot write {file.path}: {error.strerror}; nothing was made") from error
        self._resources.append(record)

    def gone(self, what: str, name: str) -> None:
        """Record that the run has removed the resource."""
        self._note(Gone(what, name))

    def _removed(self, resource: Made) -> Removed | NotRemoved:
        outcome = resources.remove(resource)
        if isinstance(outcome, Removed):
            self.gone(resource.what, resource.name)
        return outcome

    # -- moving from one state to another ------------------------------------------------------------------

    def _move(self, wanted: Mapping[str, object], *, keep: bool) -> list[Change]:
        goals = _goals(wanted)
        with deferred_signals():
            first, later, slots = self._plan(goals)
            returns = [] if keep else self._returns(slots)
            commit = _Commit()
            try:
                self._commit(returns + first, commit)
                if later:
                    # These files appeared only with the first writes, so their writes cannot be planned earlier.
                    self._commit(self._plan(later)[0], commit)
            except TunableError:
                self._take_back(commit)
                raise
        return [Change(step.name, step.path, step.old, step.new) for _, step in commit.made]

    def _plan(self, goals: list[Setting]) -> tuple[list[_Step], list[Setting], set[Slot]]:
        """Return the writes for the goals, the goals whose files appear only after other writes, and all slots."""
        names = {goal.name for goal in goals}
        steps: list[_Step] = []
        later: list[Setting] = []
        slots: set[Slot] = set()
        for goal in goals:
            here = self._resolve(goal)
            if not isinstance(here, Available):
                if goal.catalogued.enabled_by not in names:
                    raise Unavailable(goal.name, here, here.why)
                later.append(goal)
                continue
            self._system.accept(goal, here)
            for path, current in zip(here.paths, here.values, strict=True):
                slot = (str(path), here.place.codec)
                if slot in slots:
                    raise TunableError(f"{goal.name}: {path} is set twice, under two names")
                slots.add(slot)
                self._check_untouched(goal.name, slot, current)
                if current != goal.text:
                    history = self._histories.get(slot)
                    original = current if history is None else history.original
                    steps.append(_Step(goal.name, path, here.place.codec, original, current, goal.text))
        return steps, later, slots

    def _resolve(self, goal: Setting) -> Resolution:
        here = self._system.resolve(goal.catalogued)
        if isinstance(here, Refused) and here.unmounted and self._system.real and self._system.is_root:
            self._debugfs.enter_context(self._system.debugfs())
            here = self._system.resolve(goal.catalogued)
        return here

    def _check_untouched(self, name: str, slot: Slot, current: str) -> None:
        history = self._histories.get(slot)
        if history is not None and codec(history.codec).steady and current not in history.possible:
            raise ChangedMeanwhile(name, history.path, history.ours, current)

    def _returns(self, slots: set[Slot]) -> list[_Step]:
        """Return the writes that restore the values that the next variant does not set, last first."""
        steps = []
        for history in reversed(self._histories.all()):
            if (str(history.path), history.codec) in slots:
                continue
            try:
                current = codec(history.codec).decode(self._system.files.read(history.path))
            except OSError as error:
                raise WriteFailed(history.name, history.path, history.original, error) from error
            verdict = judge(history, current)
            if verdict is Verdict.PUT_BACK and current is not None:
                original = history.original
                steps.append(_Step(history.name, history.path, history.codec, original, current, original))
            elif verdict is Verdict.FOREIGN:
                reason = f"another process changed the value from {history.ours}"
                self.left_alone.append(LeftAlone(history.name, history.path, history.original, current, reason))
                self._release(history, "left")
        return steps

    # -- writing -------------------------------------------------------------------------------------------

    def _commit(self, steps: list[_Step], commit: _Commit) -> None:
        """Record all steps, make the records durable, then write each value and read it back."""
        if not steps:
            return
        file = self._created_file()
        numbered = [(self._writes + i, step) for i, step in enumerate(steps, 1)]
        now = time.time()
        records = [Write(n, s.name, str(s.path), s.codec, s.original, s.old, s.new, now) for n, s in numbered]
        try:
            file.append(list(records), durable=True)
        except OSError as error:
            raise JournalError(f"cannot write {file.path}: {error.strerror}; nothing was changed") from error
        self._writes += len(records)
        for record in records:
            self._histories.add(record)
        commit.recorded += numbered
        waiting = numbered
        while waiting:
            waiting = self._one_pass(waiting, commit)
        self._note(Done(tuple(number for number, _ in numbered)))

    def _one_pass(self, waiting: list[tuple[int, _Step]], commit: _Commit) -> list[tuple[int, _Step]]:
        """Make the writes. Return the writes that the kernel refused as invalid, to be tried again after the other
        writes.

        Two tunables may bound each other (a runtime and its period). Then only one order of writes is valid.
        """
        again: list[tuple[int, _Step]] = []
        for number, step in waiting:
            format_ = codec(step.codec)
            try:
                self._system.files.write(step.path, format_.encode(step.new), format_)
            except OSError as error:
                again.append((number, step))
                if error.errno != errno.EINVAL or len(again) == len(waiting):
                    raise WriteFailed(step.name, step.path, step.new, error) from error
            else:
                commit.made.append((number, step))
                self._verify(step)
        return again

    def _verify(self, step: _Step) -> None:
        format_ = codec(step.codec)
        try:
            current = format_.decode(self._system.files.read(step.path))
        except OSError as error:
            raise WriteFailed(step.name, step.path, step.new, error) from error
        if format_.steady and current != step.new:
            raise NotTaken(step.name, step.path, step.new, current)

    def _take_back(self, commit: _Commit) -> None:
        """Undo the writes of a move that failed. `close` tries again to undo writes that cannot be undone now."""
        untouched = [number for number, step in commit.recorded if (number, step) not in commit.made]
        if untouched:
            self._note(Back(tuple(untouched)))
        for number, step in reversed(commit.made):
            format_ = codec(step.codec)
            try:
                self._system.files.write(step.path, format_.encode(step.old), format_)
            except OSError:
                continue
            self._note(Back((number,)))

    def _note(self, record: Done | Back | Released | Gone) -> None:
        """Append without fsync: if the record is lost, reading the kernel file gives the same information."""
        if self._file is not None:
            with suppress(OSError):
                self._file.append([record], durable=False)
        if isinstance(record, Gone):
            self._resources.append(record)
        else:
            self._histories.add(record)

    def _release(self, history: History, how: Literal["restored", "left"]) -> None:
        self._note(Released((history.last.n,), how))

    def _created_file(self) -> JournalFile:
        if self._file is None:
            self._file = JournalFile(
                self.directory,
                Opened(
                    FORMAT,
                    self.run_id,
                    str(self._system.root),
                    self._pid,
                    processes.start_of(self._pid) or 0,
                    processes.namespace(),
                    self._system.boot_id,
                    self._system.host,
                    time.time(),
                ),
            )
        return self._file

    def _mount_if_needed(self, histories: list[History]) -> None:
        if histories and self._system.debugfs_root is None and any(h.in_debugfs for h in histories):
            self._debugfs.enter_context(self._system.debugfs())

    def _at_exit(self) -> None:
        self.close()


def _goals(wanted: Mapping[str, object]) -> list[Setting]:
    goals: dict[str, Setting] = {}
    for name, value in wanted.items():
        goal = setting(name, value)
        if goal.name in goals:
            raise BadValue(goal.name, value, f"is given a second time, as {name}", "one value")
        goals[goal.name] = goal
    return list(goals.values())

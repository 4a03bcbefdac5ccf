"""The journal of a run: every change of a tunable goes through it, and is undone when it is closed."""

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
from schedlab.tunables.outcomes import Change, Failed, LeftAlone, Outcome
from schedlab.tunables.setting import Setting, setting
from schedlab.tunables.signals import deferred_signals
from schedlab.tunables.system import System

from . import log
from .history import Histories, History, Slot, Verdict, judge
from .processes import namespace, start_of
from .records import FORMAT, Back, Done, Opened, Released, Write
from .undo import undo

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True)
class _Step:
    """One write to be made."""

    name: str
    path: Path
    codec: str
    old: str
    new: str


@dataclass
class _Commit:
    """Writes of one move between states, by number: those on record, and those of them that were begun."""

    recorded: list[tuple[int, _Step]] = field(default_factory=list)
    made: list[tuple[int, _Step]] = field(default_factory=list)


class Journal:
    """Writes tunables for one run, and puts them back.

    A context manager: on leaving the block, in whatever way, everything is undone and the file removed. Not to be
    used from several threads, and bound to one `System`.
    """

    def __init__(self, directory: Path, run_id: str, system: System) -> None:
        """Prefer `Journal.open`."""
        if _RUN_ID.fullmatch(run_id) is None:
            raise JournalError(f"{run_id!r} cannot name a journal: letters, digits, '.', '_', '+' and '-' only")
        self.directory = directory
        self.run_id = run_id
        self.left_alone: list[LeftAlone] = []
        """Values found changed by somebody else when a variant was left; they are not touched again."""
        self._system = system
        self._log: log.Log | None = None
        self._histories = Histories()
        self._writes = 0
        self._debugfs = ExitStack()
        self._pid = os.getpid()
        atexit.register(self._at_exit)

    @classmethod
    def open(cls, directory: Path, run_id: str, system: System) -> Journal:
        """A journal in `directory` for a run that changes `system`; JournalError when `run_id` is no file name.

        The file appears with the first write: a run that changes nothing needs no directory and leaves nothing.
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
        """The journal's file, or None while nothing was written."""
        return self._log.path if self._log else None

    def apply(self, values: Mapping[str, object]) -> list[Change]:
        """Set tunables, leaving as they are those set before; gives the writes that were needed.

        In: settings, or values as an experiment file has them, by name. All or nothing: when one cannot be set, those
        before it are taken back and a TunableError says which it was (UnknownTunable, BadValue, Unavailable,
        WriteFailed, NotTaken, ChangedMeanwhile, JournalError).
        """
        return self._move(values, keep=True)

    def put(self, wanted: Mapping[str, object]) -> list[Change]:
        """Bring the system to its original values with `wanted` over them; gives the writes that were needed.

        So `put` of one variant after another writes the differences only, and `put({})` ends the last. No
        difference costs no write and no fsync. Errors and all-or-nothing as in `apply`, back to the state before
        this call.
        """
        return self._move(wanted, keep=False)

    def restore(self) -> list[Outcome]:
        """Put every value back that is still this run's, in reverse order; an interrupt waits until it is done."""
        if self._log is None:
            return []
        with deferred_signals():
            self._mount_if_needed(self._histories.all())
            return undo(self._histories.all(), self._system.files, self._release)

    def close(self) -> list[Outcome]:
        """Restore, then remove the journal's file. Doing it again is harmless.

        The file is removed and not archived: all it is for is undoing, and what a run had set is in its store. It
        stays only with values that could not be put back, for the next start to try, and it moves to
        `left-alone/` when it names values that somebody else changed.
        """
        if os.getpid() != self._pid:
            return []  # a forked child: the values are its parent's to undo
        with deferred_signals():
            outcomes = self.restore()
            file, self._log = self._log, None
            if file is not None:
                if any(isinstance(outcome, Failed) for outcome in outcomes):
                    pass
                elif self.left_alone or any(isinstance(outcome, LeftAlone) for outcome in outcomes):
                    log.set_aside(file.path)
                else:
                    log.remove(file.path)
                file.close()
            self._debugfs.close()
            atexit.unregister(self._at_exit)
        return outcomes

    def abandon(self) -> None:
        """Forget everything without undoing, as a SIGKILL would: the next `recover` undoes it. For tests."""
        if self._log is not None:
            self._log.close()
        self._log = None
        self._histories = Histories()
        atexit.unregister(self._at_exit)

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
                    # What another tunable of this variant makes appear can be looked at only now.
                    self._commit(self._plan(later)[0], commit)
            except TunableError:
                self._take_back(commit)
                raise
        return [Change(step.name, step.path, step.old, step.new) for _, step in commit.made]

    def _plan(self, goals: list[Setting]) -> tuple[list[_Step], list[Setting], set[Slot]]:
        """Writes that the goals need, goals that another one must first make possible, and every goal's slots."""
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
                    steps.append(_Step(goal.name, path, here.place.codec, current, goal.text))
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
        """Writes that bring values which the next variant does not want back to their originals, last first."""
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
                steps.append(_Step(history.name, history.path, history.codec, current, history.original))
            elif verdict is Verdict.FOREIGN:
                reason = f"somebody else changed it from {history.ours}"
                self.left_alone.append(LeftAlone(history.name, history.path, history.original, current, reason))
                self._release(history, "left")
        return steps

    # -- writing -------------------------------------------------------------------------------------------

    def _commit(self, steps: list[_Step], commit: _Commit) -> None:
        """Record all steps, make the records durable, then write each and read it back."""
        if not steps:
            return
        file = self._file()
        numbered = [(self._writes + i, step) for i, step in enumerate(steps, 1)]
        now = time.time()
        records = [Write(n, s.name, str(s.path), s.codec, s.old, s.new, now) for n, s in numbered]
        try:
            file.append(list(records), durable=True)
        except OSError as error:
            raise JournalError(f"cannot write {file.path}: {error.strerror}; nothing was changed") from error
        self._writes += len(records)
        for record in records:
            self._histories.take(record)
        commit.recorded += numbered
        waiting = numbered
        while waiting:
            waiting = self._one_pass(waiting, commit)
        self._note(Done(tuple(number for number, _ in numbered)))

    def _one_pass(self, waiting: list[tuple[int, _Step]], commit: _Commit) -> list[tuple[int, _Step]]:
        """Make the writes; gives those the kernel called invalid, to be tried again after the others.

        Two tunables may bound each other (a runtime and its period), and then only one order of writing is valid.
        """
        again: list[tuple[int, _Step]] = []
        for number, step in waiting:
            how = codec(step.codec)
            try:
                self._system.files.write(step.path, how.encode(step.new), how)
            except OSError as error:
                again.append((number, step))
                if error.errno != errno.EINVAL or len(again) == len(waiting):
                    raise WriteFailed(step.name, step.path, step.new, error) from error
            else:
                commit.made.append((number, step))
                self._verify(step)
        return again

    def _verify(self, step: _Step) -> None:
        how = codec(step.codec)
        try:
            found = how.decode(self._system.files.read(step.path))
        except OSError as error:
            raise WriteFailed(step.name, step.path, step.new, error) from error
        if how.steady and found != step.new:
            raise NotTaken(step.name, step.path, step.new, found)

    def _take_back(self, commit: _Commit) -> None:
        """Undo the writes of a step that failed; what cannot be undone now is left for `close`."""
        untouched = [number for number, step in commit.recorded if (number, step) not in commit.made]
        if untouched:
            self._note(Back(tuple(untouched)))
        for number, step in reversed(commit.made):
            how = codec(step.codec)
            try:
                self._system.files.write(step.path, how.encode(step.old), how)
            except OSError:
                continue
            self._note(Back((number,)))

    def _note(self, record: Done | Back | Released) -> None:
        """Append without fsync: should the record be lost, the file it is about tells the same."""
        if self._log is not None:
            with suppress(OSError):
                self._log.append([record], durable=False)
        self._histories.take(record)

    def _release(self, history: History, how: Literal["restored", "left"]) -> None:
        self._note(Released((history.last.n,), how))

    def _file(self) -> log.Log:
        if self._log is None:
            self._log = log.Log(
                self.directory,
                Opened(
                    FORMAT,
                    self.run_id,
                    str(self._system.root),
                    self._pid,
                    start_of(self._pid) or 0,
                    namespace(),
                    self._system.boot_id,
                    self._system.host,
                    time.time(),
                ),
            )
        return self._log

    def _mount_if_needed(self, histories: list[History]) -> None:
        if histories and self._system.debugfs_root is None and any(_in_debugfs(h.path) for h in histories):
            self._debugfs.enter_context(self._system.debugfs())

    def _at_exit(self) -> None:
        self.close()


def _in_debugfs(path: Path) -> bool:
    return path.is_relative_to("/sys/kernel/debug")


def _goals(wanted: Mapping[str, object]) -> list[Setting]:
    goals: dict[str, Setting] = {}
    for name, value in wanted.items():
        goal = setting(name, value)
        if goal.name in goals:
            raise BadValue(goal.name, value, f"is given a second time, as {name}", "one value")
        goals[goal.name] = goal
    return list(goals.values())

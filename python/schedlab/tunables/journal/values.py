"""Values of tunables, put in place by an agent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from schedlab.tunables.availability import Available, Resolution, by_hook
from schedlab.tunables.codecs import Codec, codec
from schedlab.tunables.errors import BadValue, TunableError, Unavailable
from schedlab.tunables.journal.client import Client, Refusal
from schedlab.tunables.journal.replies import Put
from schedlab.tunables.setting import Setting, setting
from schedlab.tunables.system import System
from schedlab.tunables.terms import Kind


def undocumented(goal: Setting, path: str, value: str, before: str = "") -> str:
    """Return the note on a knob that no catalogue describes: its file, and the ``value`` that was read back."""
    return f"{goal.name}: {path} contained {before}{value} when set to {goal.text}"


Change = dict[str, Any]
"""A value of a file, as the agent's protocol has it."""


class Values:
    """The values of one system, changed by one agent."""

    def __init__(self, agent: Client, system: System) -> None:
        self._agent = agent
        self._system = system
        self._changes: dict[tuple[Setting, ...], list[Change]] = {}
        self._originals: dict[tuple[str, str], dict[str, object]] = {}
        self._formats: dict[str, str] = {}
        self.remarks: list[str] = []
        """What the files of undocumented knobs contained before the run, and contain under each value that was set."""
        self._now: list[Change] = []

    def watch(self, variants: Iterable[Mapping[str, object]], *, rehearse: bool = True) -> None:
        """Read the original values of everything that the variants of a run set, before the run's first change.

        From now on the agent reports a change that another process makes, also to a value that the variant in place
        does not set. A tunable that appears only with another tunable is watched from its first change on.

        The values of knobs that the catalogue lacks, and of control groups, are put in place and back once: what the
        kernel does not take, or does not take back, is refused before the first trial. ``rehearse`` is False where
        variants need other kernels.

        Raises:
            Refusal: another process has changed a value meanwhile, or a knob cannot be restored.
            BadValue: a value does not have the form of its file.
        """
        wanted = list(map(_goals, variants))
        goals = dict.fromkeys(goal for each in wanted for goal in each)
        files: dict[tuple[str, str], dict[str, object]] = {}
        for goal in goals:
            if isinstance(here := self._resolve(goal), Available):
                files |= self._files(goal, here)
        if files:
            self._agent.watch(list(files.values()))
        unknown = {goal.name for goal in goals if goal.catalogued.is_rehearsed}
        if rehearse and (knobs := [file for file in files.values() if file["name"] in unknown]):
            self._rehearse(knobs, wanted)

    def _rehearse(self, files: list[dict[str, object]], variants: Iterable[tuple[Setting, ...]]) -> None:
        try:
            self._agent.rehearse(files)
            for goals in variants:
                changes, _ = self._resolved(goal for goal in goals if goal.catalogued.is_rehearsed)
                self._send(changes)
            self._send([])
        except Refusal as error:
            if error.kind == "refused":
                paths = (str(file["path"]) for file in files)
                error.todo = by_hook(next((path for path in paths if path in error.what), "FILE"))
            raise

    def put(self, wanted: Mapping[str, object]) -> Put:
        """Give the system its original values except for ``wanted``: settings or texts, by name.

        From one variant to the next, only the differences are written. Return the number of ``writes``, and the values
        that were ``left`` because another process has changed them. After an error the state is as before the call.

        Raises:
            TunableError: UnknownTunable, BadValue, or Unavailable for a tunable that the machine lacks.
            Refusal: the agent cannot write, or another process has changed a value.
        """
        goals = _goals(wanted)
        changes = self._changes.get(goals)
        if changes is not None:
            return self._send(changes)
        done = self._put_first(goals)
        self.remarks += [self._remark(goal) for goal in goals if not goal.catalogued.is_documented]
        self.remarks = list(dict.fromkeys(self.remarks))
        return done

    def _put_first(self, goals: tuple[Setting, ...]) -> Put:
        changes, later = self._resolved(goals)
        names = {goal.name for goal in goals}
        for goal in later:
            if goal.catalogued.enabled_by not in names:
                raise self._unavailable(goal)
        if not later:
            self._changes[goals] = changes
            return self._send(changes)
        # These files appear only with the first writes.
        before = self._now
        self._send(changes)
        try:
            more, missing = self._resolved(later)
            for goal in missing:
                raise self._unavailable(goal)
            return self._send([*changes, *more])
        except TunableError:
            self._send(before)
            raise

    def _send(self, changes: list[Change]) -> Put:
        done = self._agent.put(changes)
        self._now = changes
        return done

    def _resolved(self, goals: Iterable[Setting]) -> tuple[list[Change], list[Setting]]:
        """Return the changes for these goals, and the goals that the machine lacks now."""
        changes: dict[tuple[str, str], Change] = {}
        later: list[Setting] = []
        for goal in goals:
            here = self._resolve(goal)
            if not isinstance(here, Available):
                later.append(goal)
                continue
            new = _value(codec(here.place.codec), self._system.accept(goal, here))
            for slot, file in self._files(goal, here).items():
                if slot in changes:
                    raise TunableError(f"{goal.name}: {slot[0]} is set twice, under two names")
                changes[slot] = file | {"new": new}
        return list(changes.values()), later

    def _resolve(self, goal: Setting) -> Resolution:
        """Return the availability of a tunable. A knob keeps the format that its first text has: `3` is a number, and
        may later be the list of bits `f`."""
        here = self._system.resolve(goal.catalogued)
        if not isinstance(here, Available) or goal.catalogued.kind is not Kind.KNOB:
            return here
        name = self._formats.setdefault(goal.name, here.place.codec)
        return replace(here, place=here.place.model_copy(update={"codec": name}))

    def _files(self, goal: Setting, here: Available) -> dict[tuple[str, str], dict[str, object]]:
        """Return the tunable's files with their original values, by path and codec: features share a path, and the
        codec names the feature."""
        form = codec(here.place.codec)
        slots = [(os.path.abspath(file), here.place.codec) for file in here.paths]
        return {
            slot: {
                "name": goal.name,
                "path": slot[0],
                "form": form.form,
                "steady": form.steady,
                "original": self._originals.setdefault(slot, _value(form, current)),
            }
            for slot, current in zip(slots, here.values, strict=True)
        }

    def _remark(self, goal: Setting) -> str:
        here = self._resolve(goal)
        assert isinstance(here, Available)
        originals = [self._originals[slot] for slot in self._files(goal, here)]
        before = {str(original["write"]) for original in originals}
        return undocumented(goal, here.place.text, here.current, f"{' or '.join(sorted(before))} before the run, and ")

    def _unavailable(self, goal: Setting) -> Unavailable:
        here = self._system.resolve(goal.catalogued)
        return Unavailable(goal.name, here, here.why)


def _value(form: Codec, canonical: str) -> dict[str, object]:
    return {"write": form.encode(canonical), "shown": list(form.shown(canonical))}


def _goals(wanted: Mapping[str, object]) -> tuple[Setting, ...]:
    goals: dict[str, Setting] = {}
    for name, value in wanted.items():
        goal = setting(name, value)
        if goal.name in goals:
            raise BadValue(goal.name, value, f"is given a second time, as {name}", "one value")
        goals[goal.name] = goal
    return tuple(goals.values())

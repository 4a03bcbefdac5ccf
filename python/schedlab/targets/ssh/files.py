"""The files of another machine, for the code that looks for tunables and reads them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from schedlab.experiment.model import Variant
from schedlab.targets.ssh.agent import Agent, Refusal
from schedlab.tunables import Available, Setting, System, Unavailable
from schedlab.tunables.codecs import Codec, codec
from schedlab.tunables.kernel_files import fixed_part


class RemoteFiles:
    """Files that an agent reads. Only a run's session writes tunables, through the agent's journal."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def read(self, path: Path) -> str:
        return self.read_bytes(path).decode(errors="replace")

    def read_bytes(self, path: Path) -> bytes:
        files, errors = self._agent.read([str(path)])
        _raise(errors)
        return files[str(path)]

    def write(self, path: Path, text: str, codec: Codec) -> None:
        raise OSError(errno.EPERM, "only the agent writes", str(path))

    def check_writable(self, path: Path) -> None:
        _raise(self._agent.ask("writable", paths=[str(path)])["errors"])

    def matches(self, folder: Path, pattern: str) -> Iterable[Path]:
        # Reading a folder fails with EISDIR; any other error says why the folder cannot be opened.
        fixed = str(folder / fixed_part(pattern))
        _, errors = self._agent.read([fixed])
        if errors.get(fixed) != errno.EISDIR:
            _raise(errors)
        files, unreadable = self._agent.read([str(folder / pattern)])
        return map(Path, (*files, *unreadable))

    def has_debugfs(self, place: Path) -> bool:
        # The folder is empty unless debugfs is mounted there.
        return any(self._agent.read([str(place / "sched*")]))

    def debugfs(self) -> AbstractContextManager[object]:
        # The mount ends with the agent, which has a separate mount namespace.
        try:
            self._agent.ask("debugfs")
        except Refusal as error:
            raise OSError(errno.EPERM, error.what) from error
        return nullcontext()


def _raise(errors: Mapping[str, int]) -> None:
    for path, number in errors.items():
        raise OSError(number, os.strerror(number), path)


class Values:
    """The values of a plan's variants, put in place by an agent's journal."""

    def __init__(self, agent: Agent, system: System) -> None:
        self._agent = agent
        self._system = system
        self._wanted_by_variant: dict[str, list[dict[str, Any]]] = {}
        self._originals: dict[tuple[str, str], dict[str, object]] = {}

    def put(self, variant: Variant) -> Sequence[str]:
        """Put a variant's values in place, and all others back; return messages about values of somebody else.

        Raises Unavailable for a tunable that the machine lacks, Refusal.
        """
        if variant.name in self._wanted_by_variant:
            return [left["text"] for left in self._send(self._wanted_by_variant[variant.name])]
        wanted, later = self._wanted(variant.tunables.values())
        if not later:
            self._wanted_by_variant[variant.name] = wanted
        else:
            # These files appear only with the first writes.
            self._send(wanted)
            more, missing = self._wanted(later)
            for goal in missing:
                here = self._system.resolve(goal.catalogued)
                raise Unavailable(goal.name, here, here.why)
            wanted += more
        return [left["text"] for left in self._send(wanted)]

    def _send(self, wanted: list[dict[str, Any]]) -> Sequence[Mapping[str, Any]]:
        left: Sequence[Mapping[str, Any]] = self._agent.ask("put", wanted=wanted)["left"]
        return left

    def _wanted(self, goals: Iterable[Setting]) -> tuple[list[dict[str, Any]], list[Setting]]:
        """Return the changes for these goals, and the goals whose files do not exist yet."""
        changes: list[dict[str, Any]] = []
        later: list[Setting] = []
        for goal in goals:
            here = self._system.resolve(goal.catalogued)
            if not isinstance(here, Available):
                if not goal.catalogued.enabled_by:
                    raise Unavailable(goal.name, here, here.why)
                later.append(goal)
                continue
            self._system.accept(goal, here)
            form = codec(here.place.codec)
            for path, current in zip(here.paths, here.values, strict=True):
                original = self._originals.setdefault((goal.name, str(path)), _value(form, current))
                changes.append(
                    {
                        "name": goal.name,
                        "path": str(path),
                        "form": form.form,
                        "steady": form.steady,
                        "original": original,
                        "new": _value(form, goal.text),
                    }
                )
        return changes, later


def _value(form: Codec, canonical: str) -> dict[str, object]:
    return {"write": form.encode(canonical), "shown": list(form.shown(canonical))}

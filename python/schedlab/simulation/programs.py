"""Programs for the simulator, from native workloads and from files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from schedlab.extension import extension
from schedlab.results.metrics import Metric, NotUnderstood
from schedlab.simulation.errors import ProgramError
from schedlab.workloads import native, registry
from schedlab.workloads.base import Output
from schedlab.workloads.native import Native, NativeParameters


@dataclass(frozen=True)
class Program:
    """A program as JSON text. A native workload adds its adapter and the given parameters.

    ``notes`` name the parts of an rt-app document that have no effect.
    """

    text: str = field(repr=False)
    adapter: Native | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The text as a dictionary."""
        return cast(Mapping[str, Any], json.loads(self.text))

    @property
    def name(self) -> str:
        """The workload's name, or the name in the file."""
        return self.adapter.name if self.adapter else str(self.data["name"])

    @property
    def groups(self) -> list[str]:
        """Names of its groups of tasks."""
        return [str(group["name"]) for group in self.data["groups"]]

    def metrics(self, outcome: Mapping[str, Any]) -> list[Metric]:
        """The workload's metrics of an outcome; NotUnderstood as for the output of ``schedload``."""
        if self.adapter is None:
            raise NotUnderstood("a program from a file has no workload to read its metrics")
        elapsed, user, system = (outcome[name] / 1e9 for name in ("elapsed_ns", "user_ns", "system_ns"))
        reported = json.dumps({"metrics": outcome["metrics"]})
        parameters = self.adapter.parameters.model_validate(dict(self.given))
        return self.adapter.parse(cast(NativeParameters, parameters), Output(reported, "", elapsed, user, system, 0))


def program(name: str, parameters: Mapping[str, Any], cpus: int) -> Program:
    """Make the program of a native workload for a machine of ``cpus`` CPUs.

    ``parameters`` are written as in an experiment file. ProgramError names the wrong workload or parameter.
    """
    if name not in native.names():
        todo = f"programs: {', '.join(native.names())}"
        what = "is a tool, and the simulator runs programs" if name in registry.names() else "is not a workload"
        raise ProgramError(f"{name!r} {what}", todo=todo)
    adapter = native.adapter(name)
    try:
        validated = cast(NativeParameters, adapter.parameters.model_validate(dict(parameters)))
    except ValidationError as error:
        raise _wrong(name, adapter, error) from error
    return Program(validated.prepared(cpus).program, adapter, dict(parameters))


def program_file(path: Path) -> Program:
    """Read the program in a JSON file: the output of ``schedload show``, or a document of rt-app.

    ProgramError when it cannot be read, with the place in the file. The simulator checks the contents.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ProgramError(f"cannot be read: {reason}", where=str(path)) from error
    if _is_program(text):
        return Program(text)
    try:
        made, notes = extension().read_rt_app(path.stem, text)
    except ProgramError as error:
        raise ProgramError(error.what, where=str(path), todo=error.todo) from error
    return Program(made, notes=tuple(notes))


def _is_program(text: str) -> bool:
    """Return whether the text is a program of ``schedload``; unlike rt-app's documents, it has a ``schema``."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    groups = document.get("groups") if isinstance(document, dict) else None
    if not isinstance(groups, list) or "schema" not in document:
        return False
    return all(isinstance(group, dict) and "name" in group for group in groups)


def _wrong(name: str, adapter: Native, error: ValidationError) -> ProgramError:
    """Return the error that names every wrong parameter with its reason."""
    reasons = []
    for item in error.errors():
        reason = item["msg"].removeprefix("Value error, ").replace("Input should be", "should be")
        if item["type"] == "extra_forbidden":
            reason = "no such parameter"
        elif item["type"] != "value_error":
            reason += f" (is {item['input']!r})"
        reasons.append(": ".join([*map(str, item["loc"]), reason]))
    return ProgramError(
        "; ".join(reasons), where=name, todo=f"parameters: {', '.join(adapter.parameters.model_fields)}"
    )

"""Programs for the simulator, from native workloads and from files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from schedlab.extension import extension
from schedlab.results.metrics import Metric, NotUnderstood
from schedlab.simulation.errors import ProgramError
from schedlab.simulation.settings import prefix
from schedlab.workloads import declarations, registry

if TYPE_CHECKING:
    from pydantic import ValidationError

    from schedlab.workloads.native import NativeParameters


@dataclass(frozen=True)
class Program:
    """A program as JSON text. A native workload adds its name and the given parameters.

    ``notes`` name the parts of an rt-app document that have no effect.
    """

    text: str = field(repr=False)
    workload: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The text as a dictionary."""
        return cast(Mapping[str, Any], json.loads(self.text))

    @property
    def name(self) -> str:
        """The workload's name, or the name in the file."""
        return self.workload or str(self.data["name"])

    @property
    def groups(self) -> list[str]:
        """Names of its groups of tasks."""
        return [str(group["name"]) for group in self.data["groups"]]

    def metrics(self, outcome: Mapping[str, Any]) -> list[Metric]:
        """The workload's metrics of an outcome; NotUnderstood as for the output of ``schedload``."""
        from schedlab.workloads import native
        from schedlab.workloads.base import Output

        if self.workload is None:
            raise NotUnderstood("a program from a file has no workload to read its metrics")
        elapsed, user, system = (outcome[name] / 1e9 for name in ("elapsed_ns", "user_ns", "system_ns"))
        reported = json.dumps({"metrics": outcome["metrics"]})
        adapter = native.adapter(self.workload)
        parameters = cast("NativeParameters", adapter.parameters.model_validate(dict(self.parameters)))
        return adapter.parse(parameters, Output(reported, "", elapsed, user, system, 0))


def program(name: str, parameters: Mapping[str, Any], cpus: int) -> Program:
    """Make the program of a native workload for a machine of ``cpus`` CPUs.

    ``parameters`` are written as in an experiment file. ProgramError names the wrong workload or parameter.
    """
    if name not in declarations.names():
        todo = f"programs: {', '.join(declarations.names())}"
        reason = "is a tool, and the simulator runs programs" if name in registry.names() else "is not a workload"
        raise ProgramError(f"{name!r} {reason}", todo=todo)
    prepared = declarations.prepared_if_valid(name, parameters, cpus) or _validated(name, parameters).prepared(cpus)
    return Program(prepared.program, name, dict(parameters))


def beside(program: Program, loads: Sequence[Program]) -> Program:
    """Return the program with loads that run beside it until it ends; ProgramError for programs that do not combine."""
    for at, load in enumerate(loads):
        try:
            text = extension().beside(program.text, load.text, prefix(at))
        except ValueError as error:
            raise ProgramError(str(error), where=f"{program.name} beside {load.name}") from error
        # The parameter decides which metrics are expected: with a load, there is no lifetime.
        program = replace(program, text=text, parameters={**program.parameters, "beside": load.workload})
    return program


def program_file(path: Path) -> Program:
    """Read the program in a JSON file: the output of ``schedload show``, or a document of rt-app.

    ProgramError, with the place in the file, when the program cannot be read. The simulator checks the contents.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the file is not UTF-8 text"
        todo = "'schedload show NAME' writes such a file"
        raise ProgramError(f"cannot be read: {reason}", where=str(path), todo=todo) from error
    if _is_program(text):
        return Program(text)
    try:
        made, notes = extension().read_rt_app(path.stem, text)
    except ProgramError as error:
        raise ProgramError(error.what, where=str(path), todo=error.todo) from error
    return Program(made, notes=tuple(notes))


def _is_program(text: str) -> bool:
    """Return whether the text is a program of ``schedload``; unlike rt-app's documents, such a program has a
    ``schema``."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    groups = document.get("groups") if isinstance(document, dict) else None
    if not isinstance(groups, list) or "schema" not in document:
        return False
    return all(isinstance(group, dict) and "name" in group for group in groups)


def _validated(name: str, parameters: Mapping[str, Any]) -> NativeParameters:
    """Return the model of these parameters; ProgramError names every wrong parameter with its reason."""
    from pydantic import ValidationError

    from schedlab.workloads import native

    model = native.adapter(name).parameters
    try:
        return cast("NativeParameters", model.model_validate(dict(parameters)))
    except ValidationError as error:
        todo = f"parameters: {', '.join(model.model_fields)}"
        if any(isinstance(item["input"], list) and item["loc"][0] in model.model_fields for item in error.errors()):
            todo = "give one value: lists are for the rows of an experiment file; simulate each value by itself"
        raise ProgramError("; ".join(_reasons(error)), where=name, todo=todo) from error


def _reasons(error: ValidationError) -> Iterator[str]:
    for item in error.errors():
        reason = item["msg"].removeprefix("Value error, ").replace("Input should be", "should be")
        if item["type"] == "extra_forbidden":
            reason = "no such parameter"
        elif item["type"] != "value_error":
            reason += f" (is {item['input']!r})"
        yield ": ".join([*map(str, item["loc"]), reason])

"""From a workload's name and parameters, or a file, to a program, by the code that ``schedload`` runs it with."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from schedlab.simulation.errors import NotBuilt, ProgramError
from schedlab.simulation.native import extension
from schedlab.workloads import registry
from schedlab.workloads.base import AnyAdapter, Metric, NotUnderstood, Output, Parameters
from schedlab.workloads.native import Native
from schedlab.workloads.tools import SCHEDLOAD, find


@dataclass(frozen=True)
class Program:
    """A program as JSON text, with the workload and parameters that it comes from, if it does.

    ``notes`` say what of an rt-app document has no effect.
    """

    text: str = field(repr=False)
    adapter: Native[Parameters] | None = None
    parameters: Parameters | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The text as a dictionary."""
        return cast(Mapping[str, Any], json.loads(self.text))

    @property
    def name(self) -> str:
        """The workload's name, or the program's own."""
        return self.adapter.name if self.adapter else str(self.data["name"])

    @property
    def groups(self) -> list[str]:
        """Names of its groups of tasks."""
        return [str(group["name"]) for group in self.data["groups"]]

    def metrics(self, outcome: Mapping[str, Any]) -> list[Metric]:
        """The workload's metrics of an outcome, read as those of ``schedload`` are; NotUnderstood as there."""
        if self.adapter is None or self.parameters is None:
            raise NotUnderstood("a program from a file has no workload to read its metrics")
        elapsed, user, system = (outcome[name] / 1e9 for name in ("elapsed_ns", "user_ns", "system_ns"))
        told = json.dumps({"metrics": outcome["metrics"]})
        return self.adapter.parse(self.parameters, Output(told, "", elapsed, user, system, 0))


def native_names() -> list[str]:
    """The workloads that are programs."""
    return [name for name in registry.names() if isinstance(registry.adapter(name), Native)]


def native(adapter: AnyAdapter) -> Native[Parameters] | None:
    """The adapter if it is one of a program."""
    return cast("Native[Parameters]", adapter) if isinstance(adapter, Native) else None


def program(name: str, parameters: Mapping[str, Any], cpus: int) -> Program:
    """The program of a native workload for a machine of so many CPUs.

    ``parameters`` are those of an experiment file. ProgramError tells which name or value is wrong.
    """
    if name not in native_names():
        todo = f"programs: {', '.join(native_names())}"
        what = "is a tool, and the simulator runs programs" if name in registry.names() else "is no workload"
        raise ProgramError(f"{name!r} {what}", todo=todo)
    adapter = native(registry.adapter(name))
    assert adapter is not None
    try:
        given = adapter.parameters.model_validate(dict(parameters))
    except ValidationError as error:
        raise _wrong(name, adapter, error) from error
    return Program(_shown(tuple(adapter.options_on(given, cpus))), adapter, given)


def program_file(path: Path) -> Program:
    """The program in a JSON file, as ``schedload show`` prints it or in rt-app's form.

    ProgramError when it cannot be read, with the place in the file. The simulator checks what is in it.
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
    """Whether it is a document of ``schedload``, which says the version of its layout; rt-app's says none."""
    try:
        document = json.loads(text)
    except ValueError:
        return False
    groups = document.get("groups") if isinstance(document, dict) else None
    return isinstance(groups, list) and "schema" in document and all("name" in group for group in groups)


@cache
def _shown(options: tuple[str, ...]) -> str:
    """What ``schedload show`` prints for these options: the same parameters make the same program there and here."""
    found = find(SCHEDLOAD)
    if found is None:
        raise NotBuilt(
            "the load generator, which makes the programs, is not built", where="schedload", todo="make build"
        )
    shown = subprocess.run([str(found), "show", *options], capture_output=True, text=True, check=False)
    if shown.returncode != 0:
        raise ProgramError(shown.stderr.strip().removeprefix("schedload: "), where=options[0])
    return shown.stdout


def _wrong(name: str, adapter: Native[Parameters], error: ValidationError) -> ProgramError:
    """Every wrong parameter with its reason."""
    told = []
    for item in error.errors():
        key = ".".join(map(str, item["loc"])) or "parameters"
        told.append(f"{key}: {'no such parameter' if item['type'] == 'extra_forbidden' else item['msg']}")
    return ProgramError("; ".join(told), where=name, todo=f"parameters: {', '.join(adapter.parameters.model_fields)}")

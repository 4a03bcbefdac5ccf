"""Every command is a function of ``schedlab`` with the same options, or is missing for a documented reason."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import schedlab
from schedlab.cli.app import app
from schedlab.cli.commands import Group

PAGE = (Path(__file__).parents[1] / "docs/python.md").read_text(encoding="utf-8")

ABSENT = {"doctor", "init", "kernels", "machines", "report", "site", "store", "tunables", "workloads"}
"""Commands and groups without a function. docs/python.md names the reason of each."""

OUTPUT = {
    "color", "exit_as", "fail_on", "folded", "form", "layout", "no_store", "output", "proc", "quiet", "raw_p",
    "samples", "save", "scores", "show", "stars", "verbose", "width",
}  # fmt: skip
"""Options about what is printed, and where: a function returns its findings, and ``store[RUN]`` finds stored ones."""

COMMAND_LINE = {"dry_run", "effect", "fleet", "pilot", "power", "ssh_config"}
"""Options of the command line alone; docs/python.md names what takes their place (``schedlab.plan`` for plans)."""

RENAMED = {
    "change": "changes", "cmdline": "command_line", "file": "experiment", "set_": "tunables", "slice_": "slice",
    "words": "parameters",
}  # fmt: skip
"""Options whose texts are values in Python, and names that are not taken there."""

PYTHON = {"watch", "parts", "seeds", "workers"}
"""Parameters of functions alone."""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the words and the command of every command that is not a group."""
    if isinstance(command, Group):
        for name in command.commands:
            yield from commands(command.commands[name], (*path, name))
    else:
        yield path, command


def function_of(path: tuple[str, ...]) -> Callable[..., Any] | None:
    """Return the function with the name of a command."""
    for name in ("simulate",) if path == ("sim", "run") else ("_".join(path), path[-1]):
        for spelled in (name, f"{name}_"):
            if spelled in schedlab.__all__:
                return getattr(schedlab, spelled)  # type: ignore[no-any-return]
    return None


COMMANDS = dict(commands(typer.main.get_command(app)))
FUNCTIONS = {path: function for path in COMMANDS if (function := function_of(path))}


def test_every_command_is_a_function_or_absent_for_a_reason() -> None:
    lacking = [path for path in COMMANDS if path not in FUNCTIONS]
    assert all(ABSENT & set(path) for path in lacking), lacking
    assert {word for path in lacking for word in path} >= ABSENT
    reasons = PAGE.partition("## Commands without a function")[2]
    cells = re.findall(r"^\| (`.*?`) \|", reasons, re.MULTILINE)
    assert {word for cell in cells for word in re.findall(r"`(\w+)`", cell)} == ABSENT


def test_dir_lists_the_functions_and_each_is_documented() -> None:
    assert dir(schedlab) == sorted(schedlab.__all__)
    called = {function.__name__ for function in FUNCTIONS.values()} | {"open_store", "plan"}
    assert called == set(schedlab.__all__)
    assert {name for name in schedlab.__all__ if f"`schedlab.{name}(" not in PAGE} == set()


@pytest.mark.parametrize("path", FUNCTIONS, ids=" ".join)
def test_a_function_has_the_options_of_its_command(path: tuple[str, ...]) -> None:
    of_function = inspect.signature(FUNCTIONS[path]).parameters
    names = {option.name for option in COMMANDS[path].params}
    options = {name if name in of_function else RENAMED.get(name, name) for name in names}
    missing = options - set(of_function) - OUTPUT - COMMAND_LINE
    assert not missing, "options that the function lacks"
    unknown = set(of_function) - options - PYTHON - ({"samples"} if path == ("sim", "run") else set())
    assert not unknown, "parameters that the command lacks"


@pytest.mark.parametrize("path", FUNCTIONS, ids=" ".join)
def test_a_function_has_the_defaults_of_its_command(path: tuple[str, ...]) -> None:
    defaults = {name: each.default for name, each in inspect.signature(FUNCTIONS[path]).parameters.items()}
    for option in COMMANDS[path].params:
        if option.name in defaults and option.default and defaults[option.name]:
            assert str(defaults[option.name]) == str(option.default), option.name

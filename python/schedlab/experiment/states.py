"""Experiments whose variants are the states of a bisection, in order, the good state first."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from schedlab.errors import ExperimentError
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.notation import toml_text

STATES, COMMIT, COMMAND = "SCHEDLAB_STATES", "SCHEDLAB_COMMIT", "SCHEDLAB_STATE"
"""Environment variables of a trial: the folder of all checked-out commits, the commit, and the state's command."""

NAME = 60
"""Most characters of a variant's name."""


def of_file(text: str, name: str, good: str | None, bad: str | None) -> tuple[Experiment, str]:
    """Return the experiment with the variants from ``good`` to ``bad`` of an experiment file, and its text.

    Args:
        text: the file's text.
        name: the file's name, for messages.
        good: name of the first state; default the first variant.
        bad: name of the last state; default the last variant.
    """
    data = _bisectable(text, name)
    variants = data["variant"]
    names = [variant["name"] for variant in variants]
    first, last = _index("--good", good, names, 0), _index("--bad", bad, names, len(names) - 1)
    if first >= last and len(names) > 1:
        raise ExperimentError(
            f"{names[first]!r} is not before {names[last]!r} in the file",
            where=name,
            todo="a bisection goes through the variants in the order of the file, from --good to --bad",
        )
    return _experiment(data | {"variant": variants[first : last + 1]}, name)


def of_commits(
    text: str | None, name: str, commits: Sequence[tuple[str, str]], run: str | None
) -> tuple[Experiment, str]:
    """Return an experiment that runs a command in the files of each commit.

    Args:
        text: an experiment file with one workload ``command``; None for ``run`` alone.
        name: the file's name, for messages.
        commits: hash and title of each commit, the good commit first.
        run: a shell command that is measured; None for the command of the file.
    """
    variants = [
        {"name": _commit_name(index, commit), "description": title, "environment": {COMMIT: commit}}
        for index, (commit, title) in enumerate(commits)
    ]
    return _commands(text, name, variants, run, f'cd "${STATES}/${COMMIT}" && ')


def of_kernels(
    text: str, name: str, commits: Sequence[tuple[str, str]], kernels: Sequence[str]
) -> tuple[Experiment, str]:
    """Return the experiment of a file with a variant for each commit of a kernel, which boots the commit's kernel.

    Args:
        text: an experiment file with one variant, whose keys all states share.
        name: the file's name, for messages.
        commits: hash and title of each commit, the good commit first.
        kernels: the name of each commit's kernel.
    """
    data = _bisectable(text, name)
    (common, *others) = data["variant"]
    if others or "kernel" in common:
        todo = "keep one [[variant]] without a kernel; the commits name the kernels"
        raise ExperimentError("the states are named twice", where=f"--commits, {name}", todo=todo)
    variants = [
        common | {"name": _commit_name(index, commit), "description": title, "kernel": kernel}
        for index, ((commit, title), kernel) in enumerate(zip(commits, kernels, strict=True))
    ]
    return _experiment(data | {"variant": variants}, name)


def of_commands(text: str | None, name: str, commands: Sequence[str], run: str | None) -> tuple[Experiment, str]:
    """Return an experiment with a shell command for each state: the command is measured, or runs before ``run`` is
    measured."""
    variants = [
        {
            "name": f"{index} {command.replace('/', '-').replace(',', ' ')}"[:NAME].strip(),
            "environment": {COMMAND: command},
        }
        for index, command in enumerate(commands)
    ]
    if run is None and text is None:
        run = "true"
    return _commands(text, name, variants, run, f'eval "${COMMAND}" && ')


def _commit_name(index: int, commit: str) -> str:
    return f"{index} {commit[:12]}"


def commit_of(state: str) -> str | None:
    """Return the abbreviated hash of a commit from its state's name; None for the names of other states."""
    match = re.fullmatch(r"\d+ ([0-9a-f]{12})", state)
    return match[1] if match else None


def _commands(
    text: str | None, name: str, variants: list[dict[str, Any]], run: str | None, before: str
) -> tuple[Experiment, str]:
    if text is None and run is None:
        raise ExperimentError("there is nothing to measure", where=name, todo="name a command with --run, or a file")
    data: dict[str, Any] = {"experiment": {"name": "bisect", "question": "Which state changed the figure?"}}
    data = data if text is None else _bisectable(text, name)
    workloads = data.get("workload", [{"use": "command"}])
    if [table.get("use") for table in workloads] != ["command"]:
        raise ExperimentError(
            'states that are commits or commands need one workload, use = "command"',
            where=name,
            todo="keep one [[workload]] in the file, or use --run",
        )
    measured = run if run is not None else workloads[0].get("run", "true")
    workload = workloads[0] | {"run": shlex.join(["sh", "-c", f"{before}{{ {measured}; }}"])}
    return _experiment(data | {"variant": variants, "workload": [workload]}, name)


def _bisectable(text: str, name: str) -> dict[str, Any]:
    """Return the tables of a file; ExperimentError for a file that cannot be bisected."""
    experiment = parse(text, name)
    if experiment.factorial is not None:
        todo = "write the states as [[variant]] tables, in order"
        raise ExperimentError("a bisection needs states in order, not [factorial]", where=name, todo=todo)
    data = tomllib.loads(text)
    return {key: value for key, value in data.items() if key != "attribution"}


def _index(option: str, name: str | None, names: Sequence[str], default: int) -> int:
    if name is None:
        return default
    if name in names:
        return names.index(name)
    close = get_close_matches(name, names, n=1)
    todo = f"did you mean {close[0]!r}?" if close else f"the file has {', '.join(map(repr, names[:10]))}"
    raise ExperimentError(f"the file has no variant {name!r}", where=option, todo=todo)


def _experiment(data: Mapping[str, Any], name: str) -> tuple[Experiment, str]:
    """Return the experiment of these tables, without a control: every block measures the reference."""
    if len(data["variant"]) < 2:
        raise ExperimentError("there is only one state", where=name, todo="name two or more states")
    design = {key: value for key, value in data.get("design", {}).items() if key not in ("stopping", "looks")}
    text = toml_text.document({**data, "design": design | {"control": False}})
    return parse(text, name), text

"""Changes of an experiment file by options of ``schedlab run``: the changed text of the file.

A run stores that text, so that the stored text alone repeats the run. Comments and layout of the file are kept.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from schedlab.errors import ExperimentError
from schedlab.experiment import toml_data
from schedlab.experiment.load import Place, parse
from schedlab.experiment.model import Experiment
from schedlab.notation import toml_text


@dataclass(frozen=True)
class Changes:
    """Values that replace values of the file; None or () keeps the file's value.

    Attributes:
        blocks: number of blocks.
        iterations: iterations a block.
        delta: margin of equivalence, such as ``2%``.
        only: labels of the workloads that run.
        variants: names of the variants that run beside the baseline.
    """

    blocks: int | None = None
    iterations: int | None = None
    delta: str | None = None
    only: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) not in (None, ()) for field in fields(self))

    @property
    def values(self) -> dict[tuple[str, str], tuple[str, int | str]]:
        """The values from the command line: table and key of the file, each with its option and the value."""
        settings: dict[tuple[str, str], tuple[str, int | str | None]] = {
            ("design", "blocks"): ("--blocks", self.blocks),
            ("design", "iterations"): ("--iterations", self.iterations),
            ("analysis", "delta"): ("--delta", self.delta),
        }
        return {place: (option, value) for place, (option, value) in settings.items() if value is not None}

    @property
    def words(self) -> list[str]:
        """The options of the command line."""
        words = [word for option, value in self.values.values() for word in (option, str(value))]
        words += [word for label in self.only for word in ("--only", label)]
        return words + [word for name in self.variants for word in ("--variant", name)]


def apply(changes: Changes, experiment: Experiment, text: str, name: str) -> tuple[Experiment, str]:
    """Return the changed experiment and its text; ExperimentError names the option that cannot be applied.

    Args:
        experiment: the experiment of the unchanged text.
        text: the file's text.
        name: the file's name in messages.
    """
    if not changes:
        return experiment, text
    wanted = tomllib.loads(text)
    left_out = [*_other_workloads(changes, experiment), *_other_variants(changes, experiment)]
    for table, i in reversed(left_out):
        del wanted[table][i]
    new = _without(text, left_out)
    if experiment.attribution and set(experiment.attribution.stack) - {each["name"] for each in wanted["variant"]}:
        # Without one of its variants, a stack has a step of two changes, which the report would present as one change.
        del wanted["attribution"]
        new = _without(new, [("attribution", None)])
    for (table, key), (_, new_value) in changes.values.items():
        wanted.setdefault(table, {})[key] = new_value
        new = _with(new, table, key, new_value)
    if not _says(new, wanted):
        new = toml_text.document(wanted)
    return parse(new, name, _place(changes, name)), new


def _place(changes: Changes, name: str) -> Place:
    def place(path: toml_data.Path) -> str:
        """Name the option: the file was correct before its values were changed."""
        options = [option for keys, (option, _) in changes.values.items() if keys[: len(path)] == path]
        return ", ".join(options) or f"{name}: {toml_data.dotted(path)}"

    return place


def _other_workloads(changes: Changes, experiment: Experiment) -> Iterator[tuple[str, int]]:
    labels = [table.label or table.use for table in experiment.workload]
    _require("--only", changes.only, labels, "workload")
    return (("workload", i) for i, label in enumerate(labels) if changes.only and label not in changes.only)


def _other_variants(changes: Changes, experiment: Experiment) -> Iterator[tuple[str, int]]:
    if changes.variants and experiment.factorial is not None:
        raise ExperimentError(
            "cannot select variants of [factorial]: its effects are estimated from all combinations",
            where="--variant",
            todo="remove a switch from the file, or write the wanted states as [[variant]] tables",
        )
    names = [variant.name for variant in experiment.variant]
    _require("--variant", changes.variants, names, "variant")
    wanted = {names[0], *changes.variants}
    return (("variant", i) for i, name in enumerate(names) if changes.variants and name not in wanted)


def _require(option: str, chosen: Sequence[str], names: Sequence[str], noun: str) -> None:
    for name in chosen:
        if name not in names:
            close = get_close_matches(name, names, n=1)
            todo = f"did you mean {close[0]!r}?" if close else f"the file has {', '.join(map(repr, names[:10]))}"
            raise ExperimentError(f"the file has no {noun} {name!r}", where=option, todo=todo)


def _without(text: str, tables: Sequence[tuple[str, int | None]]) -> str:
    """Return the text without these tables. A comment directly above a table's header belongs to the table."""
    lines, numbers = text.splitlines(keepends=True), toml_data.lines(text)
    starts = {path: _start(lines, number - 1) for path, number in numbers.items() if _is_header(lines[number - 1])}
    boundaries = sorted([*starts.values(), len(lines)])
    dropped: set[int] = set()
    for table, i in tables:
        for path, start in starts.items():
            # Also sub-tables such as [variant.tunables].
            if path[: 1 if i is None else 2] == ((table,) if i is None else (table, i)):
                dropped.update(range(start, next(end for end in boundaries if end > start)))
    return "".join(line for number, line in enumerate(lines) if number not in dropped)


def _is_header(line: str) -> bool:
    return line.lstrip().startswith("[")


def _start(lines: Sequence[str], header: int) -> int:
    while header and lines[header - 1].lstrip().startswith("#"):
        header -= 1
    return header


def _with(text: str, table: str, key: str, new: int | str) -> str:
    """Return the text with this value: in the key's line, below the table's header, or in a table at the end."""
    lines, numbers = text.splitlines(), toml_data.lines(text)
    assignment = f"{key} = {toml_text.value(new)}"
    if number := numbers.get((table, key)):
        lines[number - 1] = re.sub(rf"\b{key}\s*=[^#]*?(?=\s*(#|$))", lambda _: assignment, lines[number - 1], count=1)
    elif (number := numbers.get((table,))) and _is_header(lines[number - 1]):
        lines.insert(number, assignment)
    else:
        lines += ["", f"[{table}]", assignment]
    return "\n".join(lines) + "\n"


def _says(text: str, wanted: dict[str, Any]) -> bool:
    """Whether a text has this data; inline tables and values over several lines are not edited line by line."""
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False

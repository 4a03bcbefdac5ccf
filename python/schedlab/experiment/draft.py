"""An experiment from the arguments of a command line: ``hackbench groups=1,4`` and ``slow:sched.base_slice_ns=6ms``.

The arguments become the text of an experiment file, and :func:`schedlab.experiment.load.parse` reads that text. The
values of a command line thus obey the rules of experiment files, and the text repeats the experiment.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from schedlab.errors import ExperimentError
from schedlab.experiment import toml_data
from schedlab.experiment.load import parse
from schedlab.experiment.model import Design, Experiment, Variant, WorkloadTable
from schedlab.experiment.state import State
from schedlab.notation import toml_text
from schedlab.simulation.models import kernels_with
from schedlab.tunables import UnknownTunable, catalogue, lookup
from schedlab.workloads.registry import UnknownWorkload, adapter

BASELINE = "baseline"
"""Name of the first variant, which changes nothing."""

_SEPARATOR = re.compile(r",(?=\s*[\w.:/*-]+=)")
"""The commas between the settings of a variant; a CPU list contains other commas."""

_KNOB = re.compile(r"(sysctl|file|debugfs):")
"""The beginning of a variant without a name that sets a knob first."""

_VARIANT_KEYS = [name for name in Variant.model_fields if name not in ("name", "tunables", "groups")]


@dataclass(frozen=True)
class Draft:
    """The tables of an experiment file, and the argument that each key came from.

    ``sources`` maps a key path to arguments of the command line, for error messages.
    """

    data: Mapping[str, Any]
    sources: Mapping[toml_data.Path, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The experiment file."""
        return toml_text.document(self.data)

    def parsed(self) -> Experiment:
        """Return the experiment; ExperimentError names the argument of each mistake."""
        return parse(self.text, "the arguments", self._place)

    def _place(self, path: toml_data.Path) -> str:
        for length in range(len(path), 0, -1):
            if (words := self.sources.get(path[:length])) is not None:
                rest = toml_data.dotted(path[length:])
                return f"{words}: {rest}" if rest else words
        return toml_data.dotted(path)


def draft(
    words: Sequence[str],
    variants: Sequence[str],
    design: Mapping[str, tuple[str, Any]],
    target: Mapping[str, Any] | None = None,
    about: Mapping[str, str] | None = None,
) -> Draft:
    """Return the draft for the arguments of a command line; ExperimentError for arguments that are neither a workload
    nor a variant.

    Args:
        words: names of workloads, each followed by its parameters, ``NAME=VALUE``.
        variants: a variant each, ``NAME:KEY=VALUE,KEY=VALUE``.
        design: dotted keys such as ``design.blocks``, each with its option and value; a value of None is left out.
        target: the ``[target]`` table; None for this machine.
        about: the ``[experiment]`` table; by default a name and a question made of the arguments.
    """
    sources: dict[toml_data.Path, str] = {}
    workloads = _workloads(words, sources)
    states = [{"name": BASELINE}, *(_variant(i, text, sources) for i, text in enumerate(variants, start=1))]
    data: dict[str, Any] = {"experiment": dict(about or _about(workloads, states[1:]))}
    if target:
        data["target"] = dict(target)
    for place, (option, value) in design.items():
        table, _, key = place.partition(".")
        if value is not None:
            data.setdefault(table, {})[key] = value
            sources[table, key] = option
    data.setdefault("design", {}).setdefault("blocks", Design().blocks)
    return Draft(data | {"variant": states, "workload": workloads}, sources)


def _about(workloads: Sequence[Mapping[str, Any]], variants: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    uses = list(dict.fromkeys(str(table["use"]) for table in workloads))
    names = [variant["name"] for variant in variants]
    question = (
        f"Does {' or '.join(names)} change {' and '.join(uses)}?" if names else f"How noisy is {' and '.join(uses)}?"
    )
    return {"name": f"try-{'-'.join(uses)}"[:60], "question": question}


def _workloads(words: Sequence[str], sources: dict[toml_data.Path, str]) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = []
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            sources["workload", len(tables)] = sources["workload", len(tables), "use"] = word
            tables.append({"use": word})
            continue
        if not tables:
            todo = f"write the workload before its parameters: hackbench {word}"
            raise ExperimentError("is a parameter without a workload", where=word, todo=todo)
        table, path = tables[-1], ("workload", len(tables) - 1, key)
        if key in table:
            raise ExperimentError(f"{table['use']!r} already has this parameter", where=word, todo="name each key once")
        table[key] = reading(text, _field(str(table["use"]), key))
        sources[path] = f"{table['use']} {word}"
    return tables


def _field(use: str, key: str) -> FieldInfo | None:
    """Return the field of a workload's parameter; None for an unknown name, which the model reports."""
    if key in WorkloadTable.model_fields:
        return WorkloadTable.model_fields[key]
    try:
        return adapter(use).parameters.model_fields.get(key)
    except UnknownWorkload:
        return None


def reading(text: str, field: FieldInfo | None) -> Any:
    """Return a value in the types of TOML: the first reading of the text that the field accepts.

    The readings are a value of TOML, the bare text, and a list of the parts between commas. A text without an accepted
    reading keeps its most likely reading, so that the model can explain the fault.
    """
    if field is None:
        return _readings(text)[0]
    accepts, readings = _checker(field), _readings(text)
    for value in readings:
        if accepts(value):
            return value
    parts = [_readings(part.strip()) for part in text.split(",")]
    values = [next(filter(accepts, each), each[0]) for each in parts]
    return values if len(values) > 1 or accepts(values) else readings[0]


def _checker(field: FieldInfo) -> Callable[[Any], bool]:
    """Return the test whether a field accepts a value, or each value of a list."""
    hint: Any = field.annotation
    for each in field.metadata:
        hint = Annotated[hint, each]
    checker: TypeAdapter[Any] = TypeAdapter(hint, config=ConfigDict(strict=True))

    def accepts(value: Any) -> bool:
        try:
            checker.validate_python(value)
        except ValidationError:
            return isinstance(value, list) and bool(value) and all(map(accepts, value))
        return True

    return accepts


def _readings(text: str) -> list[Any]:
    """Return the value of TOML with this text, if there is one, and the text itself."""
    try:
        value = tomllib.loads(f"value = {text}") if "\n" not in text else {}
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        value = {}
    is_plain = len(value) == 1 and isinstance(value["value"], bool | int | float | str | list | dict)
    return [value["value"], text] if is_plain else [text]


def _variant(i: int, text: str, sources: dict[toml_data.Path, str]) -> dict[str, Any]:
    """Return the table of ``NAME:KEY=VALUE,…``. Without a name, the settings are the name."""
    where = f"--variant {text}"
    head, _, _ = text.partition("=")
    is_named = ":" in head and not _KNOB.match(head)
    name, colon, settings = text.partition(":") if is_named else (text.replace(",", " ").replace("/", "-"), "", text)
    sources["variant", i] = where
    table: dict[str, Any] = {"name": name.strip()[:60]}
    if colon and not settings.strip():
        todo = f"write a setting after the colon: {name}:policy=batch"
        raise ExperimentError("changes nothing, as the baseline", where=where, todo=todo)
    for part in _SEPARATOR.split(settings):
        key, equals, value = part.strip().partition("=")
        if not equals:
            raise ExperimentError(
                f"{part.strip()!r} is not a setting",
                where=where,
                todo="write NAME:KEY=VALUE,KEY=VALUE, such as batch:policy=batch or slow:sched.base_slice_ns=6ms",
            )
        _set(table, key.strip(), value.strip(), where)
        sources["variant", i, key.strip()] = where
    for tunable in table.get("tunables", ()):
        sources["variant", i, "tunables", tunable] = where
    return table


def _set(table: dict[str, Any], key: str, text: str, where: str) -> None:
    """Put a setting into a variant's table. A key that is not a key of variants is a tunable."""
    inner: dict[str, Any] = table
    value: Any
    if key in _VARIANT_KEYS:
        value = reading(text, Variant.model_fields[key])
    elif key.partition(".")[0] in ("environment", "hook"):
        name, _, key = key.partition(".")
        value, inner = text, table.setdefault(name, {})
    else:
        key = _tunable(key.removeprefix("tunables."), where)
        value, inner = _readings(text)[0], table.setdefault("tunables", {})
    if key in inner:
        raise ExperimentError(f"sets {key} twice", where=where, todo="name each key once")
    inner[key] = value


def _tunable(name: str, where: str) -> str:
    """Return a tunable's canonical name. The part after the last dot is enough where only one tunable has that part."""
    try:
        return lookup(name).name
    except UnknownTunable as error:
        if kernels_with(name):
            return name
        same = [canonical for canonical in catalogue() if canonical.endswith(f".{name}")]
        if len(same) == 1:
            return same[0]
        todo = _advice(name, same or error.nearest)
        raise ExperimentError(f"{name!r} is neither a key of variants nor a tunable", where=where, todo=todo) from None


def _advice(name: str, tunables: Iterable[str]) -> str:
    from difflib import get_close_matches

    if close := [*get_close_matches(name, State.model_fields, n=1), *tunables]:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"keys are {', '.join(_VARIANT_KEYS)}; 'schedlab tunables list --all' prints the tunables"

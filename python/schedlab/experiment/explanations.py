"""Validation errors of pydantic in the terms of an experiment file: key paths, and the nearest key."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel

from schedlab.experiment import toml_data
from schedlab.experiment.groups import Group
from schedlab.experiment.hooks import HookTable, RunTable
from schedlab.experiment.model import (
    BESIDE,
    METRIC_NAME,
    METRIC_TABLE,
    About,
    AttributionTable,
    Design,
    FactorialTable,
    Judging,
    SettleTable,
    Variant,
    WorkloadTable,
)
from schedlab.experiment.state import State
from schedlab.experiment.sweep_table import SweepTable
from schedlab.experiment.target_table import MachineTable, TargetTable
from schedlab.experiment.values import BAD_TUNABLES
from schedlab.workloads.command.figures import Figure

Finding = tuple[toml_data.Path, str]

_TABLES: dict[str, type[BaseModel]] = {
    "experiment": About,
    "target": TargetTable,
    "machine": MachineTable,
    "design": Design,
    "settle": SettleTable,
    "run": RunTable,
    "analysis": Judging,
    "attribution": AttributionTable,
    "factorial": FactorialTable,
    "sweep": SweepTable,
    "group": Group,
    "variant": Variant,
    "workload": WorkloadTable,
}


def explain(item: Any) -> list[Finding]:
    """Return the findings of one validation error of pydantic."""
    parts = (part for part in item["loc"] if part not in (METRIC_NAME, METRIC_TABLE))
    path: toml_data.Path = tuple("beside" if part == BESIDE else part for part in parts)
    if item["type"] == BAD_TUNABLES:
        return [((*path, name), message) for name, message in item["ctx"]["faults"]]
    return [explain_field(item, path)]


def explain_field(item: Any, path: toml_data.Path) -> Finding:
    """Return the finding of one validation error at a key path."""
    kind, message = item["type"], str(item["msg"])
    if kind == "extra_forbidden":
        return path, f"unknown key{_elsewhere(path) or nearest(str(path[-1]), _keys_at(path))}"
    if kind == "missing":
        return path, "is missing" + (
            " (a table: write the table as [[…]])" if path in (("variant",), ("workload",)) else ""
        )
    if kind == "too_short":
        return path, "is empty: give at least one value"
    if kind in ("literal_error", "enum"):
        expected = str(item["ctx"]["expected"])
        names = [word.strip("'\" ") for word in expected.replace(" or ", ",").split(",")]
        return (
            path,
            f"{_shortened(item['input'])} is not one of {', '.join(names)}{nearest(str(item['input']), names)}",
        )
    if kind == "string_pattern_mismatch":
        is_switch = path[:2] == ("factorial", "switches")
        return path[:3] if is_switch else path, f"{_shortened(item['input'])} cannot be {_allowed(path, is_switch)}"
    message = message.removeprefix("Value error, ").replace("Input should be", "should be")
    shown = "" if kind == "value_error" else f" (is {_shortened(item['input'])})"
    # pydantic appends the type's name for each branch of a union; the file has no such key.
    return tuple(part for part in path if part not in ("int", "bool", "float", "str")), message + shown


def _allowed(path: toml_data.Path, is_switch: bool) -> str:
    """Return what a text with a pattern is, and the characters that it may have."""
    characters = "letters, digits, '_', '.' and '-' only"
    if path[2:3] == ("metrics",) and path[-1] == "unit":
        return "a unit: no blank, comma or bracket"
    if path[2:3] == ("metrics",):
        return f"a name: {characters} (no blank), a letter first"
    if is_switch or path[:1] == ("group",):
        return f"a name: {characters}"
    if path[-1] == "target":
        return "a target of make: letters, digits, '_', '-', '/' and '.' only"
    return "a name: no slash, comma, newline or leading blank"


def _shortened(value: object) -> str:
    """The value as Python writes it, in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text)} characters)"


def _keys_at(path: toml_data.Path) -> list[str]:
    if path[2:3] == ("metrics",):
        return [field.alias or name for name, field in Figure.model_fields.items()]
    table = _TABLES.get(str(path[0])) if len(path) > 1 else None
    if path[:2] == ("factorial", "switches") and len(path) > 3:
        table = State
    if "hook" in path[:-1]:
        table = HookTable
    return list(table.model_fields) if table else [*_TABLES, "tunable"]


def _elsewhere(path: toml_data.Path) -> str:
    """A hint for a key that another table has."""
    tables = [name for name, table in _TABLES.items() if path[-1] in table.model_fields and name != path[0]]
    return f"; it belongs in {' or '.join(f'[{name}]' for name in tables)}" if tables else ""


def nearest(name: str, names: list[str]) -> str:
    """Return a hint for a name that does not exist: the nearest of the names, or all of them."""
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; keys of this table: {', '.join(sorted(names))}"

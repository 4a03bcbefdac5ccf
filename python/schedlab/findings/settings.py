"""What each variant of a run sets, in words: ``slice 12 ms, cpus 0``."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

from schedlab.store.columns import Chosen
from schedlab.store.reader import Run
from schedlab.tunables import UnknownTunable, lookup

COMMAND = 80
"""Most characters of a hook's command in a report."""

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([A-Za-zµ]+)")


def settings_of_columns(columns: Sequence[Chosen]) -> dict[str, str]:
    """Return what each column's variant sets, with its description; empty for a variant that sets nothing."""
    return {column.name: in_words(settings_of(column.run).get(column.variant, {})) for column in columns}


def settings_of(run: Run) -> dict[str, dict[str, Any]]:
    """Return the table of each variant in the run's experiment without its name; empty without an experiment file.

    A variant of a factorial has the tables of its switches. The control repeats the baseline.
    """
    try:
        experiment, tables = _tables(run.experiment_file)
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    if run.design.factorial is not None:
        switches = experiment.get("factorial", {}).get("switches", {})
        base = next(iter(tables.values()), {})
        layout = run.design.factorial
        for name, levels in layout.runs.items():
            set_here = [
                switches.get(switch, {}) for switch, is_on in zip(layout.switches, levels, strict=True) if is_on
            ]
            tables[name] = _merged([base, *set_here])
    return tables


def baseline_of(text: str) -> tuple[str, str]:
    """Return the name of the first variant of a valid experiment file, and what the variant sets."""
    name, table = next(iter(_tables(text)[1].items()))
    return name, in_words(table)


def _tables(text: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return an experiment file as data, and the table of each variant."""
    experiment = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    variants = experiment.get("variant", [])
    return experiment, {
        str(table["name"]): {key: value for key, value in table.items() if key != "name"} for table in variants
    }


def _merged(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            is_joined = isinstance(value, dict) and key != "hook"
            merged[key] = _merged([merged.get(key, {}), value]) if is_joined else value
    return merged


def in_words(table: Mapping[str, Any]) -> str:
    """Return what a variant's table sets, with its description."""
    parts = list(_parts({key: value for key, value in table.items() if key != "description"}))
    description = str(table.get("description", ""))
    return f"{', '.join(parts)}{f' ({description})' if parts else description}" if description else ", ".join(parts)


def _parts(table: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        if name in ("tunables", "environment") and isinstance(value, dict):
            marks = name == "tunables"
            yield from (f"{inner} {_value(each)}{_mark(inner) if marks else ''}" for inner, each in _flat(value))
        elif name == "hook" and isinstance(value, dict):
            yield f"hook {shorten(str(value.get('apply')), COMMAND, placeholder='…')}"
        elif name == "groups" and isinstance(value, dict):
            yield from (f"{group} {file} {_value(each)}" for group, set_ in value.items() for file, each in _flat(set_))
        else:
            yield f"{name.replace('_', ' ') if name != 'sched_ext' else name} {_value(value)}"


def _mark(tunable: str) -> str:
    """Return the mark of a knob that no catalogue describes; an unknown name has an entry of another user."""
    try:
        return "" if lookup(tunable).is_documented else " (undocumented)"
    except UnknownTunable:
        return ""


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return " ".join(map(_value, value))
    text = str(value)
    return _QUANTITY.sub(r"\1 \2", text) if _QUANTITY.fullmatch(text) else text

"""Entries of the user in the catalogue's format: tables ``[[tunable]]`` of experiments, and files of such tables.

The files are ``$XDG_CONFIG_HOME/schedlab/tunables.toml`` and the file that ``$SCHEDLAB_TUNABLES`` names
(``schedlab run --tunables``).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab.tunables.errors import BadEntry

if TYPE_CHECKING:
    from schedlab.tunables.tunable import Tunable

AREA = "local"
"""Area of the entries."""

VARIABLE = "SCHEDLAB_TUNABLES"
"""Environment variable with the path of a file of entries."""


@dataclass(frozen=True)
class Entry:
    """A tunable of the user, and the table that describes the tunable."""

    tunable: Tunable
    table: Mapping[str, Any]


def entry(table: Mapping[str, Any]) -> Entry:
    """Return the entry of a table; pydantic's ValidationError for a mistake."""
    from schedlab.tunables.tunable import Tunable

    return Entry(Tunable.model_validate({**table, "area": AREA}), table)


def files() -> tuple[Path, ...]:
    """Return the files of entries that this user has, and the file that was named."""
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    usual = Path(home) / "schedlab" / "tunables.toml"
    named = os.environ.get(VARIABLE)
    return tuple(path for path in (usual, named and Path(named)) if path and (path != usual or usual.is_file()))


@cache
def of_file(path: Path) -> tuple[Entry, ...]:
    """Return the entries of a file; BadEntry for a mistake, with its place."""
    from pydantic import ValidationError

    todo = "the format is that of docs/tunables.md, 'Entries of your own'"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadEntry(f"cannot be read: {error}", where=str(path), todo=todo) from error
    tables = data.pop("tunable", [])
    if data or not isinstance(tables, list):
        raise BadEntry(f"contains {', '.join(data) or 'tunable'}, not only [[tunable]]", where=str(path), todo=todo)
    entries = []
    for number, table in enumerate(tables, start=1):
        try:
            entries.append(entry(table))
        except (ValidationError, TypeError) as error:
            where = f"{path}: tunable[{number}]"
            raise BadEntry(first_fault(error), where=where, todo=todo) from error
    return tuple(entries)


def first_fault(error: Exception) -> str:
    """Return the first fault of a table in words."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return "is not a table"
    fault = error.errors()[0]
    place = ".".join(map(str, fault["loc"]))
    message = str(fault["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message

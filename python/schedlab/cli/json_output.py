"""JSON of the commands that list and show: one object with the version of its schema; ``docs/json.md`` has the keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from schedlab.cli.echo import echo

SCHEMA = 1
"""Version of the schema. The version rises when a key is removed or changes its meaning, not for a new key."""


def json_text(fields: Mapping[str, Any]) -> str:
    """Return an object with its ``schema`` as text; ValueError for NaN and infinities, which JSON does not have."""
    return json.dumps({"schema": SCHEMA, **fields}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def print_json(fields: Mapping[str, Any]) -> None:
    """Print an object with its ``schema``. Characters that control a terminal are written as JSON escapes."""
    echo(json_text(fields), nl=False)

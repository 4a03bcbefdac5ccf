"""Text in the notation of TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def quoted(text: str) -> str:
    """Return the text as a basic string of TOML, whose escapes include the escapes of JSON.

    Control characters are left out, because files of schedlab may not contain control characters.
    """
    return json.dumps("".join(character for character in text if character.isprintable()), ensure_ascii=False)


def value(data: Any) -> str:
    """Return a string, number, boolean, list or table on one line."""
    match data:
        case bool():
            return str(data).lower()
        case str():
            return json.dumps(data, ensure_ascii=False)
        case Mapping():
            return (
                f"{{ {', '.join(f'{key(name)} = {value(inner)}' for name, inner in data.items())} }}" if data else "{}"
            )
        case list() | tuple():
            return f"[{', '.join(map(value, data))}]"
    return str(data)


def key(name: str) -> str:
    """Return a key: bare where TOML allows a bare key, otherwise quoted."""
    return name if _BARE_KEY.fullmatch(name) else quoted(name)


def table(header: str, data: Mapping[str, Any]) -> str:
    """Return a table with its header, such as ``[design]`` or ``[[variant]]``, a line for each key."""
    return f"{header}\n{lines(data)}"


def lines(data: Mapping[str, Any]) -> str:
    """Return a line for each key."""
    return "".join(f"{key(name)} = {value(inner)}\n" for name, inner in data.items())


def document(data: Mapping[str, Any]) -> str:
    """Return a text with a table for each key of ``data``, and a table for each element of a list of tables."""
    parts = []
    for name, content in data.items():
        if isinstance(content, list):
            parts += [table(f"[[{key(name)}]]", element) for element in content]
        else:
            parts.append(table(f"[{key(name)}]", content))
    return "\n".join(parts)

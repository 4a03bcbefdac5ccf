"""Text as TOML writes it."""

from __future__ import annotations

import json


def quoted(text: str) -> str:
    """Return the text as a basic string of TOML, whose escapes include those of JSON.

    Control characters are left out, because files of schedlab may not contain control characters.
    """
    return json.dumps("".join(character for character in text if character.isprintable()), ensure_ascii=False)

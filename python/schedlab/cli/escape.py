"""Control characters of texts from outside, made visible before a terminal could obey them."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Controls but newline and tab, Unicode's separators of lines and paragraphs, and its bidirectional controls."""


def escaped(text: str) -> str:
    r"""Return the text with each control character as JSON writes it, such as ``\u001b``; newline and tab stay.

    Stores and outputs of benchmarks may contain any character.
    """
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

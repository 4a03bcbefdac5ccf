"""Control characters, which a terminal executes and does not show.

``importers/text.py`` removes more characters from results, and ``results/imported.py`` replaces what is not printable.
"""

from __future__ import annotations

import re

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls and surrogates (Unicode's categories Cc and Cs), separators of lines and paragraphs (Zl and Zp), and
bidirectional controls (Unicode Standard Annex 9), which show a text in another order than it is stored."""

_ESCAPED = re.compile(rf"(?![\n\t]){CONTROL.pattern}")


def escaped(text: str) -> str:
    r"""Return the text with each control character in the notation of JSON, such as ``\u001b``. Newline and tab stay.

    Stores and outputs of benchmarks may contain any character.
    """
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

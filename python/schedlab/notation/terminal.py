"""Texts for a terminal, which executes control characters instead of showing them: lines folded between words, and
control characters escaped.

``importers/text.py`` removes more characters from results, and ``results/imported.py`` replaces what is not printable.
"""

from __future__ import annotations

import re

_NO_BREAK = "\u00a0"

_COMMAND = re.compile(r"'schedlab [^'\n]*'|apt-get install .*")
"""A command, which a user may copy: it stays on one line."""


def fold(text: str, width: int, hang: int) -> str:
    """Return the text in lines of at most ``width`` characters, except for longer words and commands.

    ``hang`` is the indentation of the further lines of the first paragraph. The further lines of another paragraph are
    indented by two blanks more than the first line of the paragraph.
    """
    first, *others = text.split("\n")
    indented = [(first, hang), *((line, len(line) - len(line.lstrip()) + 2) for line in others)]
    return "\n".join(_folded(line, width, indentation) for line, indentation in indented)


def _folded(line: str, width: int, indentation: int) -> str:
    if len(line) <= width:
        return line
    from textwrap import TextWrapper

    wrapper = TextWrapper(
        width,
        subsequent_indent=" " * indentation,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
    joined = _COMMAND.sub(lambda found: found[0].replace(" ", _NO_BREAK), line)
    return "\n".join(wrapper.wrap(joined)).replace(_NO_BREAK, " ")


CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls and surrogates (Unicode's categories Cc and Cs), separators of lines and paragraphs (Zl and Zp), and
bidirectional controls (Unicode Standard Annex 9), which show a text in another order than it is stored."""

_ESCAPED = re.compile(rf"(?![\n\t]){CONTROL.pattern}")


def escaped(text: str) -> str:
    r"""Return the text with each control character in the notation of JSON, such as ``\u001b``. Newline and tab stay.

    Stores and outputs of benchmarks may contain any character.
    """
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

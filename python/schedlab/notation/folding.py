"""Lines of prose, folded between words for a terminal."""

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

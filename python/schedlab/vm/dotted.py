"""Boot parameters with a dot, of which a kernel says nothing when it does not know them: it takes them for a module's.

Whether the kernel has ``MODULE.NAME`` is seen by the names in its image (:mod:`.known`). Its value is looked up in the
running guest, in ``/sys/module/MODULE/parameters/NAME``, and that of ``sysctl.a.b=VALUE`` in ``/proc/sys/a/b``
(Documentation/admin-guide: kernel-parameters.rst, and ``sysctl.*=`` in kernel-parameters.txt). One that its module does
not show cannot be checked; then that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from schedlab.vm.known import Names
from schedlab.vm.parameters import words

_PART = re.compile(r"[A-Za-z0-9_]+")
_SYSCTL = re.compile(r"sysctl[./]([A-Za-z0-9_./-]+)")
_TRUE, _FALSE = {"", "1", "y", "yes", "on", "t", "true"}, {"0", "n", "no", "off", "f", "false"}
"""What a parameter shown as Y or N may be given as (kstrtobool), nothing for Y."""


def looked_at(command_line: str) -> list[str]:
    """The guest's files that tell of these parameters; patterns for a shell, to be kept once it is up."""
    return list(dict.fromkeys(pattern for word in _dotted(command_line) if (pattern := _pattern(word))))


def has_names(command_line: str) -> bool:
    """Whether one of these parameters is of the kind that can be looked up in an image."""
    return any(_name_in_image(word) for word in _dotted(command_line))


def lacking(command_line: str, names: Names) -> dict[str, str]:
    """Words of this command line whose parameter the kernel does not have, each with what is to be told."""
    return {
        word: f"the guest's kernel has no parameter {name}: {names.advice(name)}"
        for word in _dotted(command_line)
        if (name := _name_in_image(word)) and names.lacks(name)
    }


def doubts(command_line: str, files: Mapping[str, str], names: Names) -> Iterator[tuple[str, str]]:
    """Words of this command line that are not as asked for or could not be checked, each with what is to be told.

    ``files`` are those of the guest by their path, without the slash at its beginning; ``names`` its kernel's.
    """
    last = {_name(word): word for word in _dotted(command_line)}
    for name, word in last.items():
        path = _path(word)
        if path is None:
            yield word, f"not checked: {word}: nothing in a running kernel tells of it"
        elif path[1:] not in files:
            why = (
                _unseen(path, name.rpartition(".")[2], files, names) if _name_in_image(word) else f"there is no {path}"
            )
            yield word, f"not checked: {word}: {why}"
        elif not _same(_value(word), held := files[path[1:]].strip()):
            yield word, f"{word}: the guest has {held!r} in {path}"


def _unseen(path: str, name: str, files: Mapping[str, str], names: Names) -> str:
    """Of a parameter that the kernel has, as far as is known, and that the guest does not show."""
    if names.kernel is not None:
        return "the guest's kernel has it, and shows its value nowhere"
    return f"{_missing(path, name, files)} ({names.why_not})"


def _missing(path: str, name: str, files: Mapping[str, str]) -> str:
    folder = path.rpartition("/")[0]
    shown = sorted(other.rpartition("/")[2] for other in files if f"/{other}".startswith(f"{folder}/"))
    if not shown:
        return f"the guest has no {path}; the module is not in its kernel, or shows nothing"
    near = get_close_matches(name, shown, n=1)
    return f"the guest has no {path}{f': is {near[0]} meant?' if near else ', but others of the module'}"


def _dotted(command_line: str) -> list[str]:
    return [word for word in words(command_line) if "." in word.partition("=")[0]]


def _name(word: str) -> str:
    """Dashes and underscores are the same to a kernel (parameq)."""
    return word.partition("=")[0].replace("-", "_").strip('"')


def _value(word: str) -> str:
    return word.partition("=")[2].replace('"', "")


def _name_in_image(word: str) -> str | None:
    """As an image has it; None for what is no parameter of its own there."""
    path = _path(word)
    return None if path is None or path.startswith("/proc/") else _name(word)


def _path(word: str) -> str | None:
    if sysctl := _SYSCTL.fullmatch(word.partition("=")[0]):
        return f"/proc/sys/{sysctl[1].replace('.', '/')}" if ".." not in sysctl[1] else None
    module, _, name = _name(word).partition(".")
    if name == "dyndbg" or not _PART.fullmatch(module) or not _PART.fullmatch(name):
        return None
    return f"/sys/module/{module}/parameters/{name}"


def _pattern(word: str) -> str | None:
    """All parameters of the module: where one is missing, its neighbours tell how it is spelt."""
    path = _path(word)
    if path is None or path.startswith("/proc/"):
        return path
    return f"{path.rpartition('/')[0]}/*"


def _same(given: str, held: str) -> bool:
    if held in ("Y", "N"):
        return given.lower() in (_TRUE if held == "Y" else _FALSE)
    if f"[{given}]" in held.split():  # one of a list
        return True
    asked, shown = (re.split(r"[,\s]+", text) for text in (given, held))
    return len(asked) <= len(shown) and all(
        one == other or _equal(one, other) for one, other in zip(asked, shown, strict=False)
    )


def _equal(given: str, held: str) -> bool:
    """Whether both are one number: read in C's notations, a negative one perhaps shown as what it is without a sign."""
    one, other = _number(given), _number(held)
    if one is None or other is None:
        return False
    return one == other or (one < 0 and other in (one % 2**32, one % 2**64))


def _number(text: str) -> int | None:
    octal = re.fullmatch(r"([+-]?)0([0-7]+)", text)
    try:
        return int(f"{octal[1]}{octal[2]}", 8) if octal else int(text, 0)
    except ValueError:
        return None

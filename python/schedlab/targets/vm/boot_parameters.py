"""``module.param`` boot parameters in a guest. The kernel silently ignores unknown parameters.

The names in the guest's kernel image show whether the kernel has ``MODULE.NAME`` (:mod:`schedlab.kernels.parameters`).
The running guest shows the value in ``/sys/module/MODULE/parameters/NAME``, and the value of ``sysctl.a.b=VALUE`` in
``/proc/sys/a/b`` (Documentation/admin-guide: kernel-parameters.rst, and ``sysctl.*=`` in kernel-parameters.txt). A
parameter without such a file cannot be checked, and the run gets a note about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from schedlab.kernels.parameters import Names, words

_PART = re.compile(r"[A-Za-z0-9_]+")
_SYSCTL = re.compile(r"sysctl[./]([A-Za-z0-9_./-]+)")
_TRUE, _FALSE = {"", "1", "y", "yes", "on", "t", "true"}, {"0", "n", "no", "off", "f", "false"}
"""Texts for a parameter that is shown as Y or N (kstrtobool); an empty text means Y."""


def files_to_keep(command_line: str) -> list[str]:
    """Return shell patterns of the guest's files that show these parameters' values."""
    return list(dict.fromkeys(pattern for word in _dotted(command_line) if (pattern := _pattern(word))))


def has_names(command_line: str) -> bool:
    """Whether an image can show the existence of one of these parameters."""
    return any(_name_in_image(word) for word in _dotted(command_line))


def lacking(command_line: str, names: Names) -> dict[str, str]:
    """Return the words whose parameter the kernel does not have, each with a message."""
    return {
        word: f"the guest's kernel has no parameter {name}: {names.advice(name)}"
        for word in _dotted(command_line)
        if (name := _name_in_image(word)) and names.lacks(name)
    }


def doubts(command_line: str, files: Mapping[str, str], names: Names) -> Iterator[tuple[str, str]]:
    """Yield words that have another value in the guest or could not be checked, each with a message.

    ``files`` are the files of the guest, by path without the leading slash; ``names`` are the parameters of its kernel.
    """
    last = {_name(word): word for word in _dotted(command_line)}
    for name, word in last.items():
        path = _path(word)
        if path is None:
            yield word, f"not checked: {word}: no file of a running kernel shows the parameter"
        elif path[1:] not in files:
            why = (
                _not_shown(path, name.rpartition(".")[2], files, names)
                if _name_in_image(word)
                else f"there is no {path}"
            )
            yield word, f"not checked: {word}: {why}"
        elif not _same(_value(word), shown := files[path[1:]].strip()):
            yield word, f"{word}: the guest has {shown!r} in {path}"


def _not_shown(path: str, name: str, files: Mapping[str, str], names: Names) -> str:
    """Explain why the guest has no file for a parameter that its kernel may have."""
    if names.kernel is not None:
        return "the guest's kernel has this parameter, but shows its value in no file"
    return f"{_missing(path, name, files)} ({names.why_not})"


def _missing(path: str, name: str, files: Mapping[str, str]) -> str:
    folder = path.rpartition("/")[0]
    shown = sorted(other.rpartition("/")[2] for other in files if f"/{other}".startswith(f"{folder}/"))
    if not shown:
        return f"the guest has no {path}; the module is not in its kernel, or shows nothing"
    close = get_close_matches(name, shown, n=1)
    return f"the guest has no {path}{f': is {close[0]} meant?' if close else ', but other parameters of the module'}"


def _dotted(command_line: str) -> list[str]:
    return [word for word in words(command_line) if "." in word.partition("=")[0]]


def _name(word: str) -> str:
    """The parameter's name; dashes and underscores are equal to a kernel (parameq)."""
    return word.partition("=")[0].replace("-", "_").strip('"')


def _value(word: str) -> str:
    return word.partition("=")[2].replace('"', "")


def _name_in_image(word: str) -> str | None:
    """The parameter's name in an image; None for sysctls and other words that an image does not contain."""
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
    """A pattern for all parameters of the module: if one is missing, the other parameters show the right spelling."""
    path = _path(word)
    if path is None or path.startswith("/proc/"):
        return path
    return f"{path.rpartition('/')[0]}/*"


def _same(value: str, shown: str) -> bool:
    if shown in ("Y", "N"):
        return value.lower() in (_TRUE if shown == "Y" else _FALSE)
    if f"[{value}]" in shown.split():  # the selected word of a list
        return True
    wanted, actual = (re.split(r"[,\s]+", text) for text in (value, shown))
    return len(wanted) <= len(actual) and all(
        word == other or _equal(word, other) for word, other in zip(wanted, actual, strict=False)
    )


def _equal(value: str, shown: str) -> bool:
    """Whether both texts are the same number in C's notations; a kernel may show a negative number as unsigned."""
    number, other = _number(value), _number(shown)
    if number is None or other is None:
        return False
    return number == other or (number < 0 and other in (number % 2**32, number % 2**64))


def _number(text: str) -> int | None:
    octal = re.fullmatch(r"([+-]?)0([0-7]+)", text)
    try:
        return int(f"{octal[1]}{octal[2]}", 8) if octal else int(text, 0)
    except ValueError:
        return None

"""The configuration of a kernel build: its base, the fragments that override the base, and the options that could
not be set."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import SchedlabError

GUEST = Path(__file__).with_name("guest.config")
"""Options of a small and fast guest, over ``tinyconfig``."""

_SET = re.compile(r"(CONFIG_[A-Za-z0-9_]+)=(.*)")
_UNSET = re.compile(r"# (CONFIG_[A-Za-z0-9_]+) is not set")
_TARGET = re.compile(r"[a-z0-9_.-]*config")


class BadFragment(SchedlabError):
    """A configuration that cannot be read."""


@dataclass(frozen=True)
class Recipe:
    """The origin of a configuration.

    ``target`` is a make target such as ``tinyconfig``, empty where ``base`` is the text of a complete configuration.
    The fragments' options override the base, and later fragments override earlier fragments.
    """

    target: str
    base: str
    fragments: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A checksum that is equal for equal recipes."""
        parts = (self.target, self.base, *self.fragments)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def wanted(self) -> dict[str, str]:
        """The options of the fragments, each with its last value."""
        return {name: value for text in self.fragments for name, value in settings(text).items()}

    def merged(self, base: str) -> str:
        """Return the base's text with the fragments' options; kconfig resolves dependencies later."""
        wanted = self.wanted
        kept = [line for line in base.splitlines() if _option(line) not in wanted]
        return "\n".join([*kept, *(_line(name, value) for name, value in wanted.items())]) + "\n"

    def unmet(self, config: str, source: Path) -> list[str]:
        """Describe the fragments' options that the finished configuration lacks; ``source`` shows which exist."""
        got = settings(config)
        faults = {name: want for name, want in self.wanted.items() if got.get(name, "n") != want}
        declared = _declared(source, faults) if faults else set()
        return [
            f"{name}={want} was requested"
            f"{'' if name in declared else ', which this kernel does not have'}; the value is {got.get(name, 'n')}"
            for name, want in faults.items()
        ]


def recipe(base: str, fragments: Sequence[Path]) -> Recipe:
    """Return the recipe for a make target (the guest's fragment comes first) or for a file with a configuration.

    BadFragment when one of the files cannot be read or parsed.
    """
    is_target = _TARGET.fullmatch(base) is not None and not Path(base).is_file()
    files = [*([GUEST] if is_target else []), *fragments]
    texts = tuple(_read(path) for path in files)
    return Recipe(base, "", texts) if is_target else Recipe("", _read(Path(base)), texts)


def settings(text: str) -> dict[str, str]:
    """Return a configuration's options with the values that kconfig writes, ``n`` for options that are not set."""
    options = {}
    for line in text.splitlines():
        if match := _SET.fullmatch(line.strip()):
            options[match[1]] = match[2]
        elif match := _UNSET.fullmatch(line.strip()):
            options[match[1]] = "n"
    return options


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the file is not text"
        todo = "name a make target such as tinyconfig or defconfig, or a file of CONFIG_…=y lines"
        raise BadFragment(f"the configuration cannot be read: {reason}", where=str(path), todo=todo) from error
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if bare and not bare.startswith("#") and not _SET.fullmatch(bare):
            todo = "write CONFIG_NAME=y, or '# CONFIG_NAME is not set'"
            raise BadFragment(f"{bare!r} is not an option", where=f"{path}:{number}", todo=todo)
    return text


def _option(line: str) -> str:
    match = _SET.fullmatch(line) or _UNSET.fullmatch(line)
    return match[1] if match else ""


def _line(name: str, value: str) -> str:
    return f"# {name} is not set" if value == "n" else f"{name}={value}"


def _declared(source: Path, options: Iterable[str]) -> set[str]:
    """Return the options that a Kconfig file of the tree declares."""
    names = "|".join(re.escape(option.removeprefix("CONFIG_")) for option in options)
    declares = re.compile(rf"^\s*(?:menu)?config\s+({names})\s*$", re.MULTILINE)
    declared: set[str] = set()
    for folder, _, files in os.walk(source):
        for name in files:
            if name.startswith("Kconfig"):
                text = Path(folder, name).read_text(errors="replace")
                declared.update(f"CONFIG_{option}" for option in declares.findall(text))
    return declared

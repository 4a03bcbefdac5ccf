"""The configuration of a kernel build: where it starts from, the fragments over it, and what came of their wishes."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import SchedlabError

GUEST = Path(__file__).with_name("guest.config")
"""What a small and fast guest needs, over ``tinyconfig``."""

_SET = re.compile(r"(CONFIG_[A-Za-z0-9_]+)=(.*)")
_UNSET = re.compile(r"# (CONFIG_[A-Za-z0-9_]+) is not set")
_TARGET = re.compile(r"[a-z0-9_.-]*config")


class BadFragment(SchedlabError):
    """A configuration that cannot be read."""


@dataclass(frozen=True)
class Unmet:
    """An option that is not as a fragment wants it: ``n`` stands for off."""

    option: str
    wanted: str
    got: str
    is_known: bool

    def __str__(self) -> str:
        why = "" if self.is_known else ", which this kernel does not have"
        return f"{self.option}={self.wanted} was wanted{why}; it is {self.got}"


@dataclass(frozen=True)
class Recipe:
    """How a configuration is made.

    ``target`` is a make target such as ``tinyconfig``, empty where ``base`` holds a whole configuration; the
    fragments' options go over it in their order.
    """

    target: str
    base: str
    fragments: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The same for the same recipe."""
        parts = (self.target, self.base, *self.fragments)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def wanted(self) -> dict[str, str]:
        """What the fragments want, the last word of each option."""
        return {name: value for text in self.fragments for name, value in settings(text).items()}

    def merged(self, base: str) -> str:
        """The base's text with the fragments' options in place of its own; kconfig settles what depends on them."""
        wanted = self.wanted
        kept = [line for line in base.splitlines() if _option(line) not in wanted]
        return "\n".join([*kept, *(_line(name, value) for name, value in wanted.items())]) + "\n"

    def unmet(self, config: str, source: Path) -> list[Unmet]:
        """The wishes that the finished configuration does not fulfil; ``source`` tells options that do not exist."""
        got = settings(config)
        faults = {name: want for name, want in self.wanted.items() if got.get(name, "n") != want}
        known = _declared(source, faults) if faults else set()
        return [Unmet(name, want, got.get(name, "n"), name in known) for name, want in faults.items()]


def recipe(base: str, fragments: Sequence[Path]) -> Recipe:
    """From a make target (then the guest's fragment comes first) or the path of a whole configuration.

    BadFragment when one of the files cannot be read or understood.
    """
    is_target = _TARGET.fullmatch(base) is not None and not Path(base).is_file()
    files = [*([GUEST] if is_target else []), *fragments]
    texts = tuple(_read(path) for path in files)
    return Recipe(base, "", texts) if is_target else Recipe("", _read(Path(base)), texts)


def settings(text: str) -> dict[str, str]:
    """The options of a configuration's text as kconfig writes their values; ``n`` for those that are not set."""
    found = {}
    for line in text.splitlines():
        if match := _SET.fullmatch(line.strip()):
            found[match[1]] = match[2]
        elif match := _UNSET.fullmatch(line.strip()):
            found[match[1]] = "n"
    return found


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        todo = "name a make target such as tinyconfig or defconfig, or a file of CONFIG_…=y lines"
        raise BadFragment(f"the configuration cannot be read: {reason}", where=str(path), todo=todo) from error
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if bare and not bare.startswith("#") and not _SET.fullmatch(bare):
            todo = "write CONFIG_NAME=y, or '# CONFIG_NAME is not set'"
            raise BadFragment(f"{bare!r} is no option", where=f"{path}:{number}", todo=todo)
    return text


def _option(line: str) -> str:
    match = _SET.fullmatch(line) or _UNSET.fullmatch(line)
    return match[1] if match else ""


def _line(name: str, value: str) -> str:
    return f"# {name} is not set" if value == "n" else f"{name}={value}"


def _declared(source: Path, options: Iterable[str]) -> set[str]:
    """Those of the options that some Kconfig file of the tree declares."""
    names = "|".join(re.escape(option.removeprefix("CONFIG_")) for option in options)
    declares = re.compile(rf"^\s*(?:menu)?config\s+({names})\s*$", re.MULTILINE)
    found: set[str] = set()
    for folder, _, files in os.walk(source):
        for name in files:
            if name.startswith("Kconfig"):
                text = Path(folder, name).read_text(errors="replace")
                found.update(f"CONFIG_{option}" for option in declares.findall(text))
    return found

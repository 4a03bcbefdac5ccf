"""Paths of the programs that adapters need."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from schedlab.files import shipped


@dataclass(frozen=True)
class Tool:
    """A program that an adapter needs, and the Debian package (or command) that installs it."""

    program: str
    package: str
    paths: tuple[str, ...] = ()
    """Places apart from ``$PATH``, with ``*`` as a wildcard. The program may also be a header or another file."""
    source: str = ""
    """Source of the program where Debian's main archive does not have the package."""


SCHEDLOAD = Tool("schedload", shipped.repair())


def find(tool: Tool) -> Path | None:
    """Find ``schedload`` among schedlab's files, and other tools next to Python, in ``$PATH`` or in the tool's
    paths."""
    if tool is SCHEDLOAD and (program := shipped.schedload()):
        return program
    beside = Path(sys.executable).parent / tool.program
    if beside.is_file() and os.access(beside, os.X_OK):
        return beside
    if path := shutil.which(tool.program):
        return Path(path)
    for pattern in tool.paths:
        if matches := sorted(glob(pattern), key=_version, reverse=True):
            return Path(matches[0])
    return None


def _version(path: str) -> list[int]:
    """Sort key by the numbers in a path: ``postgresql/15`` comes after ``postgresql/9.6``."""
    return [int(number) for number in re.findall(r"\d+", path)]


def need(tool: Tool) -> str:
    """Return the tool's path as the first word of a command; the bare name when the tool is missing."""
    return str(find(tool) or tool.program)


def missing(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools that this machine lacks."""
    return [tool for tool in tools if find(tool) is None]


def install_line(tools: list[Tool]) -> str:
    """Return the command that installs these tools; tools outside Debian's main archive follow as a comment."""
    packages = sorted({tool.package for tool in tools if tool is not SCHEDLOAD and not tool.source})
    commands = [SCHEDLOAD.package] if SCHEDLOAD in tools else []
    if packages:
        commands.append("apt-get install " + " ".join(packages))
    elsewhere: dict[str, list[str]] = {}
    for tool in tools:
        if tool.source:
            elsewhere.setdefault(tool.source, []).append(tool.program)
    comments = [f"# {', '.join(programs)}: {source}" for source, programs in elsewhere.items()]
    return "\n".join([*([" && ".join(commands)] if commands else []), *comments])

"""Finding the programs that adapters need, ``schedload`` first of all."""

from __future__ import annotations

import os
import re
import shutil
import sys
from glob import glob
from pathlib import Path

from schedlab.workloads.base import AnyAdapter, Tool

SCHEDLOAD = Tool("schedload", "make build")


def find(tool: Tool) -> Path | None:
    """Where the tool is: beside the running Python (where ``make build`` puts ``schedload``), ``$PATH``, its paths."""
    if tool is SCHEDLOAD and (named := os.environ.get("SCHEDLOAD")):
        return Path(named)
    beside = Path(sys.executable).parent / tool.program
    if beside.is_file() and os.access(beside, os.X_OK):
        return beside
    if found := shutil.which(tool.program):
        return Path(found)
    for pattern in tool.paths:
        if matches := sorted(glob(pattern), key=_version, reverse=True):
            return Path(matches[0])
    return None


def _version(path: str) -> list[int]:
    """The numbers in a path, so that ``postgresql/15`` comes after ``postgresql/9.6``."""
    return [int(number) for number in re.findall(r"\d+", path)]


def need(tool: Tool) -> str:
    """The tool's path as a command's first word; the bare name when it is missing (the check has said so)."""
    return str(find(tool) or tool.program)


def missing(adapter: AnyAdapter) -> list[Tool]:
    """The adapter's tools that this machine lacks."""
    return [tool for tool in adapter.tools if find(tool) is None]


def install_line(tools: list[Tool]) -> str:
    """The command that brings these tools; what no package of Debian's main archive brings is a comment behind it."""
    packages = sorted({tool.package for tool in tools if tool is not SCHEDLOAD and not tool.source})
    commands = ["make build"] if SCHEDLOAD in tools else []
    if packages:
        commands.append("apt-get install " + " ".join(packages))
    elsewhere: dict[str, list[str]] = {}
    for tool in tools:
        if tool.source:
            elsewhere.setdefault(tool.source, []).append(tool.program)
    comments = [f"# {', '.join(programs)}: {source}" for source, programs in elsewhere.items()]
    return "\n".join([*([" && ".join(commands)] if commands else []), *comments])

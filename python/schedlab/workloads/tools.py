"""Finding the programs that adapters need, ``schedload`` first of all."""

from __future__ import annotations

import os
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
        if matches := sorted(glob(pattern), reverse=True):
            return Path(matches[0])
    return None


def need(tool: Tool) -> str:
    """The tool's path as a command's first word; the bare name when it is missing (the check has said so)."""
    return str(find(tool) or tool.program)


def missing(adapter: AnyAdapter) -> list[Tool]:
    """The adapter's tools that this machine lacks."""
    return [tool for tool in adapter.tools if find(tool) is None]


def install_line(tools: list[Tool]) -> str:
    """The command that brings these tools."""
    packages = sorted({tool.package for tool in tools if tool is not SCHEDLOAD})
    lines = ["make build"] if SCHEDLOAD in tools else []
    if packages:
        lines.append("apt-get install " + " ".join(packages))
    return " && ".join(lines)

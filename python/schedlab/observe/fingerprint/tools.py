"""Versions of the tools whose behaviour is in the figures."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import version

from schedlab.workloads.base import Tool
from schedlab.workloads.tools import SCHEDLOAD, find

_ASK = {
    Tool("perf", "linux-perf"): ("--version",),
    SCHEDLOAD: ("--version",),
}


@cache
def versions() -> dict[str, str | None]:
    """What each tool says of its version; None when it is not installed or does not answer in 5 s."""
    found: dict[str, str | None] = {"schedlab": version("schedlab"), "python": platform.python_version()}
    for tool, arguments in _ASK.items():
        found[tool.program] = _ask(tool, arguments)
    found["libc"] = " ".join(platform.libc_ver())
    found["rt-tests"] = _package("rt-tests")
    return found


def _ask(tool: Tool, arguments: tuple[str, ...]) -> str | None:
    path = find(tool)
    if path is None:
        return None
    return _first_line([str(path), *arguments])


def _package(name: str) -> str | None:
    """The version of a Debian package: rt-tests' hackbench has no --version of its own."""
    return _first_line(["dpkg-query", "--showformat=${Version}", "--show", name])


def _first_line(argv: list[str]) -> str | None:
    try:
        told = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return told.stdout.strip().partition("\n")[0] or None if told.returncode == 0 else None

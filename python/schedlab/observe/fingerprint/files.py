"""Reading the small files of /proc and /sys, where absence is an answer."""

from __future__ import annotations

from pathlib import Path


def text(path: Path) -> str | None:
    """The file's stripped text; None when it is absent or refuses to be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def number(path: Path) -> int | None:
    """The file's text as an integer; None when it is absent or none."""
    found = text(path)
    return int(found) if found is not None and found.lstrip("-").isdecimal() else None

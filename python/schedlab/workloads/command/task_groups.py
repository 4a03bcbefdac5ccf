"""Control groups that rt-app and schedload make for the task groups in their file.

Each task group is a control group of the cpu controller. The control groups of a killed program remain. The file names
the groups, so a run can record the groups before it makes them, and remove exactly these groups.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from schedlab.errors import SchedlabError
from schedlab.extension import extension
from schedlab.files.scratch import GROUP, Register

PROGRAMS = frozenset({"rt-app", "schedload"})
"""Names of the programs that make control groups from a file."""

LARGEST_FILE = 1 << 24
"""Largest size in bytes of a file that is read; rt-app's files have kilobytes."""

HIERARCHIES = ((Path("/sys/fs/cgroup/cpu"), "tasks"), (Path("/sys/fs/cgroup"), "cgroup.controllers"))
"""Mount points of version 1 and 2 with a file that each contains (cgroups(7)), as in ``executor/attributes.rs``."""


def new_groups(argv: Sequence[str]) -> list[Path]:
    """Return the control groups that a command line will make, parents first; without groups that already exist.

    Empty without rt-app or schedload in the command line. A script that starts rt-app is not read.
    """
    words = [word.strip("\"';") for argument in argv for word in argument.split()]
    if PROGRAMS.isdisjoint(Path(word).name for word in words):
        return []
    root = next((mount for mount, file in HIERARCHIES if (mount / file).exists()), None)
    if root is None:
        return []
    names = sorted({name for word in words for name in _named_in(Path(word))})
    paths = [root.joinpath(*parts[: depth + 1]) for parts in map(_parts, names) for depth in range(len(parts))]
    return [path for path in dict.fromkeys(paths) if not path.exists()]


@contextmanager
def recorded(argv: Sequence[str], register: Register) -> Iterator[None]:
    """Name the new control groups of a command line in the journal during the block."""
    groups = new_groups(argv)
    for group in groups:
        register.made(GROUP, str(group))
    try:
        yield
    finally:
        for group in groups:
            if not group.exists():
                register.gone(GROUP, str(group))


def _parts(name: str) -> list[str]:
    return [part for part in name.split("/") if part]


def _named_in(path: Path) -> Iterator[str]:
    """Yield the task groups in a document of rt-app, or in a program of schedload; no groups in any other file."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_FILE:
            return
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    try:
        program = json.loads(extension().read_rt_app(path.stem, text)[0])
    except SchedlabError:
        try:
            program = json.loads(text)
        except (ValueError, RecursionError):
            return
    yield from _groups(program)


def _groups(program: Any) -> Iterator[str]:
    """Yield the groups in a program's attributes; see ``Attributes`` in ``crates/workload``."""
    waiting = [program]
    while waiting:
        match waiting.pop():
            case {"attributes": {"group": str(name)}}:
                if ".." not in name.split("/"):
                    yield name
            case dict(node):
                waiting.extend(node.values())
            case list(items):
                waiting.extend(items)

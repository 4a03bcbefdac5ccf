"""Control groups that rt-app and schedload make for the task groups in their file.

Each task group is a control group of the cpu controller. The control groups of a killed program remain. The file names
the groups, so a run can record the groups before it makes them, and remove exactly these groups.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from schedlab.errors import SchedlabError
from schedlab.extension import extension
from schedlab.workloads.machine import Machine

PROGRAMS = frozenset({"rt-app", "schedload"})
"""Names of the programs that make control groups from a file."""

LARGEST_FILE = 1 << 24
"""Largest size in bytes of a file that is read; rt-app's files have kilobytes."""

HIERARCHIES = ((Path("/sys/fs/cgroup/cpu"), "tasks"), (Path("/sys/fs/cgroup"), "cgroup.controllers"))
"""Mount points of version 1 and 2 with a file that each contains (cgroups(7)), as in ``executor/attributes.rs``."""


def new_groups(argv: Sequence[str], machine: Machine) -> list[Path]:
    """Return the control groups that a command line will make on a machine, parents first; without groups that already
    exist there.

    Empty without rt-app or schedload in the command line. A script that starts rt-app is not read.
    """
    words = {word.strip("\"';"): None for argument in argv for word in argument.split()}
    files = [word for word in words if Path(word).name not in PROGRAMS]
    if len(files) == len(words) or not machine.is_reached:
        return []
    marks = {str(mount / file): mount for mount, file in HIERARCHIES}
    present = machine.existing(marks)
    root = next((mount for mark, mount in marks.items() if mark in present), None)
    if root is None:
        return []
    paths = (os.path.normpath(os.path.join(machine.agent.folder, file)) for file in files if file.isprintable())
    contents = machine.read(machine.existing(path for path in paths if path.strip("/") and "*" not in path))
    names = sorted({name for path, data in contents.items() for name in _named_in(Path(path).stem, data)})
    groups = [root.joinpath(*parts[: depth + 1]) for parts in map(_parts, names) for depth in range(len(parts))]
    existing = machine.existing(map(str, groups))
    return [group for group in dict.fromkeys(groups) if str(group) not in existing]


def _parts(name: str) -> list[str]:
    return [part for part in name.split("/") if part]


def _named_in(title: str, data: bytes) -> Iterator[str]:
    """Yield the task groups in a document of rt-app, or in a program of schedload; no groups in any other file."""
    if len(data) > LARGEST_FILE:
        return
    try:
        text = data.decode()
    except ValueError:
        return
    try:
        program = json.loads(extension().read_rt_app(title, text)[0])
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

"""Switches and page faults of the trial's own processes: the kernel's account of children that ended.

The launcher reaps everything that a trial starts, so that after a trial this process' account of its children holds
the trial's whole tree, launcher included (getrusage(2), RUSAGE_CHILDREN). Not in it: children that a program had the
kernel discard (SIGCHLD ignored; wait(2), "NOTES").
"""

from __future__ import annotations

import resource
import struct
from pathlib import Path

from schedlab.observe.counters.source import Probed, Reading, Source

_NAMES = ("tree.voluntary-switches", "tree.involuntary-switches", "tree.minor-faults", "tree.major-faults")
_RECORD = struct.Struct(f"={len(_NAMES)}Q")


def probe(root: Path) -> Probed:
    """Always there on this machine; a tree of files has no processes."""
    return Probed(Source("getrusage", _read, _parse) if root == Path("/") else None)


def _read() -> bytes:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return _RECORD.pack(used.ru_nvcsw, used.ru_nivcsw, used.ru_minflt, used.ru_majflt)


def _parse(raw: bytes) -> Reading:
    return {name: {"": value} for name, value in zip(_NAMES, _RECORD.unpack(raw), strict=True)}

"""A stand-in for QEMU: a program that writes a guest's output to QEMU's files."""

from __future__ import annotations

import inspect
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from schedlab.experiment.topology import Topology
from schedlab.kernels import images
from schedlab.targets.vm import qemu

_HEAD = """#!{python}
from __future__ import annotations
import gzip, itertools, json, sys, time
files = dict(part.split(",path=") for part in sys.argv if ",path=" in part)
console = open(files["file,id=console"], "wb", buffering=0)
results = open(files["file,id=results"], "wb", buffering=0)
numbers = itertools.count(1)
def send(number=None, **body):
    frame = {{"id": number or next(numbers), "ok": body}}
    results.write(gzip.compress(json.dumps(frame).encode() + b"\\n"))
def up(**files):
    send(written=[])
    send(**tree(files))
def result(**files):
    send(**trial(files))
"""


def tree(files: Mapping[str, bytes]) -> dict[str, object]:
    """Return the body of a reply with these files."""
    return {"files": {f"/{path}": data.decode() for path, data in files.items()}, "errors": {}}


def trial(files: Mapping[str, bytes]) -> dict[str, object]:
    """Return the body of the reply to a trial, from its output and the files ``before/PATH`` and ``after/PATH``."""
    usage = ("user_us", "system_us", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")
    body: dict[str, object] = {
        "status": 0,
        "started": 1.0,
        "elapsed": 1.0,
        "tree": dict.fromkeys(usage, 0),
        "samples": [],
        "changed": [],
    }
    body |= {name: data.decode() for name, data in files.items() if "/" not in name}
    for when in ("before", "after"):
        start = f"{when}/"
        body[when] = tree({path.removeprefix(start): data for path, data in files.items() if path.startswith(start)})
    return body


def written(program: Path, body: str) -> Path:
    """Write an executable program with this body and return its path; see :func:`install` for its helpers."""
    program.write_text("".join([_HEAD.format(python=sys.executable), *map(inspect.getsource, (tree, trial)), body]))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> qemu.Machine:
    """Install a program with this body as QEMU, and return a machine to boot.

    The body can use ``console``, ``results``, ``send`` (a reply), ``up`` (the replies before the trials) and ``result``
    (the reply to a trial).
    """
    program = written(folder / "fake-qemu", body)
    monkeypatch.setattr(qemu, "program", lambda: str(program))
    image = images.Image(folder / "bzImage", "image", "6.12.1", None, "0" * 64)
    return qemu.Machine(image, Topology(1, 2), 256, [[10]], "tcg")

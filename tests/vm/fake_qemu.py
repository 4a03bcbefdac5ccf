"""A stand-in for QEMU: a program that writes what a guest would, to the files that QEMU was given."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from schedlab.vm import images, qemu
from schedlab.vm.topology import Topology

_HEAD = """#!{python}
import sys, time
from hashlib import sha256
files = dict(part.split(",path=") for part in sys.argv if ",path=" in part)
console = open(files["file,id=console"], "wb", buffering=0)
results = open(files["file,id=results"], "wb", buffering=0)
def tell(kind, number, data=b""):
    head = f"schedlab {{kind}} {{number}} {{len(data)}} {{sha256(data).hexdigest()}}\\n"
    results.write(head.encode() + data + b"\\n")
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> qemu.Machine:
    """Have QEMU do this instead, with ``console``, ``results``, ``tell`` and ``time`` at hand; a machine to boot."""
    program = folder / "fake-qemu"
    program.write_text(_HEAD.format(python=sys.executable) + does)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(qemu, "program", lambda: str(program))
    image = images.Image(folder / "bzImage", "image", "6.12.1", None, "0" * 64)
    return qemu.Machine(image, Topology(1, 2), 256, [[10]], "tcg")

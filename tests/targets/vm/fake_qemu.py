"""A stand-in for QEMU: a program that writes what a guest would, to the files that QEMU was given."""

from __future__ import annotations

import inspect
import io
import stat
import sys
import tarfile
from pathlib import Path

import pytest

from schedlab.experiment.topology import Topology
from schedlab.kernels import images
from schedlab.targets.vm import qemu

_HEAD = """#!{python}
import io, sys, tarfile, time
from hashlib import sha256
files = dict(part.split(",path=") for part in sys.argv if ",path=" in part)
console = open(files["file,id=console"], "wb", buffering=0)
results = open(files["file,id=results"], "wb", buffering=0)
def tell(kind, number, data=b""):
    head = f"schedlab {{kind}} {{number}} {{len(data)}} {{sha256(data).hexdigest()}}\\n"
    results.write(head.encode() + data + b"\\n")
"""


def archive(**files: bytes) -> bytes:
    """A record's files, packed as a guest packs them."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as made:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    return held.getvalue()


def written(program: Path, does: str) -> Path:
    """A program that does this, with what :func:`install` tells at hand."""
    program.write_text(_HEAD.format(python=sys.executable) + inspect.getsource(archive) + does)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> qemu.Machine:
    """Have QEMU do this instead; a machine to boot.

    At hand are ``console``, ``results``, ``tell``, :func:`archive` and ``time``.
    """
    program = written(folder / "fake-qemu", does)
    monkeypatch.setattr(qemu, "program", lambda: str(program))
    image = images.Image(folder / "bzImage", "image", "6.12.1", None, "0" * 64)
    return qemu.Machine(image, Topology(1, 2), 256, [[10]], "tcg")

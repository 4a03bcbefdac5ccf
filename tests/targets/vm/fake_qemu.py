"""A stand-in for QEMU: a program that writes a guest's output to QEMU's files."""

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
def send(kind, number, data=b""):
    head = f"schedlab {{kind}} {{number}} {{len(data)}} {{sha256(data).hexdigest()}}\\n"
    results.write(head.encode() + data + b"\\n")
"""


def archive(**files: bytes) -> bytes:
    """Return the files of a record, packed as a guest packs them."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as packed:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    return content.getvalue()


def written(program: Path, body: str) -> Path:
    """Write an executable program with this body and return its path; see :func:`install` for its helpers."""
    program.write_text(_HEAD.format(python=sys.executable) + inspect.getsource(archive) + body)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> qemu.Machine:
    """Install a program with this body as QEMU, and return a machine to boot.

    The body can use ``console``, ``results``, ``send``, :func:`archive` and ``time``.
    """
    program = written(folder / "fake-qemu", body)
    monkeypatch.setattr(qemu, "program", lambda: str(program))
    image = images.Image(folder / "bzImage", "image", "6.12.1", None, "0" * 64)
    return qemu.Machine(image, Topology(1, 2), 256, [[10]], "tcg")

"""This machine's file tree for a guest, read-only: virtiofsd, and what there is of it here.

Two programs go by that name: QEMU's own until 7.2, in C, and its successor in Rust. Both are given a socket that
listens already, so that they need no place to write to, and run where nothing can be written (see :mod:`.readonly`).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from schedlab.errors import CannotRunHere
from schedlab.vm import readonly
from schedlab.vm.processes import kept

PLACES = ("/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd")
"""Where packages put it, out of ``$PATH``: that of its own (Debian 13, Fedora), and Debian 12's qemu-system-common."""

TAG = "host"
"""The name by which a guest mounts it."""

HIDDEN = ("/dev", "/proc", "/run", "/sys", "/tmp")
"""Folders that are the guest's own, in place of this machine's."""

PROBE_SECONDS = 20.0
"""A probe makes a namespace and ends; a machine on which that takes longer is stuck."""


def daemon() -> str | None:
    """Path of a virtiofsd; the newer kind where there are both, None where there is none."""
    for path in (shutil.which("virtiofsd"), *PLACES):
        if path is not None and os.access(path, os.X_OK):
            return path
    return None


@cache
def is_in_c(program: str) -> bool:
    """Whether it is QEMU's own, which names libfuse's interface with its version; its options are others."""
    told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    return "FUSE kernel interface" in told.stdout


def arguments(program: str, in_c: bool, descriptor: int) -> list[str]:
    """Its command line for the socket that listens as this descriptor.

    It shares /, where it is already: a sandbox of its own would need more rights and keep out nothing more.
    """
    if in_c:
        told = ["-o", "source=/", "-o", "sandbox=chroot", "-o", "log_level=err", "--rlimit-nofile=0"]
        return [program, "-f", f"--fd={descriptor}", *told]
    told = ["--shared-dir=/", "--sandbox=none", "--log-level=error", "--rlimit-nofile=0"]
    return [program, f"--fd={descriptor}", *told]


def sealed(*argv: str) -> list[str]:
    """The command line that starts this one where nothing can be written."""
    return [sys.executable, "-I", "-S", str(readonly.__file__), *argv]


def fault() -> tuple[str, str] | None:
    """Why this machine's files cannot be shared here, and what to do; None when they can."""
    program = daemon()
    if program is None:
        return "there is no virtiofsd", "apt-get install virtiofsd, or on Debian 12 qemu-system-common"
    if is_in_c(program) and os.geteuid() != 0 and os.getgroups() != []:
        # It leaves all supplementary groups, which a user namespace made without rights does not allow.
        return f"{program} works for root only", "run as root, or install the virtiofsd that is written in Rust"
    try:
        tried = subprocess.run(
            sealed("/bin/true"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"making a mount namespace took more than {PROBE_SECONDS:g} s", "try again"
    if tried.returncode != 0:
        why = tried.stderr.strip() or f"status {tried.returncode}"
        return f"a guest could not be kept from writing: {why}", "run as root, or allow user namespaces"
    return None


@contextmanager
def served(path: Path, place: Path, errors: Path) -> Iterator[None]:
    """virtiofsd listening at ``path``; at the exit it is gone. ``place`` is for the launcher's files."""
    program = daemon()
    if program is None:
        raise CannotRunHere("there is no virtiofsd", todo="leave host_files away, or install it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        try:
            listening.bind(str(path))
        except OSError as error:
            raise CannotRunHere(
                f"no socket can be made: {error}", where=str(path), todo="take a shorter TMPDIR"
            ) from error
        listening.listen(1)
        descriptor = listening.fileno()
        argv = sealed(*arguments(program, is_in_c(program), descriptor))
        with kept(argv, place / "share-report", errors, (descriptor,)):
            # The daemon alone holds it now: when it dies, QEMU is told so and does not wait for an answer.
            listening.close()
            yield

"""This machine's file tree for a guest, read-only, through virtiofsd.

There are two programs with this name: a C program, part of QEMU up to 7.2, and its successor in Rust. Both programs
receive a listening socket, so that the programs need no writable folder and can run in a read-only mount namespace (see
:mod:`.readonly`).
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
from schedlab.targets.vm import readonly
from schedlab.workloads.launcher import background

PLACES = ("/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd")
"""Paths of packages outside ``$PATH``: the separate package (Debian 13, Fedora), and Debian 12's qemu-system-common."""

TAG = "host"
"""The name under which a guest mounts the file tree."""

HIDDEN = ("/dev", "/proc", "/run", "/sys", "/tmp")
"""Folders that a guest does not share with this machine: the guest's versions replace this machine's versions."""

PROBE_SECONDS = 20.0
"""Limit for a probe that only makes a namespace."""


def daemon() -> str | None:
    """Return the path of a virtiofsd, preferably the program in Rust; None if no virtiofsd is installed."""
    for path in (shutil.which("virtiofsd"), *PLACES):
        if path is not None and os.access(path, os.X_OK):
            return path
    return None


@cache
def is_in_c(program: str) -> bool:
    """Whether the program is the C program, which prints libfuse's interface version and has other options."""
    result = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    return "FUSE kernel interface" in result.stdout


def arguments(program: str, in_c: bool, descriptor: int) -> list[str]:
    """Return the command line for a listening socket with this descriptor.

    The daemon shares / without the sandbox of virtiofsd: the sandbox would need more privileges and hide no more files.
    """
    if in_c:
        options = ["-o", "source=/", "-o", "sandbox=chroot", "-o", "log_level=err", "--rlimit-nofile=0"]
        return [program, "-f", f"--fd={descriptor}", *options]
    options = ["--shared-dir=/", "--sandbox=none", "--log-level=error", "--rlimit-nofile=0"]
    return [program, f"--fd={descriptor}", *options]


def sealed(*argv: str) -> list[str]:
    """Return the command line that starts this command in a read-only mount namespace."""
    return [sys.executable, "-I", "-S", str(readonly.__file__), *argv]


def fault() -> tuple[str, str] | None:
    """Return why this machine's files cannot be shared, and a remedy; None when the files can be shared."""
    program = daemon()
    if program is None:
        return "there is no virtiofsd", "apt-get install virtiofsd, or on Debian 12 qemu-system-common"
    if is_in_c(program) and os.geteuid() != 0 and os.getgroups() != []:
        # The daemon leaves all supplementary groups, which an unprivileged user namespace does not allow.
        return f"{program} works for root only", "run as root, or install the virtiofsd that is written in Rust"
    try:
        result = subprocess.run(
            sealed("/bin/true"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"making a mount namespace took more than {PROBE_SECONDS:g} s", "try again"
    if result.returncode != 0:
        reason = result.stderr.strip() or f"status {result.returncode}"
        return f"the file tree cannot be made read-only: {reason}", "run as root, or allow user namespaces"
    return None


@contextmanager
def served(path: Path, place: Path, errors: Path) -> Iterator[None]:
    """Run virtiofsd on a socket at ``path`` during the block. ``place`` is a folder for the launcher's report."""
    program = daemon()
    if program is None:
        raise CannotRunHere("there is no virtiofsd", todo="install virtiofsd, or remove host_files from [target]")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        try:
            listening.bind(str(path))
        except OSError as error:
            raise CannotRunHere(
                f"no socket can be made: {error}", where=str(path), todo="set TMPDIR to a shorter path"
            ) from error
        listening.listen(1)
        descriptor = listening.fileno()
        argv = sealed(*arguments(program, is_in_c(program), descriptor))
        with background(argv, place / "share-report", errors, (descriptor,)):
            # Only the daemon keeps the socket open: QEMU is notified when the program dies, and does not wait for a
            # reply.
            listening.close()
            yield

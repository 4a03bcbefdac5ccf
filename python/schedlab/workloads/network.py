"""A loopback network that belongs to one run: for servers whose port is fixed.

The network is held by an open file of this process, ``/proc/PID/fd/N``, and by the processes inside: when those are
gone, it is gone too, also after SIGKILL. Without root a user namespace of its own makes it possible, where the
kernel lets ordinary users have one (user_namespaces(7)).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from schedlab.workloads.base import Tool

TOOLS = (
    Tool("unshare", "util-linux"),
    Tool("nsenter", "util-linux"),
    Tool("ip", "iproute2", ("/usr/sbin/ip", "/sbin/ip")),
)
_UP = "PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && echo up && exec cat"


@contextmanager
def network(folder: Path) -> Iterator[None]:
    """Have a network of its own in ``folder`` (one for all who ask for it there); nothing where none can be made."""
    if _links(folder)[0].is_symlink() or not is_possible():
        yield
        return
    with _namespaces() as files:
        made = []
        try:
            for link, file in zip(_links(folder), files, strict=False):
                link.symlink_to(f"/proc/{os.getpid()}/fd/{file}")
                made.append(link)
            yield
        finally:
            for link in made:
                link.unlink(missing_ok=True)


def inside(folder: Path) -> tuple[str, ...]:
    """The words that start a command in the folder's network; none when it has no network."""
    net, user = _links(folder)
    if not net.is_symlink():
        return ()
    enter_user = (f"--user={user}", "--preserve-credentials") if user.is_symlink() else ()
    return ("nsenter", *enter_user, f"--net={net}")


@cache
def is_possible() -> bool:
    """Whether this process can make a network: root in a whole system, or user namespaces for everybody."""
    with suppress(OSError), _namespaces():
        return True
    return False


def _links(folder: Path) -> tuple[Path, Path]:
    return folder / "network", folder / "network-user"


@contextmanager
def _namespaces() -> Iterator[list[int]]:
    """Open files of a new network namespace and, without root, of the user namespace that owns it."""
    with ExitStack() as stack:
        own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        with _helper(["unshare", *own, "--net", "sh", "-c", _UP]) as pid:
            files = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in ("net", *(["user"] if own else []))]
            for file in files:
                stack.callback(os.close, file)
        yield files


@contextmanager
def _helper(argv: list[str]) -> Iterator[int]:
    """A process that lives until this block is left; OSError when it does not come up."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as helper:
        assert helper.stdin is not None
        assert helper.stdout is not None
        with closing(helper.stdin):
            if helper.stdout.readline() != b"up\n":
                raise OSError("no network of its own can be made")
            yield helper.pid

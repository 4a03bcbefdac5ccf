"""Private loopback network of a run, for servers with a fixed port.

An open file of this process, ``/proc/PID/fd/N``, and the processes inside keep the network alive. It disappears with
them, also after SIGKILL. Without root the network needs a new user namespace, where the kernel allows ordinary users to
make one (user_namespaces(7)).
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
    """Make a private network, shared by all callers with the same ``folder``; does nothing where it is not possible."""
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
    """Return the words that start a command in the folder's network; empty when the folder has no network."""
    net, user = _links(folder)
    if not net.is_symlink():
        return ()
    enter_user = (f"--user={user}", "--preserve-credentials") if user.is_symlink() else ()
    return ("nsenter", *enter_user, f"--net={net}")


@cache
def is_possible() -> bool:
    """Return whether this process can make a network: as root, or where every user may make user namespaces."""
    with suppress(OSError), _namespaces():
        return True
    return False


def _links(folder: Path) -> tuple[Path, Path]:
    return folder / "network", folder / "network-user"


@contextmanager
def _namespaces() -> Iterator[list[int]]:
    """Open the files of a new network namespace and, without root, of the user namespace that owns it."""
    with ExitStack() as stack:
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        with _helper(["unshare", *user, "--net", "sh", "-c", _UP]) as pid:
            files = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in ("net", *(["user"] if user else []))]
            for file in files:
                stack.callback(os.close, file)
        yield files


@contextmanager
def _helper(argv: list[str]) -> Iterator[int]:
    """Run a process until the block ends; OSError when it does not start."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as helper:
        assert helper.stdin is not None
        assert helper.stdout is not None
        with closing(helper.stdin):
            if helper.stdout.readline() != b"up\n":
                raise OSError("no private network can be made")
            yield helper.pid

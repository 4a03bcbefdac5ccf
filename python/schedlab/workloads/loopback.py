"""Benchmarks over the loopback interface: parameters, ports, and the private network of a run.

A server with a fixed port runs in the private network. An open file of this process, ``/proc/PID/fd/N``, and the
processes inside keep the network alive. The network disappears with these processes, also after SIGKILL. Without root
the network needs a new user namespace, where the kernel allows ordinary users to make one (user_namespaces(7)).
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from schedlab.workloads.base import Parameters

ADDRESS = "127.0.0.1"

LARGEST_DATAGRAM = 65_507
"""Bytes of payload that fit into one IPv4 UDP datagram: 65 535 less the IP and UDP headers (RFC 791, RFC 768)."""

_UP = "PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && echo up && exec cat"

Protocol = Literal["tcp", "udp"]
Seconds = Annotated[int, Field(ge=1, le=86_400, description="timed seconds")]
MessageBytes = Annotated[int, Field(ge=1, le=LARGEST_DATAGRAM, description="bytes per message")]


class StreamParameters(Parameters):
    """Messages of ``size`` bytes over one connection in one direction, at the highest possible rate."""

    protocol: Protocol = "tcp"
    size: MessageBytes = 16_384
    duration: Seconds = 10


class PingParameters(Parameters):
    """One connection: a request of ``request`` bytes, a reply of ``reply`` bytes, and again."""

    protocol: Protocol = "tcp"
    request: MessageBytes = 1
    reply: MessageBytes = 1
    duration: Seconds = 10


def free_port() -> int:
    """Return a free TCP port of the loopback address; another process may still bind it first."""
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


def listening(port: int, enter: Sequence[str] = ()) -> str:
    """Return a ``ready`` condition of a server: a process listens on the port.

    The arguments ``enter`` start a command in the network of the port. The condition reads /proc instead of connecting:
    iperf3 treats a connection that closes at once as a failed test. A server then reopens its port, which resets a
    client that connects at that moment.
    """
    # Line of "net/tcp" in proc_pid_net(5): the local port in hexadecimal, any peer, state 0A (listen).
    look = f"cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ':{port:04X} [0-9A-F]*:0000 0A '"
    return "exec:" + shlex.join([*enter, "sh", "-c", look])


def is_taken(port: int) -> bool:
    """Return whether a TCP server could not bind this port on every address now."""
    with socket.socket() as probe:
        # Connections of an earlier trial in TIME_WAIT do not prevent a server from binding.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return True
        return False


@contextmanager
def network(folder: Path) -> Iterator[None]:
    """Make a private network, shared by all callers with the same ``folder``; do nothing where this is not possible."""
    if _links(folder)[0].is_symlink() or not is_possible():
        yield
        return
    with _namespaces() as files:
        links = []
        try:
            for link, file in zip(_links(folder), files, strict=False):
                link.symlink_to(f"/proc/{os.getpid()}/fd/{file}")
                links.append(link)
            yield
        finally:
            for link in links:
                link.unlink(missing_ok=True)


def inside(folder: Path) -> tuple[str, ...]:
    """Return the arguments that start a command in the folder's network; empty when the folder has no network."""
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
    """Run a process until the block ends; OSError when the process does not start."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as helper:
        assert helper.stdin is not None
        assert helper.stdout is not None
        with closing(helper.stdin):
            if helper.stdout.readline() != b"up\n":
                raise OSError("no private network can be made")
            yield helper.pid

"""Parameters and ports of benchmarks over the loopback interface."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from schedlab.workloads.base import Parameters

ADDRESS = "127.0.0.1"

LARGEST_DATAGRAM = 65_507
"""Bytes of payload that fit into one IPv4 UDP datagram: 65 535 less the IP and UDP headers (RFC 791, RFC 768)."""

Protocol = Literal["tcp", "udp"]
Seconds = Annotated[int, Field(ge=1, le=86_400, description="timed seconds")]
MessageBytes = Annotated[int, Field(ge=1, le=LARGEST_DATAGRAM, description="bytes per message")]


class StreamParameters(Parameters):
    """One connection, one direction: messages of ``size`` bytes as fast as they go."""

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

    The words ``enter`` start a command in the network of the port. The condition reads /proc instead of connecting:
    iperf3 takes a connection that closes at once for a broken test and opens its port again, which resets a client that
    connects at that moment.
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

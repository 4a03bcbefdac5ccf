"""Benchmarks over the loopback interface: parameters, ports, and the private network of a trial.

A server with a fixed port runs in a private network, which a server of the trial before it makes and keeps: a network
disappears with its last process, also after SIGKILL. Without root the network needs a new user namespace, where the
kernel allows ordinary users to make one (user_namespaces(7)).
"""

from __future__ import annotations

import secrets
import shlex
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from schedlab.workloads.base import Parameters, Place, Server
from schedlab.workloads.machine import Machine

ADDRESS = "127.0.0.1"

LARGEST_DATAGRAM = 65_507
"""Bytes of payload that fit into one IPv4 UDP datagram: 65 535 less the IP and UDP headers (RFC 791, RFC 768)."""

_UP = "PATH=$PATH:/usr/sbin:/sbin; ip link set lo up"

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
    return "exec:" + shlex.join([*enter, "sh", "-c", _look(port)])


def _look(port: int) -> str:
    # Line of "net/tcp" in proc_pid_net(5): the local port in hexadecimal, any peer, state 0A (listen).
    return f"cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ':{port:04X} [0-9A-F]*:0000 0A '"


def is_taken(port: int, machine: Machine) -> bool:
    """Return whether a process of the machine listens on this TCP port."""
    return machine.output(f"{_look(port)} && echo taken") == "taken"


@dataclass(frozen=True)
class Network:
    """A private network of a trial; ``keeper`` is the first server of the trial.

    ``enter`` are the arguments that start a command in the network; empty on a machine without private networks.
    """

    keeper: tuple[Server, ...]
    enter: tuple[str, ...]


def network(place: Place) -> Network:
    """Return a new network, for one trial; an empty one where the machine's user cannot make networks."""
    if not is_possible(place.machine):
        return Network((), ())
    link = place.scratch / f"network-{secrets.token_hex(4)}"
    argv = (
        *_unshare(place.machine),
        "sh",
        "-c",
        f'{_UP} && ln -s "/proc/$$/ns" "$1" && exec sleep 999999999',
        "sh",
        str(link),
    )
    users = () if place.machine.is_root else (f"--user={link}/user", "--preserve-credentials")
    return Network(
        (Server(("exec", *argv), f"exec:test -e {shlex.quote(str(link))}"),), ("nsenter", *users, f"--net={link}/net")
    )


def is_possible(machine: Machine) -> bool:
    """Return whether trials can make a network: as root, or where every user may make user namespaces."""
    script = f"{shlex.join([*_unshare(machine), 'sh', '-c', _UP])} && echo possible"
    return machine.fact(script) == "possible"


def _unshare(machine: Machine) -> tuple[str, ...]:
    return ("unshare", *(() if machine.is_root else ("--user", "--map-root-user")), "--net")

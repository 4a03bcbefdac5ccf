"""tbench of the dbench package: clients send a file server's traffic to ``tbench_srv`` and wait for each answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from schedlab.workloads import loopback
from schedlab.workloads.base import Command, Equivalent, OutputAdapter, Parameters, Place, Server, Tool
from schedlab.workloads.tbench.output import METRICS, READER

PORT = 7003
"""Port that is compiled into dbench 4 (``TCP_PORT`` in its ``tbench.h``); neither program has an option for it."""

_CLIENT, _SERVER = Tool("tbench", "dbench"), Tool("tbench_srv", "dbench")
_LOAD = Tool("client.txt", "dbench", ("/usr/share/dbench/client.txt",))


class TbenchParameters(Parameters):
    """Parameters: ``clients`` simultaneous connections. The warm-up is a fifth of ``duration``, in whole seconds."""

    clients: Annotated[int, Field(ge=1, le=100_000)] = 1
    duration: Annotated[int, Field(ge=2, le=86_400, description="timed seconds, warm-up not counted")] = 10


class Tbench(OutputAdapter[TbenchParameters]):
    """tbench, whose server and clients run in a private network, so that the fixed port
    is always free."""

    name = "tbench"
    summary = "tbench of the dbench package: a file server's traffic over loopback TCP"
    parameters = TbenchParameters
    metrics = METRICS
    reader = READER
    tools = (_CLIENT, _SERVER, _LOAD)
    note = "latencies are means, for all operations and for each kind, in the tool's steps of 1 µs; 1 MB is 10⁶ bytes"
    prepares = "a private network"

    def command(self, parameters: TbenchParameters, place: Place) -> Command:
        """``tbench -t SECONDS CLIENTS 127.0.0.1`` with its server, in a network of the trial."""
        program, network = place.machine.program, loopback.network(place)
        ready = loopback.listening(PORT, network.enter) if network.enter else f"tcp:{PORT}"
        server = Server((*network.enter, program(_SERVER)), ready)
        options = ("-c", program(_LOAD), "-t", str(parameters.duration), str(parameters.clients))
        return Command((*network.enter, program(_CLIENT), *options, loopback.ADDRESS), (*network.keeper, server))

    def seconds(self, parameters: TbenchParameters) -> float:
        """Timed seconds, the warm-up, and the start of the clients."""
        return parameters.duration + parameters.duration // 5 + 0.2 + parameters.clients * 1e-3

    def missing_requirements(self, parameters: TbenchParameters, place: Place) -> list[str]:
        """The fixed port in use, where no private network can be made."""
        if loopback.is_possible(place.machine) or not loopback.is_taken(PORT, place.machine):
            return []
        return [
            f"port {PORT}, which tbench_srv cannot change, is in use, and this user cannot make a private network: "
            f"stop the server of that port ('ss -ltnp sport = :{PORT}' names the server) or run as root"
        ]

    def equivalent(self, parameters: TbenchParameters) -> Equivalent:
        """The native tbench, warmed up for as long as the tool does."""
        timing = {"duration": parameters.duration, "warmup": parameters.duration // 5}
        same = {"throughput": "throughput", "latency": "latency"}
        return Equivalent("tbench-native", {"clients": parameters.clients, **timing}, same)

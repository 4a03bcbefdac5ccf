"""tbench of the dbench package: clients that send a file server's traffic to ``tbench_srv`` and await each answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import Field

from schedlab.workloads import loopback
from schedlab.workloads.base import (
    Adapter,
    Command,
    Equivalent,
    Metric,
    MetricSpec,
    NotUnderstood,
    Output,
    Parameters,
    Place,
    Server,
    Tool,
)
from schedlab.workloads.network import inside, is_possible, network
from schedlab.workloads.tools import need

PORT = 7003
"""Compiled into dbench 4 (``TCP_PORT`` in its ``tbench.h``); neither program has an option for it."""

OPERATIONS = (
    "NTCreateX", "Close", "Rename", "Unlink", "Deltree", "Mkdir", "Qpathinfo", "Qfileinfo", "Qfsinfo", "Sfileinfo",
    "Find", "WriteX", "ReadX", "LockX", "UnlockX", "Flush",
)  # fmt: skip
"""What the load file of dbench 4 plays back, as its table of latencies names them."""

_CLIENT, _SERVER = Tool("tbench", "dbench"), Tool("tbench_srv", "dbench")
_LOAD = Tool("client.txt", "dbench", ("/usr/share/dbench/client.txt",))
_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)"
THROUGHPUT_LINE = re.compile(rf"^Throughput {_NUMBER} MB/sec .*max_latency={_NUMBER} ms.*$", re.MULTILINE)
_ROW = re.compile(rf"^ (\w+)\s+([0-9]{{1,15}})\s+{_NUMBER}\s+{_NUMBER}$", re.MULTILINE)


def figures(text: str) -> dict[str, float]:
    """The figures of one run by the names of the metrics, latencies in µs.

    Raises:
        NotUnderstood: the line of the throughput, or the table of latencies above it, is not there.
    """
    match = THROUGHPUT_LINE.search(text)
    if match is None or float(match[1]) <= 0:
        raise NotUnderstood('tbench printed no line "Throughput N MB/sec … max_latency=N ms" above zero')
    # In the table times are milliseconds with three decimals.
    rows = [(name, int(count), 1e3 * float(mean)) for name, count, mean, _ in _ROW.findall(text)]
    total = sum(count for _, count, _ in rows)
    if not total:
        raise NotUnderstood("tbench printed no table of operations and their latencies")
    return {
        "throughput": float(match[1]),
        "latency": sum(count * mean for _, count, mean in rows) / total,
        "latency-max": 1e3 * float(match[2]),
    } | {f"latency-{name.lower()}": mean for name, _, mean in rows}


class TbenchParameters(Parameters):
    """``clients`` connections at once. The tool warms up for a fifth of ``duration`` (whole seconds) before it."""

    clients: Annotated[int, Field(ge=1, le=100_000)] = 1
    duration: Annotated[int, Field(ge=2, le=86_400, description="timed seconds, warm-up not counted")] = 10


class Tbench(Adapter[TbenchParameters]):
    """The real tool; server and clients have a network of their own, so its fixed port is in nobody's way."""

    name = "tbench"
    summary = "tbench of the dbench package: a file server's traffic over loopback TCP"
    parameters = TbenchParameters
    metrics = (
        MetricSpec("throughput", "MB/s", "higher"),
        MetricSpec("latency", "us", "lower", judged=False),
        MetricSpec("latency-max", "us", "lower", judged=False),
        *(MetricSpec(f"latency-{operation.lower()}", "us", "lower", judged=False) for operation in OPERATIONS),
    )
    tools = (_CLIENT, _SERVER, _LOAD)
    note = "latencies are means, for all operations and for each kind, in the tool's steps of 1 µs; 1 MB is 10⁶ bytes"
    prepares = "a network of its own"

    @contextmanager
    def prepared(self, parameters: TbenchParameters, place: Place) -> Iterator[None]:
        """A network for the run."""
        with network(place.scratch):
            yield

    def command(self, parameters: TbenchParameters, place: Place) -> Command:
        """``tbench -t SECONDS CLIENTS 127.0.0.1`` beside its server."""
        enter = inside(place.scratch)
        server = Server((*enter, need(_SERVER)), loopback.listening(PORT, enter) if enter else f"tcp:{PORT}")
        options = ("-c", need(_LOAD), "-t", str(parameters.duration), str(parameters.clients))
        return Command((*enter, need(_CLIENT), *options, loopback.ADDRESS), (server,))

    def parse(self, parameters: TbenchParameters, output: Output) -> list[Metric]:
        """The line ``Throughput N MB/sec`` and the table of latencies above it."""
        values = figures(output.stdout)
        return [Metric(spec, values[spec.name]) for spec in self.metrics if spec.name in values]

    def seconds(self, parameters: TbenchParameters) -> float:
        """Timed seconds, the warm-up, and the start of the clients."""
        return parameters.duration + parameters.duration // 5 + 0.2 + parameters.clients * 1e-3

    def obstacles(self, parameters: TbenchParameters) -> list[str]:
        """Where no network can be made, the fixed port must be free."""
        if is_possible() or not loopback.is_taken(PORT):
            return []
        return [
            f"port {PORT}, which tbench_srv cannot change, is in use, and this user cannot make a network of its own: "
            f"stop the server there ('ss -ltnp sport = :{PORT}' names it) or run as root"
        ]

    def equivalent(self, parameters: TbenchParameters) -> Equivalent:
        """The native tbench, warmed up for as long as the tool does."""
        timing = {"duration": parameters.duration, "warmup": parameters.duration // 5}
        same = {"throughput": "throughput", "latency": "latency"}
        return Equivalent("tbench-native", {"clients": parameters.clients, **timing}, same)

"""iperf3: throughput over loopback, from the package every distribution has."""

from __future__ import annotations

import json
from typing import Any

from schedlab.workloads import loopback
from schedlab.workloads.base import Adapter, Command, Equivalent, Metric, NotUnderstood, Output, Place, Server, Tool
from schedlab.workloads.loopback import StreamParameters
from schedlab.workloads.tools import need

_TOOL = Tool("iperf3", "iperf3")
MBIT = 1e6
"""Bits in a megabit, as iperf3 and netperf count."""


def rates(told: Any) -> tuple[float, float]:
    """Mbit/s that were received and sent over the whole test, from iperf3's JSON object.

    Raises:
        NotUnderstood: it tells an error, or has another shape.
    """
    try:
        if "error" in told:
            raise NotUnderstood(f"iperf3 says: {told['error']}")
        received, sent = (float(told["end"][key]["bits_per_second"]) / MBIT for key in ("sum_received", "sum_sent"))
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise NotUnderstood(f"iperf3's output is not its JSON object: {error!r}") from error
    return received, sent


class Iperf3(Adapter[StreamParameters]):
    """One stream, the client sends; UDP without the rate limit that iperf3 has by default."""

    name = "iperf3"
    summary = "iperf3 over loopback, TCP or UDP: one stream"
    parameters = StreamParameters
    metrics = (loopback.RECEIVED, loopback.SENT)
    tools = (_TOOL,)
    note = "checks the native stream's figures; its receiver reads a TCP stream in blocks of ``size`` bytes"

    def command(self, parameters: StreamParameters, place: Place) -> Command:
        """``iperf3 --client`` beside an ``iperf3 --server`` on a free port."""
        free = loopback.free_port()
        port = str(free)
        server = Server((need(_TOOL), "--server", "--bind", loopback.ADDRESS, "--port", port), loopback.listening(free))
        kind = ["--udp", "--bitrate", "0"] if parameters.protocol == "udp" else []
        sizes = ["--time", str(parameters.duration), "--length", str(parameters.size)]
        head = (need(_TOOL), "--client", loopback.ADDRESS, "--port", port, "--json")
        return Command((*head, *kind, *sizes), (server,))

    def parse(self, parameters: StreamParameters, output: Output) -> list[Metric]:
        """``end.sum_received`` and ``end.sum_sent`` of its JSON."""
        try:
            told = json.loads(output.stdout)
        except ValueError as error:
            raise NotUnderstood(f"iperf3's output is not its JSON object: {error!r}") from error
        received, sent = rates(told)
        return [Metric(loopback.RECEIVED, received), Metric(loopback.SENT, sent)]

    def seconds(self, parameters: StreamParameters) -> float:
        """The duration and iperf3's exchange of settings and results."""
        return parameters.duration + 0.2

    def equivalent(self, parameters: StreamParameters) -> Equivalent:
        """The native stream."""
        return Equivalent("stream", parameters.model_dump(), {"received": "received", "sent": "sent"})

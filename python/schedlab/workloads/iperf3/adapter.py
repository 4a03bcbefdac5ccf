"""iperf3: throughput over loopback."""

from __future__ import annotations

from schedlab.workloads import loopback
from schedlab.workloads.base import Command, Equivalent, OutputAdapter, Place, Server, Tool
from schedlab.workloads.iperf3.output import READER
from schedlab.workloads.loopback import StreamParameters
from schedlab.workloads.netperf.metrics import RECEIVED, SENT

_TOOL = Tool("iperf3", "iperf3")


class Iperf3(OutputAdapter[StreamParameters]):
    """One stream from client to server. UDP runs without iperf3's default rate limit."""

    name = "iperf3"
    summary = "iperf3 over loopback, TCP or UDP: one stream"
    parameters = StreamParameters
    metrics = (RECEIVED, SENT)
    overhead = 0.2
    reader = READER
    tools = (_TOOL,)
    note = "checks the native stream's figures; the receiver reads a TCP stream in blocks of ``size`` bytes"

    def command(self, parameters: StreamParameters, place: Place) -> Command:
        """``iperf3 --client`` with an ``iperf3 --server`` on a free port."""
        port = loopback.free_port()
        at_port = ("--port", str(port))
        server = Server(
            (place.machine.program(_TOOL), "--server", "--bind", loopback.ADDRESS, *at_port), loopback.listening(port)
        )
        kind = ["--udp", "--bitrate", "0"] if parameters.protocol == "udp" else []
        sizes = ["--time", str(parameters.duration), "--length", str(parameters.size)]
        return Command(
            (place.machine.program(_TOOL), "--client", loopback.ADDRESS, *at_port, "--json", *kind, *sizes), (server,)
        )

    def equivalent(self, parameters: StreamParameters) -> Equivalent:
        """The native stream."""
        return Equivalent("stream", parameters.model_dump(), {"received": "received", "sent": "sent"})

"""netperf: its stream and its request/response tests over loopback."""

from __future__ import annotations

from abc import abstractmethod

from schedlab.workloads import loopback
from schedlab.workloads.base import Command, Equivalent, OutputAdapter, P, Place, Server, Tool
from schedlab.workloads.loopback import PingParameters, StreamParameters
from schedlab.workloads.netperf.metrics import LATENCY, LATENCY_P50, LATENCY_P99, RECEIVED, SENT, TRANSACTIONS
from schedlab.workloads.netperf.output import READER

_SOURCE = "Debian's section non-free or https://github.com/HewlettPackard/netperf; 'stream' and 'rr' need no netperf"
_CLIENT, _SERVER = Tool("netperf", "netperf", source=_SOURCE), Tool("netserver", "netperf", source=_SOURCE)


class _Netperf(OutputAdapter[P]):
    """The server, and the output as lines ``KEY=value`` (netperf's ``-k``)."""

    reader = READER
    complete = True
    tools = (_CLIENT, _SERVER)
    keys: tuple[str, ...]
    """The output key of each metric in ``metrics``, in the same order."""

    @abstractmethod
    def test(self, parameters: P) -> tuple[str, int, list[str]]:
        """Return the test's name, its seconds, and its specific options."""

    def command(self, parameters: P, place: Place) -> Command:
        """``netperf`` with a ``netserver`` on a free port."""
        test, duration, options = self.test(parameters)
        port = loopback.free_port()
        server = Server(
            (place.machine.program(_SERVER), "-D", "-4", "-L", loopback.ADDRESS, "-p", str(port)), f"tcp:{port}"
        )
        head = (
            place.machine.program(_CLIENT),
            "-4",
            "-H",
            loopback.ADDRESS,
            "-p",
            str(port),
            "-t",
            test,
            "-l",
            str(duration),
        )
        return Command((*head, "--", *options, "-k", ",".join(self.keys)), (server,))


class Netperf(_Netperf[StreamParameters]):
    """TCP_STREAM and UDP_STREAM."""

    name = "netperf"
    summary = "netperf TCP_STREAM or UDP_STREAM over loopback"
    parameters = StreamParameters
    metrics = (RECEIVED, SENT)
    keys = ("REMOTE_RECV_THROUGHPUT", "LOCAL_SEND_THROUGHPUT")

    def test(self, parameters: StreamParameters) -> tuple[str, int, list[str]]:
        """``-m`` and ``-M``: bytes of each send and of each receive; rates are in 10⁶ bit/s."""
        options = ["-m", str(parameters.size), "-M", str(parameters.size)]
        return f"{parameters.protocol.upper()}_STREAM", parameters.duration, options

    def equivalent(self, parameters: StreamParameters) -> Equivalent:
        """The native stream."""
        return Equivalent("stream", parameters.model_dump(), {"received": "received", "sent": "sent"})


class NetperfRr(_Netperf[PingParameters]):
    """TCP_RR and UDP_RR."""

    name = "netperf-rr"
    summary = "netperf TCP_RR or UDP_RR over loopback: one request, one reply"
    parameters = PingParameters
    metrics = (TRANSACTIONS, LATENCY, LATENCY_P50, LATENCY_P99)
    keys = ("THROUGHPUT", "MEAN_LATENCY", "P50_LATENCY", "P99_LATENCY")

    def test(self, parameters: PingParameters) -> tuple[str, int, list[str]]:
        """``-r``: bytes of request and reply."""
        options = ["-r", f"{parameters.request},{parameters.reply}"]
        return f"{parameters.protocol.upper()}_RR", parameters.duration, options

    def equivalent(self, parameters: PingParameters) -> Equivalent:
        """The native request/response test."""
        return Equivalent("rr", parameters.model_dump(), {spec.name: spec.name for spec in self.metrics})

"""rr as ``schedload`` runs it: a request, a reply, and again, the shape of netperf's request/response tests."""

from __future__ import annotations

from schedlab.workloads.loopback import PingParameters
from schedlab.workloads.metrics import TRANSACTIONS
from schedlab.workloads.native import LATENCIES, Tasks, Timed, TimedParameters


class NativePingParameters(TimedParameters, PingParameters):
    """netperf's, and several ``pairs`` of a client and a server at once."""

    pairs: Tasks = 1


class Rr(Timed[NativePingParameters]):
    """The native TCP_RR and UDP_RR."""

    name = "rr"
    summary = "request and reply over loopback TCP or UDP (netperf's request/response tests)"
    parameters = NativePingParameters
    metrics = (TRANSACTIONS, *LATENCIES)

    def options(self, parameters: NativePingParameters) -> list[str]:
        """The options of ``schedload rr``."""
        sizes = ["--request", str(parameters.request), "--reply", str(parameters.reply)]
        return ["rr", "--protocol", parameters.protocol, *sizes, "--pairs", str(parameters.pairs), *parameters.timing()]

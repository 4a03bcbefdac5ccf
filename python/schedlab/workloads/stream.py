"""stream as ``schedload`` runs it: messages over loopback as fast as they go, the shape of netperf's stream tests."""

from __future__ import annotations

from schedlab.workloads.base import Metric, Output
from schedlab.workloads.loopback import StreamParameters
from schedlab.workloads.metrics import RECEIVED, SENT
from schedlab.workloads.native import Tasks, Timed, TimedParameters


class NativeStreamParameters(TimedParameters, StreamParameters):
    """netperf's, and several ``pairs`` of a sender and a receiver at once."""

    pairs: Tasks = 1


class Stream(Timed[NativeStreamParameters]):
    """The native TCP_STREAM and UDP_STREAM."""

    name = "stream"
    summary = "messages over loopback TCP or UDP as fast as they go (netperf's stream tests)"
    parameters = NativeStreamParameters
    metrics = (RECEIVED, SENT)
    note = "a TCP receiver takes whatever is there, whatever the size; sent is told for UDP only"

    def options(self, parameters: NativeStreamParameters) -> list[str]:
        """The options of ``schedload stream``."""
        what = ["--protocol", parameters.protocol, "--size", str(parameters.size), "--pairs", str(parameters.pairs)]
        return ["stream", *what, *parameters.timing()]

    def parse(self, parameters: NativeStreamParameters, output: Output) -> list[Metric]:
        """What was received, and over UDP also what was sent."""
        told = self.told(output)
        if parameters.protocol == "tcp":
            return [self.metric(told, RECEIVED, "throughput")]
        return [self.metric(told, RECEIVED, "receive"), self.metric(told, SENT, "send")]

"""netperf, the reference of network benchmarks: its stream and its request/response tests over loopback."""

from __future__ import annotations

import re
from abc import abstractmethod

from schedlab.workloads import loopback
from schedlab.workloads.base import (
    Adapter,
    Command,
    Equivalent,
    Metric,
    MetricSpec,
    NotUnderstood,
    Output,
    P,
    Place,
    Server,
    Tool,
)
from schedlab.workloads.loopback import PingParameters, StreamParameters
from schedlab.workloads.tools import need

_SOURCE = "Debian's section non-free or https://github.com/HewlettPackard/netperf; 'stream' and 'rr' do without"
_CLIENT, _SERVER = Tool("netperf", "netperf", source=_SOURCE), Tool("netserver", "netperf", source=_SOURCE)

SAID_LINE = re.compile(r"^([A-Z0-9_]+)=(.*)$", re.MULTILINE)
"""The output of ``-k``."""

LATENCY = MetricSpec("latency", "us", "lower", judged=False)
LATENCY_P50 = MetricSpec("latency-p50", "us", "lower", judged=False)
LATENCY_P99 = MetricSpec("latency-p99", "us", "lower", judged=False)


class _Netperf(Adapter[P]):
    """What the tests share: the server, and the output as lines ``KEY=value`` (netperf's ``-k``)."""

    tools = (_CLIENT, _SERVER)
    keys: tuple[str, ...]
    """The output that each metric of ``metrics`` is read from, in the same order."""

    @abstractmethod
    def test(self, parameters: P) -> tuple[str, int, list[str]]:
        """The test's name, its seconds, and its own options."""

    def command(self, parameters: P, place: Place) -> Command:
        """``netperf`` beside a ``netserver`` on a free port."""
        test, duration, options = self.test(parameters)
        port = loopback.free_port()
        server = Server((need(_SERVER), "-D", "-4", "-L", loopback.ADDRESS, "-p", str(port)), f"tcp:{port}")
        head = (need(_CLIENT), "-4", "-H", loopback.ADDRESS, "-p", str(port), "-t", test, "-l", str(duration))
        return Command((*head, "--", *options, "-k", ",".join(self.keys)), (server,))

    def parse(self, parameters: P, output: Output) -> list[Metric]:
        """The asked-for lines ``KEY=value``."""
        said = {key: value for key, value in SAID_LINE.findall(output.stdout) if re.fullmatch(r"[0-9.]+", value)}
        lacking = [key for key in self.keys if key not in said]
        if lacking:
            raise NotUnderstood(f"netperf printed no line {lacking[0]}=…")
        return [Metric(spec, float(said[key])) for spec, key in zip(self.metrics, self.keys, strict=True)]


class Netperf(_Netperf[StreamParameters]):
    """TCP_STREAM and UDP_STREAM."""

    name = "netperf"
    summary = "netperf TCP_STREAM or UDP_STREAM over loopback"
    parameters = StreamParameters
    metrics = (loopback.RECEIVED, loopback.SENT)
    keys = ("REMOTE_RECV_THROUGHPUT", "LOCAL_SEND_THROUGHPUT")

    def test(self, parameters: StreamParameters) -> tuple[str, int, list[str]]:
        """``-m`` and ``-M``: bytes of each send and of each receive; the rates in 10⁶ bit/s."""
        options = ["-m", str(parameters.size), "-M", str(parameters.size)]
        return f"{parameters.protocol.upper()}_STREAM", parameters.duration, options

    def seconds(self, parameters: StreamParameters) -> float:
        """The duration; the server is up at once."""
        return parameters.duration + 0.1

    def equivalent(self, parameters: StreamParameters) -> Equivalent:
        """The native stream."""
        return Equivalent("stream", parameters.model_dump(), {"received": "received", "sent": "sent"})


class NetperfRr(_Netperf[PingParameters]):
    """TCP_RR and UDP_RR."""

    name = "netperf-rr"
    summary = "netperf TCP_RR or UDP_RR over loopback: one request, one reply"
    parameters = PingParameters
    metrics = (loopback.TRANSACTIONS, LATENCY, LATENCY_P50, LATENCY_P99)
    keys = ("THROUGHPUT", "MEAN_LATENCY", "P50_LATENCY", "P99_LATENCY")

    def test(self, parameters: PingParameters) -> tuple[str, int, list[str]]:
        """``-r``: bytes of request and reply."""
        options = ["-r", f"{parameters.request},{parameters.reply}"]
        return f"{parameters.protocol.upper()}_RR", parameters.duration, options

    def seconds(self, parameters: PingParameters) -> float:
        """The duration; the server is up at once."""
        return parameters.duration + 0.1

    def equivalent(self, parameters: PingParameters) -> Equivalent:
        """The native request/response test."""
        same = ("transactions", "latency", "latency-p50", "latency-p99")
        return Equivalent("rr", parameters.model_dump(), {name: name for name in same})

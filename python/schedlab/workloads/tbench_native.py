"""tbench as ``schedload`` runs it: a file server's requests over loopback TCP, in the proportions of tbench's file."""

from __future__ import annotations

from schedlab.workloads.base import Metric, MetricSpec, Output
from schedlab.workloads.native import LATENCIES, Nanoseconds, Tasks, Timed, TimedParameters

OPERATIONS = (
    "readx", "ntcreatex", "qpathinfo", "close", "writex", "find", "unlink", "qfsinfo", "qfileinfo", "sfileinfo",
    "flush",
)  # fmt: skip
"""The kinds that the program's cycle holds: those of the load file that are not rarer than one in two hundred."""

_KINDS = {name: MetricSpec(f"latency-{name}-p50", "us", "lower", judged=False) for name in OPERATIONS}


class TbenchNativeParameters(TimedParameters):
    """``clients`` connections, each with a server process."""

    clients: Tasks = 1
    client_time: Nanoseconds = 700
    """Computation before each operation: what the tool spends on reading a line of its load file."""


class TbenchNative(Timed[TbenchNativeParameters]):
    """The native tbench; see the fidelity table for how far its figures are from the tool's."""

    name = "tbench-native"
    summary = "a file server's traffic over loopback TCP, as tbench's"
    parameters = TbenchNativeParameters
    metrics = (
        MetricSpec("throughput", "MB/s", "higher"),
        MetricSpec("operations", "ops/s", "higher", judged=False),
        *LATENCIES,
        *_KINDS.values(),
    )
    note = "latencies are of all operations; of each kind there is the median, where the tool tells means"

    def options(self, parameters: TbenchNativeParameters) -> list[str]:
        """The options of ``schedload tbench``."""
        own = ["--clients", str(parameters.clients), "--client-time", f"{parameters.client_time}ns"]
        return ["tbench", *own, *parameters.timing()]

    def parse(self, parameters: TbenchNativeParameters, output: Output) -> list[Metric]:
        """All but the kinds by their names; of the kinds the medians."""
        told = self.told(output)
        whole = [self.metric(told, spec) for spec in self.metrics if spec not in _KINDS.values()]
        kinds = [self.metric(told, spec, f"{kind}_p50") for kind, spec in _KINDS.items()]
        return [Metric(metric.spec, metric.value) for metric in (*whole, *kinds)]

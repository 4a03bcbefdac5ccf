"""Metrics of netperf, and the units in which netperf prints its throughput."""

from __future__ import annotations

from schedlab.results.metrics import MetricSpec

UNIT = r"10\^[369]bits/s(?:ec)?|[KMG]?Bytes/s(?:ec)?|Trans/s|per sec"
"""Units of throughput (``-f`` in netperf's manual): bits by powers of ten, bytes by powers of two."""

RECEIVED = MetricSpec("received", "Mbit/s", "higher")
SENT = MetricSpec("sent", "Mbit/s", "higher", judged=False)
"""Rates of a stream over the network. Over UDP more may be sent than arrives. 1 Mbit = 10⁶ bits."""
TRANSACTIONS = MetricSpec("transactions", "transactions/s", "higher")
"""Rate of requests that got their reply."""
LATENCY = MetricSpec("latency", "us", "lower", judged=False)
LATENCY_P50 = MetricSpec("latency-p50", "us", "lower", judged=False)
LATENCY_P99 = MetricSpec("latency-p99", "us", "lower", judged=False)

_BITS = {"10^3": "kbit/s", "10^6": "Mbit/s", "10^9": "Gbit/s"}
_BYTES = {"K": "KiB/s", "M": "MiB/s", "G": "GiB/s", "B": "B/s"}


def metric_of(unit: str) -> MetricSpec:
    """Return the metric of a unit of throughput, as netperf writes the unit."""
    if unit in ("Trans/s", "per sec"):
        return TRANSACTIONS
    return MetricSpec("throughput", _BITS.get(unit[:4]) or _BYTES.get(unit[:1], unit), "higher")

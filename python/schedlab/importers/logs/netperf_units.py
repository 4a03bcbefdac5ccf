"""netperf's units of throughput ("-f" in its manual): bits by powers of ten, bytes by powers of two."""

from __future__ import annotations

from schedlab.workloads.base import MetricSpec
from schedlab.workloads.loopback import TRANSACTIONS

UNIT = r"10\^[369]bits/s(?:ec)?|[KMG]?Bytes/s(?:ec)?|Trans/s|per sec"

_BITS = {"10^3": "kbit/s", "10^6": "Mbit/s", "10^9": "Gbit/s"}
_BYTES = {"K": "KiB/s", "M": "MiB/s", "G": "GiB/s", "B": "B/s"}


def of_unit(unit: str) -> MetricSpec:
    """What is measured in this unit, as netperf writes it."""
    if unit in ("Trans/s", "per sec"):
        return TRANSACTIONS
    return MetricSpec("throughput", _BITS.get(unit[:4]) or _BYTES.get(unit[:1], unit), "higher")

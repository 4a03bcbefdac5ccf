"""iperf3's JSON (``--json``): rates sent and received over the complete test, and the rate of every interval."""

from __future__ import annotations

import re
from collections.abc import Iterator

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import Object, inner, load_all, number, objects_of, parameter
from schedlab.workloads.log_reader import Log, Parameters, Reader, Reading, Samples, Unread, single_run
from schedlab.workloads.netperf.metrics import RECEIVED, SENT

_MBIT = 1e6
"""Bits in a megabit, as iperf3 counts."""
_INTERIM = MetricSpec("rate-interim", "Mbit/s", "higher")
_OTHERS = {
    ("sum_sent", "retransmits"): MetricSpec("retransmits", "segments", "lower"),
    ("sum_received", "jitter_ms"): MetricSpec("jitter", "ms", "lower"),
    ("sum", "jitter_ms"): MetricSpec("jitter", "ms", "lower"),
    ("sum", "lost_percent"): MetricSpec("lost", "%", "lower"),
    ("cpu_utilization_percent", "host_total"): MetricSpec("cpu-local", "%", "lower"),
    ("cpu_utilization_percent", "remote_total"): MetricSpec("cpu-remote", "%", "lower"),
}
"""Other metrics by their path in the object ``end``."""
_PARAMETERS = (("size", "blksize", None), ("streams", "num_streams", 1), ("reverse", "reverse", 0))
"""Names, keys and default values of parameters; only the adapter's parameter is always printed."""


def _recognises(head: str) -> bool:
    """Return whether a text begins as an object that names iperf as its version."""
    return head.lstrip().startswith("{") and '"start"' in head and '"version":' in head and '"iperf ' in head


def _read(log: Log) -> Reading:
    """Return the values of each test; tests appended to one file are samples of one row."""
    return Reading([samples for content in load_all(log) for samples in _test(log, content)])


def _test(log: Log, content: Object) -> Iterator[Samples]:
    if "error" in content:
        raise log.problem(f"iperf3's error: {content['error']}", todo="run the test again")
    rates = [number(inner(content, "end", key, "bits_per_second")) for key in ("sum_received", "sum_sent")]
    totals = [(spec, rate / _MBIT) for spec, rate in zip((RECEIVED, SENT), rates, strict=True) if rate is not None]
    if len(totals) < len(rates):
        raise log.problem(
            "iperf3's output is not its JSON object: no sum_received or sum_sent", todo="run the test again"
        )
    test = inner(content, "start", "test_start")
    parameters: Parameters = {"protocol": str(inner(test, "protocol") or "").lower()} | {
        name: parameter(value)
        for name, key, default in _PARAMETERS
        if (value := inner(test, key)) not in (None, default)
    }
    yield from single_run("iperf3", parameters, [*totals, *_others(content)])
    if intervals := [rate / _MBIT for rate in _intervals(content)]:
        yield Samples("iperf3", _INTERIM, parameters, intervals)


def _others(content: Object) -> Iterator[tuple[MetricSpec, float]]:
    yielded: set[MetricSpec] = set()
    for path, spec in _OTHERS.items():
        value = number(inner(content, "end", *path))
        if value is not None and spec not in yielded:
            yielded.add(spec)
            yield spec, value


def _intervals(content: Object) -> Iterator[float]:
    """Yield bits a second of all streams together; the time of ``--omit`` is left out."""
    for interval in objects_of(content.get("intervals")):
        total = inner(interval, "sum")
        rate = number(inner(total, "bits_per_second"))
        if rate is not None and inner(total, "omitted") is not True:
            yield rate


READER = Reader(
    "iperf3",
    "iperf3 --json",
    _recognises,
    _read,
    in_mails=False,
    unread=(
        Unread(
            re.compile(r"^\[ ID\] Interval +Transfer", re.MULTILINE),
            "iperf3's output for people",
            "run the tool with --json",
        ),
    ),
)
READERS = (READER,)

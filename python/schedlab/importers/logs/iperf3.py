"""iperf3's JSON (``--json``): what was sent and received over the test, and the rate of every interval."""

from __future__ import annotations

from collections.abc import Iterator

from schedlab.importers.logs.base import Log, Parameters, Reader, Reading, Samples, one_by_one
from schedlab.importers.logs.objects import Object, inner, load_all, number, objects, plain
from schedlab.workloads.base import MetricSpec, NotUnderstood
from schedlab.workloads.iperf3 import MBIT, rates
from schedlab.workloads.loopback import RECEIVED, SENT

_INTERIM = MetricSpec("rate-interim", "Mbit/s", "higher")
_OTHERS = {
    ("sum_sent", "retransmits"): MetricSpec("retransmits", "segments", "lower"),
    ("sum_received", "jitter_ms"): MetricSpec("jitter", "ms", "lower"),
    ("sum", "jitter_ms"): MetricSpec("jitter", "ms", "lower"),
    ("sum", "lost_percent"): MetricSpec("lost", "%", "lower"),
    ("cpu_utilization_percent", "host_total"): MetricSpec("cpu-local", "%", "lower"),
    ("cpu_utilization_percent", "remote_total"): MetricSpec("cpu-remote", "%", "lower"),
}


def recognises(head: str) -> bool:
    """An object that names iperf as its version."""
    return head.lstrip().startswith("{") and '"start"' in head and '"version":' in head and '"iperf ' in head


def read(log: Log) -> Reading:
    """The figures of each test; one after the other, they are samples of one row."""
    return Reading([one for told in load_all(log) for one in _test(log, told)])


def _test(log: Log, told: Object) -> Iterator[Samples]:
    try:
        received, sent = rates(told)
    except NotUnderstood as error:
        raise log.problem(str(error), None, "run the test again") from error
    test = inner(told, "start", "test_start")
    workload = f"iperf3-{inner(test, 'protocol') or 'test'}".lower()
    parameters: Parameters = {
        name: plain(value)
        for name, key in (("size", "blksize"), ("streams", "num_streams"), ("reverse", "reverse"))
        if (value := inner(test, key)) not in (None, 0 if name == "reverse" else None)
    }
    yield from one_by_one(workload, parameters, [(RECEIVED, received), (SENT, sent), *_others(told)])
    if each := [rate / MBIT for rate in _intervals(told)]:
        yield Samples(workload, _INTERIM, parameters, each)


def _others(told: Object) -> Iterator[tuple[MetricSpec, float]]:
    seen: set[MetricSpec] = set()
    for path, spec in _OTHERS.items():
        value = number(inner(told, "end", *path))
        if value is not None and spec not in seen:
            seen.add(spec)
            yield spec, value


def _intervals(told: Object) -> Iterator[float]:
    """Bits a second of all streams together; those of the time that was to be omitted are not asked for."""
    for interval in objects(told.get("intervals")):
        total = inner(interval, "sum")
        rate = number(inner(total, "bits_per_second"))
        if rate is not None and inner(total, "omitted") is not True:
            yield rate


READER = Reader("iperf3", "iperf3 --json", recognises, read, in_mails=False)

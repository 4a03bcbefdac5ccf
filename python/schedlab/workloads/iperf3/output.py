"""iperf3's JSON (``--json``): rates sent and received over the complete test, and the rate of every interval."""

from __future__ import annotations

import re
from collections.abc import Iterator

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import Object, inner, load_all, number, objects_of, parameter
from schedlab.workloads.log_reader import Log, Parameters, Reader, Reading, Samples, Unread, single_run
from schedlab.workloads.netperf.metrics import RECEIVED, SENT
from schedlab.workloads.origins import common, of_uname

_MBIT = 1e6
"""Bits in a megabit, as iperf3 counts."""
_INTERIM = MetricSpec("rate-interim", "Mbit/s", "higher")
_OTHERS = (
    ("sum_sent", "retransmits", MetricSpec("retransmits", "segments", "lower")),
    ("sum_received", "jitter_ms", MetricSpec("jitter", "ms", "lower")),
    ("sum", "jitter_ms", MetricSpec("jitter", "ms", "lower")),
    ("sum", "lost_percent", MetricSpec("lost", "%", "lower")),
)
"""Other metrics of a direction by the object in ``end`` and its key; the first that is printed counts."""
_CPU = {"host_total": MetricSpec("cpu-local", "%", "lower"), "remote_total": MetricSpec("cpu-remote", "%", "lower")}
"""Metrics of both directions together by their key in ``end.cpu_utilization_percent``."""
_REVERSE = "_bidir_reverse"
"""End of the names of objects for the direction from server to client in a test of both directions (``--bidir``)."""
_PARAMETERS = (
    ("size", "blksize", None),
    ("streams", "num_streams", 1),
    ("reverse", "reverse", 0),
    ("bitrate", "target_bitrate", 0),
)
"""Names, keys and default values of parameters; only the adapter's parameter is always printed."""


def _recognises(head: str) -> bool:
    """Return whether a text begins as an object that names iperf as its version."""
    return head.lstrip().startswith("{") and '"start"' in head and '"version":' in head and '"iperf ' in head


def _read(log: Log) -> Reading:
    """Return the values of each test; tests appended to one file are samples of one row."""
    tests = load_all(log)
    origin = common(
        of_uname(inner(test, "start", "system_info"), inner(test, "start", "timestamp", "timesecs")) for test in tests
    )
    return Reading([samples for test in tests for samples in _test(log, test)], origin=origin)


def _test(log: Log, content: Object) -> Iterator[Samples]:
    if "error" in content:
        raise log.problem(f"iperf3's error: {content['error']}", todo="run the test again")
    test = inner(content, "start", "test_start")
    parameters: Parameters = {"protocol": str(inner(test, "protocol") or "").lower()} | {
        name: parameter(value)
        for name, key, default in _PARAMETERS
        if (value := inner(test, key)) not in (None, default)
    }
    end = inner(content, "end")
    if not any(name.endswith(_REVERSE) for name in end or ()):
        yield from single_run("iperf3", parameters, [*_direction(log, content, ""), *_cpu(end)])
        yield from _interim(content, parameters, "sum")
        return
    # Both directions run at the same time, so neither is comparable with a test of one direction.
    for direction, suffix in (("forward", ""), ("reverse", _REVERSE)):
        of_direction = {**parameters, "bidir": direction}
        yield from single_run("iperf3", of_direction, _direction(log, content, suffix))
        yield from _interim(content, of_direction, f"sum{suffix}")
    yield from single_run("iperf3", {**parameters, "bidir": "both"}, _cpu(end))


def _direction(log: Log, content: Object, suffix: str) -> Iterator[tuple[MetricSpec, float]]:
    """Yield the values of one direction, whose objects in ``end`` have names with this ``suffix``."""
    end = inner(content, "end")
    names = {"sum_received": RECEIVED, "sum_sent": SENT}
    if "sum_sent" not in (end or ()) and _is_udp(content):
        # Up to version 3.9 the total of UDP is what the sender sent (iperf_print_results in iperf_api.c).
        names = {"sum": SENT}
    for name, spec in names.items():
        rate = number(inner(end, f"{name}{suffix}", "bits_per_second"))
        if rate is None:
            fault = f"iperf3's output is not its JSON object: no {name}{suffix} in its end"
            raise log.problem(fault, todo="run the test again")
        yield spec, rate / _MBIT
    yielded: set[MetricSpec] = set()
    for name, key, spec in _OTHERS:
        value = number(inner(end, f"{name}{suffix}", key))
        if value is not None and spec not in yielded:
            yielded.add(spec)
            yield spec, value


def _is_udp(content: Object) -> bool:
    return bool(inner(content, "start", "test_start", "protocol") == "UDP")


def _cpu(end: object) -> Iterator[tuple[MetricSpec, float]]:
    for key, spec in _CPU.items():
        if (value := number(inner(end, "cpu_utilization_percent", key))) is not None:
            yield spec, value


def _interim(content: Object, parameters: Parameters, name: str) -> Iterator[Samples]:
    """Yield the rates of all streams of a direction together; the time of ``--omit`` is left out."""
    totals = [inner(interval, name) for interval in objects_of(content.get("intervals"))]
    rates = [
        rate / _MBIT
        for total in totals
        if (rate := number(inner(total, "bits_per_second"))) is not None and inner(total, "omitted") is not True
    ]
    if rates:
        yield Samples("iperf3", _INTERIM, parameters, rates)


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

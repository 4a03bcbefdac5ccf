"""Output of netperf's omni tests: a table for people, ``KEY=value`` (``-k``), or CSV (``-o``)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import NUMBER, Lines, Log, Samples
from schedlab.workloads.network_metrics import RECEIVED, SENT, TRANSACTIONS

KEY_LINE = re.compile(r"^([A-Z0-9_]+)=(.*)$", re.MULTILINE)
"""Pattern of a line of the output of ``-k``."""
UNIT = r"10\^[369]bits/s(?:ec)?|[KMG]?Bytes/s(?:ec)?|Trans/s|per sec"
"""Units of throughput (``-f`` in netperf's manual): bits by powers of ten, bytes by powers of two."""

LATENCY = MetricSpec("latency", "us", "lower", judged=False)
LATENCY_P50 = MetricSpec("latency-p50", "us", "lower", judged=False)
LATENCY_P99 = MetricSpec("latency-p99", "us", "lower", judged=False)

_BITS = {"10^3": "kbit/s", "10^6": "Mbit/s", "10^9": "Gbit/s"}
_BYTES = {"K": "KiB/s", "M": "MiB/s", "G": "GiB/s", "B": "B/s"}

_KEYS = {
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Direction": "DIRECTION",
    "Protocol": "PROTOCOL",
    "Local Send Size": "LOCAL_SEND_SIZE",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Local CPU Util %": "LOCAL_CPU_UTIL",
    "Remote CPU Util %": "REMOTE_CPU_UTIL",
    "Local Service Demand": "LOCAL_SD",
    "Remote Service Demand": "REMOTE_SD",
    "Local Send Throughput": "LOCAL_SEND_THROUGHPUT",
    "Remote Recv Throughput": "REMOTE_RECV_THROUGHPUT",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
}
"""Keys of ``-k`` by the column names of ``-o``."""

_METRICS = {
    "LOCAL_SEND_THROUGHPUT": SENT,
    "REMOTE_RECV_THROUGHPUT": RECEIVED,
    "MEAN_LATENCY": LATENCY,
    "P50_LATENCY": LATENCY_P50,
    "P90_LATENCY": MetricSpec("latency-p90", "us", "lower"),
    "P99_LATENCY": LATENCY_P99,
    "MIN_LATENCY": MetricSpec("latency-min", "us", "lower"),
    "MAX_LATENCY": MetricSpec("latency-max", "us", "lower"),
    "STDDEV_LATENCY": MetricSpec("latency-stddev", "us", "lower"),
    "LOCAL_CPU_UTIL": MetricSpec("cpu-local", "%", "lower"),
    "REMOTE_CPU_UTIL": MetricSpec("cpu-remote", "%", "lower"),
    "LOCAL_SD": MetricSpec("demand-local", "us", "lower"),
    "REMOTE_SD": MetricSpec("demand-remote", "us", "lower"),
}
"""Metrics other than the throughput. The remaining keys describe the sockets and the machines."""

_PARAMETERS = {"LOCAL_SEND_SIZE": "size", "REQUEST_SIZE": "request", "RESPONSE_SIZE": "reply"}
_TABLE_ROW = re.compile(rf"^(?:[ \t]*-?{NUMBER}[ \t]+)*?(-?{NUMBER})[ \t]+({UNIT})[ \t]*$", re.MULTILINE)


def metric_of(unit: str) -> MetricSpec:
    """Return the metric of a unit of throughput, as netperf writes the unit."""
    if unit in ("Trans/s", "per sec"):
        return TRANSACTIONS
    return MetricSpec("throughput", _BITS.get(unit[:4]) or _BYTES.get(unit[:1], unit), "higher")


def is_omni(text: str) -> bool:
    """Return whether a text has lines ``THROUGHPUT=…``, or a line of several column names of ``-o``."""
    return any(key in _METRICS or key == "THROUGHPUT" for key, _ in KEY_LINE.findall(text)) or bool(_names(text, 2))


def read(log: Log, workload: str, text: str, line: int) -> Iterator[Samples]:
    """Yield the samples of one test, the ``text`` below its title at ``line``."""
    if names := _names(text, 1):
        header, *rows = _table(log, text[text.index(names) :], line)
        for row in rows:
            if len(row) != len(header):
                raise log.problem("a line of values is cut off", line)
            values = {_KEYS.get(name.strip(), ""): value for name, value in zip(header, row, strict=True)}
            yield from _samples(workload, values)
    elif values := dict(KEY_LINE.findall(text)):
        yield from _samples(workload, values)
    else:
        for value, unit in _TABLE_ROW.findall(text):
            yield Samples(workload, metric_of(unit), {}, (float(value),))


def _names(text: str, least: int) -> str:
    """Return the first line with at least ``least`` column names; empty if no line has that many names."""
    for line in Lines(text):
        if sum(name.strip() in _KEYS for name in line.split(",")) >= least:
            return line
    return ""


def _table(log: Log, text: str, line: int) -> list[list[str]]:
    try:
        return [row for row in csv.reader(Lines(text)) if row]
    except csv.Error as error:
        raise log.problem(f"is not CSV: {error}", line) from error


def _samples(workload: str, values: Mapping[str, str]) -> Iterator[Samples]:
    test = f"{values.get('PROTOCOL', '')}-{values.get('DIRECTION', '')}".lower()
    parameters: dict[str, str | int | float] = {"test": test} if workload == "netperf-omni" and len(test) > 1 else {}
    for key, name in _PARAMETERS.items():
        if re.fullmatch(r"[1-9]\d{0,9}", values.get(key, "")):
            parameters[name] = int(values[key])
    throughput = metric_of(values.get("THROUGHPUT_UNITS") or ("Trans/s" if workload.endswith("rr") else "10^6bits/s"))
    specs = {"THROUGHPUT": throughput} | _METRICS
    if throughput.name != "throughput":
        # The bytes a second of a request/response test follow from its transactions.
        specs = {key: spec for key, spec in specs.items() if not key.endswith(("SEND_THROUGHPUT", "RECV_THROUGHPUT"))}
    for key, spec in specs.items():
        # netperf prints -1 for values that it did not measure.
        if re.fullmatch(NUMBER, values.get(key, "")):
            yield Samples(workload, spec, parameters, (float(values[key]),))

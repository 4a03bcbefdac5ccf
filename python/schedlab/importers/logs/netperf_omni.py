"""The output of netperf's omni tests: a table for people, ``KEY=value`` (``-k``), or CSV (``-o``)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping

from schedlab.importers.logs.base import CUT, NUMBER, Log, Samples
from schedlab.importers.logs.netperf_units import UNIT, of_unit
from schedlab.workloads.base import MetricSpec
from schedlab.workloads.loopback import RECEIVED, SENT
from schedlab.workloads.netperf import LATENCY, LATENCY_P50, LATENCY_P99, SAID_LINE

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
"""The names of ``-o`` by the keys of ``-k``."""

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
"""Figures that are read beside the throughput; the many others describe the sockets and the machines."""

_PARAMETERS = {"LOCAL_SEND_SIZE": "size", "REQUEST_SIZE": "request", "RESPONSE_SIZE": "reply"}
_TABLE_ROW = re.compile(rf"^(?:[ \t]*-?{NUMBER}[ \t]+)*?(-?{NUMBER})[ \t]+({UNIT})[ \t]*$", re.MULTILINE)


def recognises(text: str) -> bool:
    """Lines ``THROUGHPUT=…``, or a line of several of the names that ``-o`` writes."""
    return any(key in _METRICS or key == "THROUGHPUT" for key, _ in SAID_LINE.findall(text)) or bool(_names(text, 2))


def read(log: Log, workload: str, text: str, line: int) -> Iterator[Samples]:
    """The samples of one test: what stands below its title at ``line``."""
    if names := _names(text, 1):
        header, *rows = _table(log, text[text.index(names) :], line)
        for row in rows:
            if len(row) != len(header):
                raise log.problem("a line of values is cut off", line, CUT)
            values = {_KEYS.get(name.strip(), ""): value for name, value in zip(header, row, strict=True)}
            yield from _samples(workload, values)
    elif said := dict(SAID_LINE.findall(text)):
        yield from _samples(workload, said)
    else:
        for value, unit in _TABLE_ROW.findall(text):
            yield Samples(workload, of_unit(unit), {}, (float(value),))


def _names(text: str, least: int) -> str:
    """The line of names, where there is one with at least as many of those known."""
    for line in text.split("\n"):
        if sum(name.strip() in _KEYS for name in line.split(",")) >= least:
            return line
    return ""


def _table(log: Log, text: str, line: int) -> list[list[str]]:
    try:
        return [row for row in csv.reader(text.split("\n")) if row]
    except csv.Error as error:
        raise log.problem(f"is no CSV: {error}", line) from error


def _samples(workload: str, said: Mapping[str, str]) -> Iterator[Samples]:
    test = f"{said.get('PROTOCOL', '')}-{said.get('DIRECTION', '')}".lower()
    parameters: dict[str, str | int | float] = {"test": test} if workload == "netperf-omni" and len(test) > 1 else {}
    for key, name in _PARAMETERS.items():
        if re.fullmatch(r"[1-9]\d{0,9}", said.get(key, "")):
            parameters[name] = int(said[key])
    unit = said.get("THROUGHPUT_UNITS") or ("Trans/s" if workload.endswith("rr") else "10^6bits/s")
    throughput = of_unit(unit)
    specs = {"THROUGHPUT": throughput} | _METRICS
    if throughput.name != "throughput":
        # A ping's bytes a second say nothing that its transactions do not.
        specs = {key: spec for key, spec in specs.items() if not key.endswith(("SEND_THROUGHPUT", "RECV_THROUGHPUT"))}
    for key, spec in specs.items():
        # What was not measured is -1.
        if re.fullmatch(NUMBER, said.get(key, "")):
            yield Samples(workload, spec, parameters, (float(said[key]),))

"""``go test -bench``: a line for each run of a benchmark, values with units (Go's package testing, "Benchmarks")."""

from __future__ import annotations

import re

from schedlab.importers.logs.base import NUMBER, WHOLE, Log, Parameters, Reader, Reading, Samples
from schedlab.importers.logs.words import assumed_lower, direction_of
from schedlab.workloads.base import MetricSpec

_VALUE = rf"({NUMBER}(?:e[+-]?\d{{1,3}})?)[ \t]+(\S+)"
_LINE = re.compile(rf"^Benchmark([A-Z0-9_]\S*?)(?:-({WHOLE}))?[ \t]+{WHOLE}((?:[ \t]+{_VALUE})+)[ \t]*$", re.MULTILINE)
_FAILED = re.compile(r"^(?:--- FAIL|FAIL|panic): ?.*$", re.MULTILINE)
_KNOWN = {
    "ns/op": MetricSpec("time", "ns/op", "lower"),
    "MB/s": MetricSpec("throughput", "MB/s", "higher"),
    "B/op": MetricSpec("allocated", "B/op", "lower"),
    "allocs/op": MetricSpec("allocations", "allocs/op", "lower"),
}


def recognises(head: str) -> bool:
    """A benchmark's line with nanoseconds an operation."""
    return any("ns/op" in match[3] for match in _LINE.finditer(head))


def read(log: Log) -> Reading:
    """A sample of every unit for each line; sub-benchmarks named ``key=value`` are parameters."""
    samples: list[Samples] = []
    unsure: dict[str, None] = {}
    for match in _LINE.finditer(log.text):
        workload, parameters = _identity(match[1], match[2])
        for value, unit in re.findall(_VALUE, match[3]):
            metric = _KNOWN.get(unit)
            if metric is None:
                direction = direction_of(unit)
                if direction is None:
                    unsure[unit] = None
                metric = MetricSpec(unit, unit, direction or "lower")
            samples.append(Samples(workload, metric, parameters, (float(value),)))
    if not samples:
        raise log.problem("holds no benchmark of go test", 1)
    notes = [f"{log.name}: {failed[0]}" for failed in _FAILED.finditer(log.text)]
    return Reading(samples, notes=[*notes, *(assumed_lower(log.name, unit) for unit in unsure)])


def _identity(name: str, cpus: str | None) -> tuple[str, Parameters]:
    test, *parts = name.split("/")
    parameters: dict[str, str | int | float] = {}
    for position, part in enumerate(parts, 1):
        key, equals, value = part.partition("=")
        parameters[key if equals and key else f"part{position}"] = value if equals and key else part
    return f"go-{test}", parameters | ({"cpus": int(cpus)} if cpus else {})


READER = Reader("go-bench", "go test -bench", recognises, read)

"""pytest-benchmark's JSON (``--benchmark-json``): every round of every benchmark."""

from __future__ import annotations

import re
from collections.abc import Mapping

from schedlab.importers.logs.base import Log, Parameters, Reader, Reading, Samples
from schedlab.importers.logs.objects import inner, load, number, numbers, objects, plain
from schedlab.workloads.base import MetricSpec

TIME = MetricSpec("time", "s", "lower")


def recognises(head: str) -> bool:
    """An object with what pytest-benchmark tells of machine and commit."""
    return head.lstrip().startswith("{") and '"machine_info"' in head and '"benchmarks"' in head


def read(log: Log) -> Reading:
    """Seconds of every round; the mean where rounds were not kept (``--benchmark-save`` without ``-data``)."""
    samples: list[Samples] = []
    notes: list[str] = []
    lost = 0
    for told in objects(load(log).get("benchmarks")):
        name = str(told.get("fullname") or told.get("name") or "benchmark")
        data, mean = numbers(inner(told, "stats", "data")), number(inner(told, "stats", "mean"))
        if not data and mean is None:
            notes.append(f"{log.name}: left out: {name}, which has no figures")
            continue
        lost += not data
        workload, parameters = identity(name, inner(told, "params"))
        samples.append(Samples(workload, TIME, parameters, data or [mean or 0.0]))
    if not samples:
        raise log.problem("holds no benchmark with figures", 1)
    if lost:
        notes.append(
            f"{log.name}: {lost} of {len(samples)} benchmarks hold no rounds; their means are taken as one sample each "
            f"(--benchmark-json or --benchmark-save-data keep the rounds)"
        )
    return Reading(samples, notes=notes)


def identity(name: str, params: object) -> tuple[str, Parameters]:
    """A benchmark's name without its parameters, and these by name; those that have none are called ``param``."""
    test, bracket, rest = name.partition("[")
    if isinstance(params, Mapping) and params:
        return test, {str(key): plain(value) for key, value in params.items()}
    return (test, {"param": rest.rstrip("]")}) if bracket and re.fullmatch(r"[^\]]+\]", rest) else (name, {})


READER = Reader("pytest-benchmark", "pytest-benchmark --benchmark-json", recognises, read, in_mails=False)

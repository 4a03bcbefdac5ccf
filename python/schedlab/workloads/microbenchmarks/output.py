"""JSON of libraries for microbenchmarks: google-benchmark, pytest-benchmark, JMH, and Bencher's format for all others.

Every benchmark is a row. Its repetitions are samples. Where a file has only means and deviations, they become a printed
table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from schedlab.results.imported import Cell, Table, TableRow
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import Object, inner, items, load, number, numbers, objects_of, parameter
from schedlab.workloads.log_reader import Log, Reader, Reading, Samples, floats
from schedlab.workloads.origins import origin

_GOOGLE, _PYTEST, _BENCHER, _JMH = "google-benchmark", "pytest-benchmark", "bencher", "jmh"

_NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_METRICS = {
    "real_time": MetricSpec("time", "ns", "lower"),
    "cpu_time": MetricSpec("cpu-time", "ns", "lower"),
    "items_per_second": MetricSpec("items", "items/s", "higher"),
    "bytes_per_second": MetricSpec("bytes", "bytes/s", "higher"),
}
"""Metrics of google-benchmark by their keys; the times are of one iteration, in ``time_unit``."""
_FACTS = frozenset(
    {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations"}
)
"""Numbers of google-benchmark that are no figures (version 1.7). All other numbers are counters of the user."""

_TIME = MetricSpec("time", "s", "lower")
_MEASURES = {
    "latency": MetricSpec("latency", "ns", "lower"),
    "throughput": MetricSpec("throughput", "ops/s", "higher"),
    "build-time": MetricSpec("build-time", "s", "lower"),
    "file-size": MetricSpec("file-size", "bytes", "lower"),
    "allocated": MetricSpec("allocated", "bytes", "lower"),
    "instructions": MetricSpec("instructions", "instructions", "lower"),
}
"""Bencher's own measures with their units (``project/measure/built_in.rs``). Users may send others."""
_JMH_TIME = re.compile(r"(ns|us|ms|s)/op")
_JMH_RATE = re.compile(r"ops/(ns|us|ms|s)")


def _summaries(log: Log, workload: str, rows: Sequence[TableRow]) -> list[Table]:
    if not rows:
        return []
    return [Table("summaries", f"{workload} summaries", workload, (log.column,), tuple(rows), 1, gains="change")]


def _summary(name: str, spec: MetricSpec, mean: float, deviation: float | None, n: int | None) -> TableRow:
    """Return a row with a mean and the standard deviation of ``n`` samples."""
    spread = 100 * deviation / abs(mean) if deviation is not None and mean else None
    cell = Cell(
        mean, f"{mean:g}", spread_percent=spread, spread_kind="" if spread is None else "standard deviation", n=n
    )
    return TableRow(spec.name, name, {"benchmark": name}, spec.unit, spec.direction, (cell,), 1)


def _read_google(log: Log) -> Reading:
    """Return the repetitions of each benchmark; of a benchmark without single repetitions, mean and deviation."""
    notes, by_name = list[str](), dict[str, list[Object]]()
    content = load(log)
    for entry in objects_of(content.get("benchmarks")):
        name = str(entry.get("run_name") or entry.get("name"))
        if entry.get("error_occurred") or entry.get("skipped"):
            reason = entry.get("error_message") or entry.get("skip_message") or "no reason is given"
            notes.append(f"{log.name}: left out: {name} failed or was skipped: {reason}")
        else:
            by_name.setdefault(name, []).append(entry)
    samples, counters, rows = list[Samples](), list[Samples](), list[TableRow]()
    for name, entries in by_name.items():
        runs = [entry for entry in entries if entry.get("run_type", "iteration") == "iteration"]
        for key in dict.fromkeys(key for run in runs for key in run if number(run[key]) is not None):
            if key in _METRICS:
                values = [_google(log, name, run, key) for run in runs]
                samples.append(Samples(_GOOGLE, _METRICS[key], {"benchmark": name}, values))
            elif key not in _FACTS:
                spec = MetricSpec(key, "", "lower")
                counters.append(Samples(_GOOGLE, spec, {"benchmark": name}, numbers([run.get(key) for run in runs])))
        if not runs:
            rows += _google_summaries(log, name, entries)
    if not (samples or rows):
        raise log.problem("contains no figure of a benchmark", 1, "run the benchmark again")
    context = content.get("context")
    stated = origin(host=inner(context, "host_name"), started=inner(context, "date"))
    return Reading(samples, _summaries(log, _GOOGLE, rows), notes, counters, stated)


def _google(log: Log, name: str, entry: Object, key: str) -> float:
    value = number(entry.get(key))
    factor = _NANOSECONDS.get(str(entry.get("time_unit"))) if key.endswith("_time") else 1.0
    if value is None or factor is None:
        raise log.problem(f"{name!r} has no {key} in a unit of {', '.join(_NANOSECONDS)}")
    return value * factor


def _google_summaries(log: Log, name: str, entries: Sequence[Object]) -> Iterator[TableRow]:
    by_kind = {str(entry.get("aggregate_name")): entry for entry in entries}
    mean, deviation = by_kind.get("mean"), by_kind.get("stddev")
    if mean is None:
        return
    n = number(mean.get("repetitions"))
    for key, spec in _METRICS.items():
        if key in mean:
            spread = _google(log, name, deviation, key) if deviation else None
            yield _summary(name, spec, _google(log, name, mean, key), spread, int(n) if n else None)


def _read_pytest(log: Log) -> Reading:
    """Return the time of every round (``--benchmark-json`` writes ``data``), or mean and deviation of the rounds."""
    samples, rows = list[Samples](), list[TableRow]()
    content = load(log)
    for entry in objects_of(content.get("benchmarks")):
        name, stats = str(entry.get("fullname") or entry.get("name")), entry.get("stats")
        data, mean, rounds = (inner(stats, key) for key in ("data", "mean", "rounds"))
        if data:
            values = numbers(data)
            if len(values) != len(items(data)) or (number(rounds) or len(values)) != len(values):
                raise log.problem(f"{name!r} has no time of each of its {rounds} rounds")
            samples.append(Samples(_PYTEST, _TIME, {"benchmark": name}, values))
        elif (value := number(mean)) is not None:
            n = number(rounds)
            rows.append(_summary(name, _TIME, value, number(inner(stats, "stddev")), int(n) if n else None))
        else:
            raise log.problem(f"{name!r} has no times")
    if not (samples or rows):
        raise log.problem("contains no benchmark", 1, "run the benchmarks again")
    machine = content.get("machine_info")
    kernel = inner(machine, "release") if inner(machine, "system") == "Linux" else ""
    stated = origin(kernel, inner(machine, "node"), content.get("datetime"))
    return Reading(samples, _summaries(log, _PYTEST, rows), origin=stated)


def _read_bencher(log: Log) -> Reading:
    """Return the value of each measure of each benchmark. The kind of interval around a value is not stated."""
    samples, others, with_bounds = list[Samples](), list[Samples](), False
    for name, measures in load(log).items():
        for measure, content in (measures if isinstance(measures, dict) else {"": None}).items():
            value = number(inner(content, "value"))
            if value is None:
                raise log.problem(f"{name!r} has no number “value” of {measure!r}")
            with_bounds |= inner(content, "lower_value") is not None or inner(content, "upper_value") is not None
            spec = _MEASURES.get(measure.lower().replace(" ", "-"))
            of_row = Samples(_BENCHER, spec or MetricSpec(measure, "", "lower"), {"benchmark": name}, (value,))
            (samples if spec else others).append(of_row)
    note = f"{log.name}: left out: lower_value and upper_value, whose meaning the file does not state"
    return Reading(samples, notes=[note] if with_bounds else [], undirected=others)


def _read_jmh(log: Log) -> Reading:
    """Return the score of every iteration; of the mode ``sample`` the mean score."""
    # The file is a list, unlike other JSON of tools.
    start = log.text.find("[")
    content = load(replace(log, text=f'{log.text[:start]}{{"results":{log.text[start:].rstrip()}}}'))
    samples, notes = list[Samples](), list[str]()
    for entry in objects_of(content["results"]):
        name, mode, metric = str(entry.get("benchmark")), str(entry.get("mode")), entry.get("primaryMetric")
        unit = str(inner(metric, "scoreUnit"))
        time, rate = _JMH_TIME.fullmatch(unit), _JMH_RATE.fullmatch(unit)
        if not (time or rate):
            raise log.problem(f"{name!r} has the unknown unit {unit!r}")
        spec = MetricSpec("time", "ns/op", "lower") if time else MetricSpec("throughput", "ops/s", "higher")
        factor = _NANOSECONDS[time[1]] if time else 1e9 / _NANOSECONDS[rate[1]] if rate else 1.0
        values = numbers([value for fork in items(inner(metric, "rawData")) for value in items(fork)])
        if not values:
            values = numbers([inner(metric, "score")])
            notes.append(f"{log.name}: {name} has no figures of single iterations; the mean becomes one sample")
        if not values:
            raise log.problem(f"{name!r} has no score")
        parameters: dict[str, str | int | float] = {"benchmark": name, "mode": mode}
        parameters |= {"threads": parameter(entry.get("threads", 1))}
        parameters |= {key: parameter(value) for key, value in (entry.get("params") or {}).items()}
        samples.append(Samples(_JMH, spec, parameters, floats(values) * factor))
    if not samples:
        raise log.problem("contains no result of JMH", 1)
    return Reading(samples, notes=notes)


def _recognised(beginning: str, *texts: str) -> Callable[[str], bool]:
    pattern = re.compile(rf"\s*{beginning}")
    return lambda head: bool(pattern.match(head)) and all(text in head for text in texts)


_VALUE = r'"(?:lower_|upper_)?value"\s*:\s*-?\d'
READERS = (
    Reader(
        _GOOGLE,
        "google-benchmark --benchmark_format=json",
        _recognised(r'\{\s*"context"\s*:\s*\{', '"num_cpus"', '"benchmarks"'),
        _read_google,
        in_mails=False,
    ),
    Reader(
        _PYTEST,
        "pytest-benchmark --benchmark-json",
        _recognised(r'\{\s*"machine_info"\s*:', '"benchmarks"'),
        _read_pytest,
        in_mails=False,
    ),
    Reader(
        _BENCHER,
        "Bencher Metric Format (JSON)",
        _recognised(rf'\{{\s*"[^"]*"\s*:\s*\{{\s*"[^"]*"\s*:\s*\{{\s*{_VALUE}'),
        _read_bencher,
        in_mails=False,
    ),
    Reader(_JMH, "JMH -rf json", _recognised(r'\[\s*\{\s*"jmhVersion"'), _read_jmh, in_mails=False),
)

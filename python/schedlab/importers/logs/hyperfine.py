"""hyperfine's JSON (``--export-json``): the time of every run of every command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from schedlab.importers.logs.base import Log, Parameters, Reader, Reading, Samples
from schedlab.importers.logs.objects import Object, inner, items, load, number, numbers, objects, plain
from schedlab.units import counted
from schedlab.workloads.base import MetricSpec

_TIME = MetricSpec("time", "s", "lower")
_MEANS = {
    "user": MetricSpec("user", "s", "lower"),
    "system": MetricSpec("system", "s", "lower"),
}
_MEMORY = MetricSpec("memory", "B", "lower")


@dataclass(frozen=True)
class _Result:
    """One command's part: how it is told from the others, and hyperfine's object."""

    name: str
    parameters: Parameters
    told: Object


def recognises(head: str) -> bool:
    """An object of results, each with a command and its times."""
    return bool(re.match(r'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:', head))


def read(log: Log) -> Reading:
    """A sample for each run. Alone, a file's commands (or values of its parameter) are the columns.

    Beside other files it is a column itself, its commands then tell the rows apart.
    """
    results = list(_results(log))
    if not results:
        raise log.problem("holds no result of hyperfine", 1)
    notes: list[str] = []
    samples: list[Samples] = []
    for result in results:
        many = len(results) > 1
        column = result.name if many and log.alone else ""
        rows = {} if column else result.parameters or ({"command": result.name} if many else {})
        times = numbers(result.told.get("times"))
        mean = number(result.told.get("mean"))
        if not times and mean is None:
            raise log.problem(f"{result.name!r} has no times", 1)
        if not times:
            notes.append(f"{log.name}: {result.name!r} has no single times; its mean is taken as one sample")
        failed = sum(1 for code in items(result.told.get("exit_codes")) if code != 0)
        if failed:
            notes.append(f"{log.name}: {counted(failed, 'run')} of {result.name!r} failed; their times are kept")
        samples.append(Samples("hyperfine", _TIME, rows, times or [mean or 0.0], column))
        samples += _others(result.told, rows, column)
    return Reading(samples, notes=notes)


def _others(told: Object, rows: Parameters, column: str) -> Iterator[Samples]:
    for key, spec in _MEANS.items():
        if (value := number(told.get(key))) is not None:
            yield Samples("hyperfine", spec, rows, (value,), column)
    if memory := numbers(told.get("memory_usage_byte")):
        yield Samples("hyperfine", _MEMORY, rows, memory, column)


def _results(log: Log) -> Iterator[_Result]:
    seen: dict[str, int] = {}
    for told in objects(load(log).get("results")):
        given = inner(told, "parameters")
        parameters = {str(name): plain(value) for name, value in given.items()} if isinstance(given, dict) else {}
        words = " ".join(f"{name}={value}" for name, value in parameters.items())
        name = words or str(told.get("command") or "command")
        seen[name] = seen.get(name, 0) + 1
        yield _Result(name if seen[name] == 1 else f"{name} ({seen[name]})", parameters, told)


READER = Reader("hyperfine", "hyperfine --export-json", recognises, read, in_mails=False)

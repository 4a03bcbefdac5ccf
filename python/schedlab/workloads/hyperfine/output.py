"""Output of hyperfine: JSON (``--export-json``) with the time of every run, or CSV (``--export-csv``) of summaries."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from schedlab.notation.units import counted
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import Object, inner, items, load, number, numbers, objects_of, parameter
from schedlab.workloads.log_reader import Log, Parameters, Reader, Reading, Samples, Unread, lines_of

_TIME = MetricSpec("time", "s", "lower")
_MEANS = {
    "user": MetricSpec("user", "s", "lower"),
    "system": MetricSpec("system", "s", "lower"),
}
_MEMORY = MetricSpec("memory", "B", "lower")

_HEADER = "command,mean,stddev,median,user,system,min,max"
"""First line of the CSV; columns ``parameter_NAME`` may follow."""
_STATISTICS = ("mean", "stddev", "median", "min", "max", "user", "system")
_VALUE = re.compile(r"\d{1,15}(?:\.\d{1,25})?(?:e-?\d{1,3})?")


@dataclass(frozen=True)
class _Result:
    """Result of one command: its unique name, its parameters, and hyperfine's object."""

    name: str
    parameters: Parameters
    content: Object


def _recognises(head: str) -> bool:
    """Return whether a text begins as an object of results with a command and its times in each result."""
    return bool(re.match(r'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:', head))


def _read(log: Log) -> Reading:
    """Return a sample for each run.

    The commands of a file (or the values of its parameter) are columns where the file is imported alone, otherwise
    rows.
    """
    results = list(_results(log))
    if not results:
        raise log.problem("contains no result of hyperfine", 1)
    notes: list[str] = []
    samples: list[Samples] = []
    for result in results:
        several = len(results) > 1
        column = result.name if several and log.alone else ""
        rows = {} if column else result.parameters or ({"command": result.name} if several else {})
        times = numbers(result.content.get("times"))
        mean = number(result.content.get("mean"))
        if not times and mean is None:
            raise log.problem(f"{result.name!r} has no times", 1)
        if not times:
            notes.append(f"{log.name}: {result.name!r} has no times of single runs; the mean becomes one sample")
        failed = sum(1 for code in items(result.content.get("exit_codes")) if code != 0)
        if failed:
            notes.append(
                f"{log.name}: {counted(failed, 'run')} of {result.name!r} failed; the times of failed runs are kept"
            )
        samples.append(Samples("hyperfine", _TIME, rows, times or [mean or 0.0], column))
        samples += _others(result.content, rows, column)
    return Reading(samples, notes=notes)


def _others(content: Object, rows: Parameters, column: str) -> Iterator[Samples]:
    for key, spec in _MEANS.items():
        if (value := number(content.get(key))) is not None:
            yield Samples("hyperfine", spec, rows, (value,), column)
    if memory := numbers(content.get("memory_usage_byte")):
        yield Samples("hyperfine", _MEMORY, rows, memory, column)


def _results(log: Log) -> Iterator[_Result]:
    counts: dict[str, int] = {}
    for content in objects_of(load(log).get("results")):
        values = inner(content, "parameters")
        parameters = {str(name): parameter(value) for name, value in values.items()} if isinstance(values, dict) else {}
        words = " ".join(f"{name}={value}" for name, value in parameters.items())
        name = words or str(content.get("command") or "command")
        counts[name] = counts.get(name, 0) + 1
        yield _Result(name if counts[name] == 1 else f"{name} ({counts[name]})", parameters, content)


def _read_csv(log: Log) -> Reading:
    """Return a printed table of the statistics of each command, in seconds; the number of runs is unknown."""
    if not log.text.startswith(_HEADER):
        raise log.problem(f"does not begin with {_HEADER}", 1)
    lines = csv.reader(log.lines, strict=True)
    try:
        names = next(lines)
        rows = [row for at, cells in enumerate(lines, 2) if cells for row in _rows(log, at, names, cells)]
    except csv.Error as error:
        raise log.problem(f"is not CSV: {error}", 1) from error
    if not rows:
        raise log.problem("contains no result of hyperfine", 1)
    table = Table("summaries", "hyperfine summaries", "hyperfine", (log.column,), tuple(rows), 1, gains="change")
    return Reading(tables=[table])


def _rows(log: Log, line: int, names: list[str], cells: list[str]) -> Iterator[TableRow]:
    if len(cells) != len(names):
        raise log.problem(f"has {len(cells)} values for {len(names)} names", line)
    values = dict(zip(names, cells, strict=True))
    if wrong := next((name for name in _STATISTICS if values[name] and not _VALUE.fullmatch(values[name])), None):
        raise log.problem(f"{values[wrong][:40]!r} is not a time", line)
    prefix = "parameter_"
    parameters = {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
    for statistic in _STATISTICS:
        cell = Cell(float(values[statistic]), values[statistic]) if values[statistic] else Cell(None, "-")
        if statistic == "mean" and cell.value and values["stddev"]:
            spread = 100 * float(values["stddev"]) / cell.value
            cell = Cell(cell.value, cell.text, spread_percent=spread, spread_kind="standard deviation")
        benchmark: Parameters = {"benchmark": values["command"], **parameters}
        yield TableRow(statistic, values["command"], benchmark, "s", "lower", (cell,), line)


READERS = (
    Reader(
        "hyperfine",
        "hyperfine --export-json",
        _recognises,
        _read,
        in_mails=False,
        unread=(
            Unread(
                re.compile(r"^ +Time \((?:mean ± σ|abs ≡)\):", re.MULTILINE),
                "hyperfine's output for people",
                "run hyperfine with --export-json FILE",
            ),
        ),
    ),
    Reader(
        "hyperfine-csv",
        "hyperfine --export-csv",
        lambda head: head.startswith(_HEADER),
        _read_csv,
        in_mails=False,
        line=lines_of(rf"{_HEADER}(?:,parameter_.+)?", r".+(?:,(?:\d[\d.e+-]*)?){7}(?:,.*)?"),
        begins=re.compile(rf"{_HEADER}.*"),
    ),
)

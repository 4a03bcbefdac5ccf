"""CSV with one sample a line, as ``schedlab report --format csv --samples`` writes it.

    run,column,block,position,iteration,workload,parameters,metric,unit,direction,value,kind
    1,base,1,0,1,hackbench,"{""groups"": 4}",time,s,lower,1.52,real

The names of the columns are fixed and nothing follows from their values: a file with other columns is refused.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from typing import cast

from schedlab.kinds import Direction
from schedlab.results import ImportProblem
from schedlab.workloads.json_logs import parameter
from schedlab.workloads.metrics import MetricSpec
from schedlab.workloads.reading import Log, Parameters, Reader, Reading, Samples

_REQUIRED = ("column", "workload", "metric", "unit", "direction", "value")
_OPTIONAL = ("run", "block", "position", "iteration", "parameters", "kind")
_VALUE = re.compile(r"[+-]?\d{1,20}(?:\.\d{0,25})?(?:[eE][+-]?\d{1,3})?")

TODO = (
    f"write one sample a line in columns named {','.join(_REQUIRED)} (direction: lower or higher), and optionally "
    f"{','.join(_OPTIONAL)} (parameters: a JSON object); numbers alone of 'perf bench --format=simple': --as "
    "perf-bench; a table of figures: --table columns=runs,label=1,baseline=2,better=lower"
)
_LINES = 40
"""Lines by which separated values are recognised."""


def is_separated(head: str) -> bool:
    """Return whether every line has the same number of values, one of them a number below the first line."""
    first, *lines = [line for line in head.split("\n")[:_LINES] if line.strip()] or [""]
    separator = ";" if ";" in first else ","
    rows = [line.split(separator) for line in lines]
    if not rows or {len(row) for row in rows} != {first.count(separator) + 1}:
        return False
    return all(any(_VALUE.fullmatch(cell.strip()) for cell in row) for row in rows)


def _names(head: str) -> list[str]:
    return head.partition("\n")[0].split(",")


def _recognises(head: str) -> bool:
    """Return whether the first line names the columns of metric and value."""
    return {"metric", "value"} <= set(_names(head))


def _read(log: Log) -> Reading:
    """Return the samples by row, each row in the order of its lines."""
    names = _names(log.text)
    if missing := [name for name in _REQUIRED if name not in names]:
        raise log.problem(f"has no column {', '.join(missing)}", 1, TODO)
    if unknown := [name for name in names if name not in _REQUIRED + _OPTIONAL]:
        raise log.problem(f"has unknown columns: {', '.join(unknown)[:80]}", 1, TODO)
    if len(set(names)) < len(names):
        raise log.problem("has two columns of one name", 1, TODO)
    rows: dict[tuple[str, ...], list[float]] = {}
    first_lines: dict[tuple[str, ...], int] = {}
    for line, cells in _lines(log, len(names)):
        values = dict(zip(names, cells, strict=True))
        key = tuple(values.get(name, "") for name in ("run", "block", "parameters", *_REQUIRED[:-1]))
        if key not in rows:
            first_lines[key] = line
        if not _VALUE.fullmatch(values["value"]):
            raise log.problem(f"{values['value'][:40]!r} is not a number", line, TODO)
        rows.setdefault(key, []).append(float(values["value"]))
    if not rows:
        raise log.problem("contains no samples", 1, TODO)
    runs: dict[str, set[str]] = {}
    for run, _, _, column, *_ in rows:
        runs.setdefault(column, set()).add(run)
    return Reading(
        [
            _samples(log, first_lines[key], key, values, several_runs=len(runs[key[3]]) > 1)
            for key, values in rows.items()
        ]
    )


def _lines(log: Log, columns: int) -> Iterator[tuple[int, list[str]]]:
    for line, text in enumerate(log.lines[1:], 2):
        if not text:
            continue
        try:
            cells = text.split(",") if '"' not in text else next(csv.reader([text], strict=True))
        except csv.Error as error:
            raise log.problem(str(error), line) from error
        if len(cells) != columns:
            raise log.problem(f"has {len(cells)} values for {columns} names", line)
        yield line, cells


def _samples(log: Log, line: int, key: tuple[str, ...], values: list[float], *, several_runs: bool) -> Samples:
    run, block, parameters, column, workload, metric, unit, direction = key
    if direction not in ("lower", "higher"):
        raise log.problem(f"{direction[:40]!r} is not a direction", line, TODO)
    if not re.fullmatch(r"[1-9]\d{0,8}|", block):
        raise log.problem(f"{block[:40]!r} is not a block", line, TODO)
    spec = MetricSpec(metric, unit, cast(Direction, direction))
    # Runs may have columns of one name.
    name = f"{column} (run {run})" if several_runs else column
    return Samples(workload, spec, _parameters(log, line, parameters), values, name, int(block or 1))


def _parameters(log: Log, line: int, text: str) -> Parameters:
    try:
        content = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise _no_object(log, line, text) from error
    if not isinstance(content, dict):
        raise _no_object(log, line, text)
    return {name: parameter(value) for name, value in content.items()}


def _no_object(log: Log, line: int, text: str) -> ImportProblem:
    return log.problem(f"{text[:40]!r} is not a JSON object of parameters", line, TODO)


READER = Reader("csv", "schedlab's samples as CSV (report --format csv --samples)", _recognises, _read, in_mails=False)

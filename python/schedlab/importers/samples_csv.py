"""CSV with one sample a line, the output of ``schedlab report --format csv --samples``. A Parquet file is converted to
CSV.

    run,column,block,position,iteration,workload,parameters,metric,unit,direction,value,kind
    1,base,1,0,1,hackbench,"{""groups"": 4}",time,s,lower,1.52,real

The names of the columns are fixed and nothing follows from their values: a file with other columns is refused.
"""

from __future__ import annotations

import csv
import json
import re
from array import array
from collections.abc import Iterator
from typing import cast

import numpy as np

from schedlab.results.metrics import Direction, MetricSpec
from schedlab.workloads.json_logs import parameter
from schedlab.workloads.log_reader import Log, Reader, Reading, Samples

_REQUIRED = ("column", "workload", "metric", "unit", "direction", "value")
_OPTIONAL = ("run", "block", "position", "iteration", "parameters", "kind", "record")
_VALUE = re.compile(r"[+-]?\d{1,20}(?:\.\d{0,25})?(?:[eE][+-]?\d{1,3})?")

SAMPLES_ONLY = (
    "samples alone, without design, failed trials and counters, so that blocks are not compared in pairs; 'schedlab "
    "import' without other options reads the runs of an export with the column record, and of a store"
)
"""Note on an export of measured runs."""

TODO = (
    f"write one sample a line in columns named {','.join(_REQUIRED)} (direction: lower or higher), and optionally "
    f"{','.join(_OPTIONAL)} (parameters: a JSON object); --table states the layout of a table of figures"
)


def _names(head: str) -> list[str]:
    return head.partition("\n")[0].split(",")


def _recognises(head: str) -> bool:
    """Return whether the first line names the columns of metric and value."""
    return {"metric", "value"} <= set(_names(head))


def _read(log: Log) -> Reading:
    """Return the samples by row, each row in the order of its lines."""
    names = _names(log.text)
    if {"variant", "verdict"} <= set(names):
        todo = "write samples with 'schedlab report --format csv --samples', or copy runs with 'schedlab import STORE'"
        raise log.problem("is a report of schedlab, which contains no samples", 1, todo)
    if missing := [name for name in _REQUIRED if name not in names]:
        raise log.problem(f"has no column {', '.join(missing)}", 1, TODO)
    if unknown := [name for name in names if name not in _REQUIRED + _OPTIONAL]:
        raise log.problem(f"has unknown columns: {', '.join(unknown)[:80]}", 1, TODO)
    if len(set(names)) < len(names):
        raise log.problem("has two columns of one name", 1, TODO)
    rows: dict[tuple[str, ...], array[float]] = {}
    first_lines: dict[tuple[str, ...], int] = {}
    for line, cells in _lines(log, len(names)):
        values = dict(zip(names, cells, strict=True))
        key = tuple(values.get(name, "") for name in ("run", "block", "parameters", *_REQUIRED[:-1]))
        if key not in rows:
            first_lines[key] = line
        if not _VALUE.fullmatch(values["value"]):
            raise log.problem(f"{values['value'][:40]!r} is not a number", line, TODO)
        rows.setdefault(key, array("d")).append(float(values["value"]))
    if not rows:
        raise log.problem("contains no samples", 1, TODO)
    runs: dict[str, set[str]] = {}
    for run, _, _, column, *_ in rows:
        runs.setdefault(column, set()).add(run)
    return Reading(
        [
            _samples(log, first_lines[key], key, values, several_runs=len(runs[key[3]]) > 1)
            for key, values in rows.items()
        ],
        notes=[SAMPLES_ONLY] if "kind" in names else [],
    )


def _lines(log: Log, columns: int) -> Iterator[tuple[int, list[str]]]:
    for line, text in enumerate(log.lines, 1):
        if line == 1 or not text:
            continue
        try:
            cells = text.split(",") if '"' not in text else next(csv.reader([text], strict=True))
        except csv.Error as error:
            raise log.problem(str(error), line) from error
        if len(cells) != columns:
            raise log.problem(f"has {len(cells)} values for {columns} names", line)
        yield line, cells


def _samples(log: Log, line: int, key: tuple[str, ...], values: array[float], *, several_runs: bool) -> Samples:
    run, block, parameters, column, workload, metric, unit, direction = key
    if direction not in ("lower", "higher"):
        raise log.problem(f"{direction[:40]!r} is not a direction", line, TODO)
    if not re.fullmatch(r"[1-9]\d{0,8}|", block):
        raise log.problem(f"{block[:40]!r} is not a block", line, TODO)
    try:
        content = json.loads(parameters or "{}")
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise log.problem(f"{parameters[:40]!r} is not a JSON object of parameters", line, TODO)
    spec = MetricSpec(metric, unit, cast(Direction, direction))
    # Runs may have columns of one name.
    name = f"{column} (run {run})" if several_runs else column
    named = {label: parameter(value) for label, value in content.items()}
    return Samples(workload, spec, named, np.asarray(values), name, int(block or 1))


READER = Reader(
    "csv", "schedlab's samples as CSV (report --format csv --samples) or Parquet", _recognises, _read, in_mails=False
)

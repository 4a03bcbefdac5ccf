"""The report as comma-separated values (RFC 4180, with plain line ends): the JSON's rows, or every sample."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from schedlab.findings import Findings
from schedlab.report.document.build import rows
from schedlab.report.document.fields import PrintedCell, Row
from schedlab.report.document.printed import table


def render(findings: Findings) -> str:
    """One line for each row and each column but the baseline; an unknown number is empty, parameters are JSON.


    Findings of printed tables alone have a line for each of their cells.
    """
    if findings.printed and not findings.verdicts:
        return _written(_TABLE + _ROW + list(PrintedCell.model_fields), _cells(findings))
    return _written(list(Row.model_fields), (one.model_dump() for one in rows(findings)))


_TABLE = ["layout", "title", "workload", "baseline", "gains"]
_ROW = ["operation", "label", "parameters", "unit", "direction", "line"]


def _cells(findings: Findings) -> Iterator[dict[str, Any]]:
    for checked in findings.checked:
        of_table = table(checked).model_dump()
        for of_row in of_table["rows"]:
            head = {name: of_table[name] for name in _TABLE} | {name: of_row[name] for name in _ROW}
            yield from (head | cell for cell in of_row["cells"])


def _written(names: list[str], lines: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in line.items()} for line in lines)
    return text.getvalue()


def samples(held: pl.DataFrame) -> str:
    """Every sample on a line of its own; see :func:`schedlab.store.samples.long` for the columns."""
    return held.write_csv()


def _cell(value: Any) -> Any:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    return value

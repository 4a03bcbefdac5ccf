"""Reports for spreadsheets and data frames: CSV and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from schedlab.report.document import PrintedCell, Report, Row, Samples, published

if TYPE_CHECKING:
    import polars as pl

    from schedlab.store.columns import Chosen

METADATA = "schedlab"
"""Key of the runs and columns, as JSON, in the metadata of a Parquet file."""

_TABLE = ["layout", "title", "workload", "baseline", "gains"]
_ROW = ["operation", "label", "parameters", "unit", "direction", "line"]


def to_csv(report: Report) -> str:
    """Return the JSON's rows as comma-separated values (RFC 4180, with plain line ends).

    An unknown number is empty, parameters are JSON. A report of printed tables alone has a line for each cell.
    """
    if report.printed and not report.rows:
        return _csv(_TABLE + _ROW + published(PrintedCell), _cells(report))
    return _csv(published(Row), (row.model_dump() for row in report.rows))


def _cells(report: Report) -> Iterator[dict[str, Any]]:
    for table in report.printed:
        fields = table.model_dump()
        for row in fields["rows"]:
            head = {name: fields[name] for name in _TABLE} | {name: row[name] for name in _ROW}
            yield from (head | cell for cell in row["cells"])


def _csv(names: list[str], lines: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in line.items()} for line in lines)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    return value


def samples_parquet(samples: pl.DataFrame, columns: Sequence[Chosen]) -> bytes:
    """Return every sample as an Apache Parquet file, with runs and columns in its metadata.

    Args:
        samples: the columns of :func:`schedlab.store.columns.sample_table`.
        columns: the columns that the samples belong to.
    """
    from schedlab.report.build import column_parts, run_part

    runs = {(column.store, column.run.id): column.run for column in columns}
    metadata = Samples(runs=[*map(run_part, runs.values())], columns=column_parts(columns))
    buffer = io.BytesIO()
    samples.write_parquet(buffer, metadata={METADATA: metadata.model_dump_json(by_alias=True)})
    return buffer.getvalue()

"""Every sample as an Apache Parquet file, with what the runs were in its metadata."""

from __future__ import annotations

import io
from collections.abc import Sequence

import polars as pl

from schedlab.report.document.build import column_fields, run_fields
from schedlab.report.document.report import Samples
from schedlab.store.columns import Chosen

METADATA = "schedlab"
"""The key in the file's metadata under which the runs and columns stand as JSON."""


def render(held: pl.DataFrame, chosen: Sequence[Chosen]) -> bytes:
    """The file's bytes: the columns of :func:`schedlab.store.samples.long`, and what they are as metadata."""
    runs = {(column.store, column.run.id): column.run for column in chosen}
    about = Samples(runs=[*map(run_fields, runs.values())], columns=[*map(column_fields, chosen)])
    buffer = io.BytesIO()
    held.write_parquet(buffer, metadata={METADATA: about.model_dump_json(by_alias=True)})
    return buffer.getvalue()

"""Recorded output of real tools on a two-CPU machine, and helpers that read this output."""

from __future__ import annotations

from pathlib import Path

from schedlab.importers import detect
from schedlab.importers.logs.reading import readers
from schedlab.results.imported import Import, Series
from schedlab.workloads.log_reader import Log, Reading

SAMPLES = Path(__file__).parent / "samples"
READER = {reader.name: reader for reader in readers()}


def read(name: str) -> Import:
    """Import a sample; the format follows from its content."""
    return detect.read(SAMPLES / name)


def text(name: str) -> str:
    """Return the text of a sample."""
    return (SAMPLES / name).read_text()


def reading(form: str, content: str) -> Reading:
    """Return the content of a text in the format of one reader."""
    return READER[form].read(Log("log", content, "log"))


def row(
    imported: Import, metric: str, workload: str | None = None, column: str | None = None, **parameters: object
) -> Series:
    """Return the only series of a metric. The other arguments select among several series."""
    (series,) = [
        series
        for series in imported.series
        if series.metric == metric
        and workload in (None, series.workload)
        and column in (None, series.column)
        and parameters.items() <= dict(series.parameters).items()
    ]
    return series


def values(
    imported: Import, metric: str, workload: str | None = None, column: str | None = None, **parameters: object
) -> list[float]:
    """Return the samples of :func:`row`."""
    return row(imported, metric, workload, column, **parameters).values.tolist()

"""Outputs that real tools printed on a two-CPU machine, and short ways to what was read of them."""

from __future__ import annotations

from pathlib import Path

from schedlab.importers import detect
from schedlab.importers.logs.reading import readers
from schedlab.results import Import, Series
from schedlab.workloads.reading import Log, Reading

SAMPLES = Path(__file__).parent / "samples"
READER = {reader.name: reader for reader in readers()}


def read(name: str) -> Import:
    """A sample, its format found by content."""
    return detect.read(SAMPLES / name)


def text(name: str) -> str:
    """A sample's text."""
    return (SAMPLES / name).read_text()


def reading(form: str, content: str) -> Reading:
    """What one reader makes of a text."""
    return READER[form].read(Log("log", content, "log"))


def row(
    found: Import, metric: str, workload: str | None = None, column: str | None = None, **parameters: object
) -> Series:
    """The one row of this metric; further words narrow it down."""
    (series,) = [
        one
        for one in found.series
        if one.metric == metric
        and workload in (None, one.workload)
        and column in (None, one.column)
        and parameters.items() <= dict(one.parameters).items()
    ]
    return series


def values(
    found: Import, metric: str, workload: str | None = None, column: str | None = None, **parameters: object
) -> list[float]:
    """That row's samples."""
    return row(found, metric, workload, column, **parameters).values.tolist()

"""Durations of a measured run: its trials, and the changes from one variant to another."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Durations:
    """Durations in seconds, from a run that was measured.

    ``trial`` is the mean duration of a row's measured trials, with the median gap between two trials, by workload and
    parameters. ``place`` is the median additional gap between two trials under different variants.
    """

    trial: dict[tuple[str, str], float]
    place: float


def durations(times: pl.DataFrame) -> Durations:
    """Return the durations of a run.

    ``times`` has one line for each trial, in the order of their execution, with the columns phase, variant, workload,
    parameters, started and elapsed. An interruption is one long gap among many, which does not affect the median.
    """
    ends = pl.col("started") + pl.col("elapsed")
    frame = times.with_columns(
        (pl.col("started") - ends.shift(1)).clip(lower_bound=0).alias("gap"),
        (pl.col("variant") == pl.col("variant").shift(1)).alias("same"),
    )
    overhead = _median(frame.filter(pl.col("same")))
    change_of_variant = _median(frame.filter(~pl.col("same")))
    measured = frame.filter(pl.col("phase") == "measure")
    means = measured.group_by("workload", "parameters", maintain_order=True).agg(pl.col("elapsed").mean())
    return Durations(
        {(workload, parameters): seconds + overhead for workload, parameters, seconds in means.iter_rows()},
        max(0.0, change_of_variant - overhead),
    )


def _median(frame: pl.DataFrame) -> float:
    """Return the median of the gaps; 0 without gaps."""
    median = frame["gap"].drop_nulls().median()
    return float(median) if isinstance(median, int | float) else 0.0

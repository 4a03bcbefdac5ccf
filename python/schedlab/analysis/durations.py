"""What a run's time went into: trials, and putting variants in place."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Spent:
    """Seconds, from a run that was measured.

    ``trial`` is the mean of a row's measured trials with what lies between two of them, by workload and parameters;
    ``place`` the median of what lies between two trials under different variants, beyond that.
    """

    trial: dict[tuple[str, str], float]
    place: float


def spent(times: pl.DataFrame) -> Spent:
    """From one line a trial, in the order in which they ran: phase, variant, workload, parameters, started, elapsed.

    An interruption is one long gap among many, which a median does not see.
    """
    ends = pl.col("started") + pl.col("elapsed")
    frame = times.with_columns(
        (pl.col("started") - ends.shift(1)).clip(lower_bound=0).alias("gap"),
        (pl.col("variant") == pl.col("variant").shift(1)).alias("same"),
    )
    overhead = _median(frame.filter(pl.col("same")))
    moved = _median(frame.filter(~pl.col("same")))
    measured = frame.filter(pl.col("phase") == "measure")
    means = measured.group_by("workload", "parameters", maintain_order=True).agg(pl.col("elapsed").mean())
    return Spent(
        {(workload, parameters): seconds + overhead for workload, parameters, seconds in means.iter_rows()},
        max(0.0, moved - overhead),
    )


def _median(frame: pl.DataFrame) -> float:
    """Of the gaps; 0 where there is none."""
    found = frame["gap"].drop_nulls().median()
    return float(found) if isinstance(found, int | float) else 0.0

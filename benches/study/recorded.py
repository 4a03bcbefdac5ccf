"""Noise recorded on a real machine: runs of one variant and its A/A control, as order and figures of trials.

``recorded/*.csv`` were written by ``python -m benches.study.record`` from the experiment files beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schedlab.experiment.plan import CONTROL

Floats = NDArray[np.float64]

FOLDER = Path(__file__).parent / "recorded"
METRICS = {"hackbench": ("time", "s"), "pipetest": ("latency-p50", "µs")}
"""The recorded metric of each workload, and its unit."""

COLUMNS = ("workload", "block", "variant", "iteration", "value")


@dataclass(frozen=True)
class Recording:
    """One workload's trials: ``visits`` (2 x blocks, iterations) in the order of time, ``control_first`` (blocks,)."""

    setting: str
    workload: str
    visits: Floats
    control_first: NDArray[np.bool_]

    @property
    def label(self) -> str:
        """Name in tables."""
        return f"{self.workload}, {self.setting}"

    @property
    def blocks(self) -> int:
        """Blocks of the run."""
        return len(self.control_first)


@dataclass(frozen=True)
class Components:
    """Standard deviations of log values: of iterations in a visit, of visits in a block, of blocks, each by itself.

    ``paired`` is that of a block's log-ratio, which verdicts rest on; ``neighbours`` the correlation of visits that
    follow each other.
    """

    within: float
    visits: float
    blocks: float
    paired: float
    neighbours: float


def components(recording: Recording) -> Components:
    """Variance components by nested analysis of variance (Searle, Casella & McCulloch 1992); below 0 counts as 0."""
    logs = np.log(recording.visits)
    iterations = logs.shape[1]
    means = logs.mean(axis=1).reshape(-1, 2)
    within = float(logs.var(axis=1, ddof=1).mean())
    between_visits = float(means.var(axis=1, ddof=1).mean())
    between_blocks = float(means.mean(axis=1).var(ddof=1))
    series = means.ravel()
    return Components(
        within**0.5,
        max(between_visits - within / iterations, 0.0) ** 0.5,
        max(between_blocks - between_visits / 2, 0.0) ** 0.5,
        float((means[:, 1] - means[:, 0]).std(ddof=1)),
        float(np.corrcoef(series[1:], series[:-1])[0, 1]),
    )


def recordings(folder: Path = FOLDER) -> list[Recording]:
    """Every workload of every recorded file, with files in order of their names."""
    return [
        recording(pl.read_csv(path, comment_prefix="#"), path.stem.replace("-cpu", " CPU"), workload)
        for path in sorted(folder.glob("*.csv"))
        for workload in METRICS
    ]


def recording(trials: pl.DataFrame, setting: str, workload: str) -> Recording:
    """A workload's trials in order, columns workload, block, variant, iteration, value; complete blocks only."""
    own = trials.filter(pl.col("workload") == workload)
    iterations = 1 + int(own["iteration"].to_numpy().max())
    whole = own.group_by("block").len().filter(pl.col("len") == 2 * iterations)["block"]
    own = own.filter(pl.col("block").is_in(whole.implode()))
    first = own.group_by("block", maintain_order=True).first()["variant"] == CONTROL
    return Recording(setting, workload, own["value"].to_numpy().reshape(-1, iterations), first.to_numpy())


def campaigns(source: Recording, blocks: int) -> tuple[Floats, NDArray[np.bool_]]:
    """The run divided into campaigns of this many blocks: visits (campaigns, 2 x blocks, iterations), and orders."""
    count = source.blocks // blocks
    visits = source.visits[: 2 * blocks * count].reshape(count, 2 * blocks, -1)
    return visits, source.control_first[: blocks * count].reshape(count, blocks)


def windows(source: Recording, blocks: int, starts: Sequence[int] | NDArray[np.int64]) -> Floats:
    """Spans of this many recorded blocks from these blocks on: (starts, 2 x blocks, iterations)."""
    return np.stack([source.visits[2 * start : 2 * (start + blocks)] for start in starts])

"""Noise recorded on a real machine: the trials of one variant and its A/A control, in order of time.

``python -m benches.study.record`` wrote ``recorded/*.csv`` from the experiment files in this folder.
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
    """Trials of one workload.

    ``setting``: name of the recorded file. ``visits``: figures in order of time, shape (2 x blocks, iterations).
    ``control_first``: mask of the blocks that measured the control before the baseline, shape (blocks,).
    """

    setting: str
    workload: str
    visits: Floats
    control_first: NDArray[np.bool_]

    @property
    def label(self) -> str:
        """Name of the recording in tables."""
        return f"{self.workload}, {self.setting}"

    @property
    def blocks(self) -> int:
        """Number of the run's complete blocks."""
        return len(self.control_first)


@dataclass(frozen=True)
class Components:
    """Standard deviations of log values by source, and a correlation.

    ``within``: of iterations in a visit. ``visits``: of visits in a block. ``blocks``: of blocks. ``paired``: of the
    blocks' log-ratios, on which verdicts rest. ``neighbours``: correlation of successive visits.
    """

    within: float
    visits: float
    blocks: float
    paired: float
    neighbours: float


def components(recording: Recording) -> Components:
    """Estimate variance components by nested analysis of variance (Searle, Casella & McCulloch 1992).

    A negative estimate of a variance counts as 0.
    """
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
    """Return a recording for each file of ``folder``, in order of names, and each workload."""
    return [
        recording(pl.read_csv(path, comment_prefix="#"), path.stem.replace("-cpu", " CPU"), workload)
        for path in sorted(folder.glob("*.csv"))
        for workload in METRICS
    ]


def recording(trials: pl.DataFrame, setting: str, workload: str) -> Recording:
    """Return the complete blocks of a workload. ``trials`` are in order of time, with :data:`COLUMNS`."""
    selected = trials.filter(pl.col("workload") == workload)
    iterations = 1 + int(selected["iteration"].to_numpy().max())
    complete = selected.group_by("block").len().filter(pl.col("len") == 2 * iterations)["block"]
    selected = selected.filter(pl.col("block").is_in(complete.implode()))
    control_first = selected.group_by("block", maintain_order=True).first()["variant"] == CONTROL
    visits = selected["value"].to_numpy().reshape(-1, iterations)
    return Recording(setting, workload, visits, control_first.to_numpy())


def campaigns(source: Recording, blocks: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Divide a recording into campaigns of ``blocks`` blocks.

    Return the visits, shape (campaigns, 2 x blocks, iterations), and the mask ``control_first``, shape (campaigns,
    blocks).
    """
    count = source.blocks // blocks
    visits = source.visits[: 2 * blocks * count].reshape(count, 2 * blocks, -1)
    return visits, source.control_first[: blocks * count].reshape(count, blocks)


def windows(source: Recording, blocks: int, starts: Sequence[int] | NDArray[np.int64]) -> Floats:
    """Return the spans of ``blocks`` blocks that begin at the blocks ``starts``: (starts, 2 x blocks, iterations)."""
    return np.stack([source.visits[2 * start : 2 * (start + blocks)] for start in starts])

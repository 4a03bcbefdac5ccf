"""Worker processes: results, and workers that die."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from signal import SIGKILL

import pytest

from schedlab.execution.workers import local
from schedlab.results.measurement import Measurement


def die_once(mark: Path, chunk: Sequence[int]) -> list[Measurement]:
    """Kill this process in the first call with cell 1; otherwise return the process as the time."""
    if 1 in chunk and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), SIGKILL)
    return [Measurement("ok", os.getpid(), float(cell)) for cell in chunk]


@pytest.mark.slow
def test_a_killed_worker_loses_its_chunk_and_is_replaced(tmp_path: Path) -> None:
    waiting = [[3], [2], [1], [0]]
    ended = list(local(partial(die_once, tmp_path / "mark"), lambda lane: waiting.pop() if waiting else None, [None]))
    assert [(chunk, measured and [each.elapsed for each in measured]) for chunk, measured in ended] == [
        ([0], [0.0]), ([1], None), ([2], [2.0]), ([3], [3.0]),
    ]  # fmt: skip
    assert ended[0][1][0].started != ended[2][1][0].started

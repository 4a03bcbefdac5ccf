"""Worker processes: results, and workers that die."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from signal import SIG_BLOCK, SIGINT, SIGKILL, pthread_sigmask

import pytest

from schedlab.execution import workers
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


def begin_with_ctrl_c(folder: Path) -> None:
    """Stand-in for the imports of a worker that is starting: Ctrl-C at the terminal reaches all its processes."""
    os.kill(os.getpid(), SIGINT)
    workers_begin()
    (folder / "begun").touch()


workers_begin = workers._begin_worker


@pytest.mark.slow
def test_ctrl_c_while_a_worker_starts_is_left_to_the_main_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pthread_sigmask(SIG_BLOCK, [])
    monkeypatch.setattr(workers, "_begin_worker", partial(begin_with_ctrl_c, tmp_path))
    chunks = iter([0, None, None])
    ((_, results),) = local(nothing, lambda lane: next(chunks), [None])
    assert (results, (tmp_path / "begun").exists()) == ([], True)
    assert pthread_sigmask(SIG_BLOCK, []) == before


def nothing(chunk: int) -> list[Measurement]:
    return []

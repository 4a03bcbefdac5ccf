"""Work between the trials of a target."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.store import writer
from schedlab.store.file import open_store
from schedlab.targets.alternating import Alternating
from schedlab.targets.scripted import Scripted

FILE = """
[experiment]
name = "two"
[design]
blocks = 2
seed = 7
warmup = 1
control = false
[[variant]]
name = "base"
[[variant]]
name = "batch"
policy = "batch"
[[workload]]
use = "pipetest"
"""


def test_work_comes_before_each_measured_trial_under_the_baseline(tmp_path: Path) -> None:
    trials = plan(parse(FILE, "f"), 7)
    scripted = Scripted(lambda trial: 1.0)
    shares: list[float] = []

    def work(share: float) -> None:
        assert scripted.log[-1] == "base"
        shares.append(share)

    target = Alternating(scripted, work)
    engine = open_store(tmp_path / "s.sqlite", create=True)
    new = writer.NewRun(trials, target.name, target.kind, False, FILE, "f", target.fingerprint(), "machine")
    execute(trials, target, engine, writer.begin(engine, new), lambda trial, measurement: None)
    assert shares == pytest.approx([0.25, 0.5, 0.75, 1.0])
    places = [each for each in scripted.log if isinstance(each, str)]
    # The warm-up has one variant in place per trial, the blocks have the baseline first.
    assert places[:2] == ["base", "batch"]
    assert places[2::2] == ["base"] * 4
    assert sorted(places[3::2]) == ["base", "base", "batch", "batch"]
    assert scripted.closed

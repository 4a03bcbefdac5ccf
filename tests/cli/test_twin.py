"""``schedlab sim twin`` and ``schedlab sim predict`` on stored runs: formats, and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from schedlab.simulation import models
from tests.cli.in_process import Done, runner
from tests.report.models import pair_of_runs

pytestmark = pytest.mark.slow

Schedlab = Callable[..., Done]


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Schedlab:
    """The command line, with a store of two runs of one file: run 1 simulated, run 2 scripted in place of a machine."""
    store = pair_of_runs(tmp_path)
    run = runner(monkeypatch, capsys)
    return lambda *words: run(*words, "--store", store)


def test_stored_runs_are_compared_in_each_format(schedlab: Schedlab, tmp_path: Path) -> None:
    text = schedlab("sim", "twin", "--runs", "2,1")
    assert text.code == 0, text.err
    shown = " ".join(text.out.split())
    assert shown.startswith("pinning: measured on host, predicted by sim:laptop-4/linux-6.12")
    assert "effects: 5 of 5 effects beyond noise predicted in the right direction" in shown
    assert "levels: off by 20 % at the median; one in ten by more than 2" in shown
    assert "pinned cpus 0 batch policy batch" in shown
    assert "twin --runs 2,1 --format html" in shown
    document = json.loads(schedlab("sim", "twin", "--runs", "2,1", "--format", "json").out)
    assert document["error"]["median"] == pytest.approx(0.2, abs=0.01)
    assert document["error"]["p90"] == pytest.approx(0.2, abs=0.01)
    assert len(document["rows"]) == 15
    assert document["effects"]["significant"] == document["effects"]["right"] == 5
    page = tmp_path / "t.html"
    assert schedlab("sim", "twin", "--runs", "2,1", "--format", "html", "--output", page).code == 0
    html = unescape(page.read_text())
    assert html.count('"significant":true') == 15 + 5
    assert html.count('"significant":false') == 5
    assert "pipetest loops=100, pinned: measured" in html


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (
            (
                "sim",
                "twin",
            ),
            "an experiment is missing",
        ),
        (("sim", "twin", "--runs", "1"), "are not two runs"),
        (("sim", "twin", "--runs", "1,2"), "run 1 is simulated and run 2 is real"),
        (("sim", "twin", "e.toml", "--target", "sim:laptop-4"), "is not a machine"),
        (("sim", "twin", "e.toml", "--target", "ssh:nowhere"), "only this machine can be calibrated from here"),
    ],
)
def test_wrong_arguments_are_errors(schedlab: Schedlab, words: tuple[str, ...], fault: str) -> None:
    done = schedlab(*words)
    assert done.code in (2, 3)
    assert fault in done.words


def test_predictions_have_intervals_from_the_comparisons_of_the_same_model(schedlab: Schedlab, tmp_path: Path) -> None:
    done = schedlab("sim", "predict", tmp_path / "e.toml", "--on", "laptop-4", "--blocks", "6", "--format", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["backtest"]["effects"] == 10
    assert document["backtest"]["level_factor"] == pytest.approx(1.25, abs=0.02)
    assert len(document["rows"]) == 15
    base = document["rows"][0]
    assert (base["variant"], base["ratio"]) == ("base", None)
    assert base["level_high"] / base["level"] == pytest.approx(document["backtest"]["level_factor"])
    text = schedlab("sim", "predict", tmp_path / "e.toml", "--on", "laptop-4")
    assert "90 % interval" in text.out
    shown = " ".join(text.out.split())
    assert "pinned: predicted faster in 5 of 5 rows (+5" in shown
    assert "batch: no change that exceeds the model's errors (" in shown
    assert "back-test: 1 twin with 10 effects" in shown
    other = schedlab("sim", "predict", tmp_path / "e.toml", "--on", "rpi4b")
    assert other.code == 3
    assert "schedlab sim twin FILE --machine rpi4b" in other.words


@pytest.mark.parametrize(
    ("release", "model"),
    [
        ("2.4.20", "linux-2.5.59"), ("4.4.302", "linux-3.8"), ("4.19", "linux-4.5"), ("5.10.0-28-amd64", "linux-5.10"),
        ("6.1.0-18", "linux-6.1"), ("6.8.4", "linux-6.6"), ("6.18.44-fc", "linux-6.18"), ("6.17.0", "linux-6.12"),
    ],
)  # fmt: skip
def test_a_kernel_has_the_newest_model_with_its_policy(release: str, model: str) -> None:
    assert models.nearest_kernel(release) == model

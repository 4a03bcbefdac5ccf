"""``schedlab judge``: a campaign from the command line, and the documented loop of a searching program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.in_process import Done, Schedlab, runner
from tests.docs.samples import ROOT, of_text

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "judge.md"
SAMPLES = of_text(PAGE, PAGE.read_text(encoding="utf-8"))
BASELINE = next(sample.text for sample in SAMPLES if sample.language == "toml")
LOOP = next(sample.text for sample in SAMPLES if sample.language == "python")

OPTUNA = """
class Trial:
    def __init__(self, number): self.number = number
    def suggest_int(self, name, low, high): return (low + high) // 2 - 16 * self.number

class Study:
    def optimize(self, objective, n_trials):
        for number in range(n_trials): objective(Trial(number))

def create_study(direction): return Study()
"""
"""A stand-in for Optuna, whose choices are random."""


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Schedlab:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.toml").write_text(BASELINE)
    run = runner(monkeypatch, capsys)
    return lambda *words: run("judge", *words, "--store", tmp_path / "s.sqlite")


def candidate(name: str, buffers: int) -> str:
    Path("candidate.toml").write_text(f'name = "{name}"\nenvironment = {{ BUFFERS = "{buffers}" }}\n')
    return "candidate.toml"


def fields(done: Done) -> dict[str, object]:
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def test_a_campaign_judges_candidates_and_confirms_the_winner_once(
    schedlab: Schedlab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = runner(monkeypatch, capsys)
    assert fields(schedlab("open", "--baseline", "base.toml"))["campaign"] == 1
    better = fields(schedlab("ask", candidate("b", 64), "--blocks", "12"))
    assert (better["verdict"], better["alpha"], better["direction"]) == ("better", 0.025, "lower")
    assert fields(schedlab("ask", candidate("renamed", 64))) == better
    worse = fields(schedlab("ask", candidate("w", 10), "--blocks", "14"))
    assert (worse["verdict"], worse["candidate"]) == ("worse", 2)
    open_ = fields(schedlab("ask", candidate("o", 41), "--blocks", "2"))
    assert (open_["verdict"], open_["interval"], open_["blocks"]) == ("inconclusive", [None, None], 2)
    assert open_["alpha_spent"] == pytest.approx(0.05 * 3 / 4)
    printed = schedlab("status").out.splitlines()
    table = printed[next(place for place, line in enumerate(printed) if line.startswith("candidate ")) + 1 :]
    assert [line.split()[:2] for line in table[:3]] == [["b", "better"], ["w", "worse"], ["o", "inconclusive"]]
    assert "candidates: 3" in printed
    listed = fields(schedlab("status", "--format", "json"))["candidates"]
    assert isinstance(listed, list)
    assert [each["verdict"] for each in listed] == ["better", "worse", "inconclusive"]
    confirmed = fields(schedlab("confirm", "--blocks", "6"))
    assert (confirmed["name"], confirmed["verdict"], confirmed["blocks"]) == ("b", "better", 6)
    assert fields(schedlab("confirm")) == confirmed
    reported = report("report", better["run"], "--store", "s.sqlite")
    assert "the verdicts of this report do not hold" in " ".join(reported.out.split())
    refused = schedlab("confirm", "--candidate", "w")
    assert (refused.code, "the campaign has confirmed 'b'" in refused.words) == (2, True)


def test_a_mistake_is_explained(schedlab: Schedlab) -> None:
    assert "there is no store" in schedlab("status").words
    fields(schedlab("open", "--baseline", "base.toml"))
    assert "no campaign 7" in schedlab("status", "--campaign", "7").words
    assert "no candidate is better" in schedlab("confirm").words
    assert "cannot be read" in schedlab("ask", "nowhere.toml").words
    assert "per cent sign" in schedlab("open", "--baseline", "base.toml", "--delta", "1").words


def test_the_documented_loop_of_optuna_finds_the_best_value(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(BASELINE)
    (tmp_path / "optuna.py").write_text(OPTUNA)
    environment = {
        **os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SCHEDLAB_STORE": str(tmp_path / "s.sqlite"), "PYTHONPATH": str(tmp_path),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", LOOP.replace("n_trials=12", "n_trials=2")],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "'verdict': 'better'" in done.stdout

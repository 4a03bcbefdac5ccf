"""``schedlab tune``: the search, the confirmation on fresh blocks, and the result."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest
from scipy.stats import spearmanr

from schedlab.api import tuning as steps
from schedlab.execution import studies, tuning, workers
from schedlab.execution.pairs import Pairs
from schedlab.execution.workers import Chunk, Ended, Lane, Next, Work
from schedlab.findings.prediction import Backtest
from schedlab.findings.twin import EffectScores
from schedlab.store import reader
from schedlab.store.copying import copy_store
from schedlab.store.file import open_store
from schedlab.targets.protocol import Target
from schedlab.targets.scripted import Scripted
from tests.cli.in_process import Done, Schedlab, runner

pytestmark = pytest.mark.slow

FILE = """
[experiment]
name = "small"
[target]
kind = "sim"
machine = "laptop-4"
[design]
blocks = 6
seed = 3
[sweep.factors]
"sched.migration_cost_ns" = { from = 1000, to = 5_000_000, scale = "log" }
[[variant]]
name = "default"
tunables = { "sched.migration_cost_ns" = 10_000_000 }
[[workload]]
use = "hackbench"
groups = 2
loops = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tune.toml"
    path.write_text(FILE)
    return path


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Schedlab:
    monkeypatch.setenv("COLUMNS", "80")
    run = runner(monkeypatch, capsys)

    def with_store(*arguments: object, store: Path = tmp_path / "s.sqlite") -> Done:
        return run(*arguments, "--store", store)

    return with_store


def test_without_optuna_the_command_names_the_installation(
    schedlab: Schedlab, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "find_spec", lambda name: None)
    done = schedlab("tune", file)
    assert (done.code, "pip install 'schedlab[scale]'" in done.words) == (3, True)
    assert not (tmp_path / "s.sqlite").exists()


@pytest.mark.parametrize("sampler", ["tpe", "random", "nsga2"])
def test_the_winner_is_measured_again_on_fresh_blocks(schedlab: Schedlab, file: Path, sampler: str) -> None:
    done = schedlab("tune", file, "--trials", 6, "--sampler", sampler, "--format", "json")
    found = json.loads(done.out)
    assert (done.code, len(found["points"]), found["sampler"]) == (0, 6, sampler)
    complete = [point for point in found["points"] if point["blocks"] == 2]
    best = min(complete, key=lambda point: point["ratio"])
    assert (found["winner"], found["optimistic_ratio"]) == (best["values"], best["ratio"])
    assert (found["confirmation"]["run"], found["confirmation"]["blocks"]) == (2, 6)
    assert found["confirmation"]["ratio"] != found["optimistic_ratio"]


def test_the_same_seed_gives_the_same_result(schedlab: Schedlab, file: Path) -> None:
    first, second = (json.loads(schedlab("tune", file, "--trials", 3, "--format", "json").out) for _ in range(2))
    assert [point["values"] for point in first["points"]] == [point["values"] for point in second["points"]]
    assert first["optimistic_ratio"] == second["optimistic_ratio"]


def test_a_search_goes_on_with_more_points(schedlab: Schedlab, file: Path) -> None:
    first = json.loads(schedlab("tune", file, "--trials", 2, "--format", "json").out)
    done = schedlab("tune", file, "--trials", 4, "--resume", "--format", "json")
    found = json.loads(done.out)
    assert (found["run"], len(found["points"])) == (first["run"], 4)
    assert found["points"][:2] == first["points"]


def test_each_confirmation_spends_a_share_of_the_error_rate_for_all_its_winners(schedlab: Schedlab, file: Path) -> None:
    options = ("--trials", 6, "--format", "json")
    first = json.loads(schedlab("tune", file, *options).out)["confirmation"]
    assert (first["run"], first["number"], first["alpha"]) == (2, 1, pytest.approx(0.04))
    more = json.loads(schedlab("tune", file, *options, "--resume", "--confirm", 8).out)["confirmation"]
    assert (more["run"], more["number"], more["alpha"]) == (3, 2, pytest.approx(0.008))
    again = json.loads(schedlab("tune", file, *options, "--resume", "--confirm", 6).out)["confirmation"]
    assert (again["run"], again["number"]) == (3, 2)
    text = " ".join(schedlab("tune", "--show", 1).out.split())
    assert "confirmation 2 of this search: at most 0.8 % chance of any false verdict (1 verdict)" in text
    assert "all its confirmations together: 5 %" in text
    engine = open_store(file.parent / "s.sqlite", create=False)
    assert [run.design.family for run in reversed(reader.runs(engine))] == ["variant", "run", "run"]


def test_new_winners_are_not_shown_with_the_verdicts_of_other_winners(
    schedlab: Schedlab, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search finds another winner, and is killed before its confirmation begins."""
    first = json.loads(schedlab("tune", file, "--seed", 4, "--trials", 1, "--format", "json").out)

    def killed(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(steps, "confirm_winners", killed)
    assert schedlab("tune", file, "--seed", 4, "--trials", 2, "--resume").code == 130
    found = json.loads(schedlab("tune", "--show", 1, "--format", "json").out)
    assert found["winner"] != first["winner"]
    assert (first["confirmation"] is None, found["confirmation"]) == (False, None)


def test_the_text_shows_the_optimistic_figure_beside_the_verdict(schedlab: Schedlab, file: Path) -> None:
    text = schedlab("tune", file, "--trials", 6).out
    words = " ".join(text.split())
    assert "optimistic as the best of 6 points" in words
    assert "on fresh blocks (run 2) time" in words
    assert schedlab("tune", "--show", 1).out == text


def test_without_a_better_point_nothing_is_confirmed(schedlab: Schedlab, file: Path) -> None:
    # No task waits for 10 ms, so that all these values give the same figures.
    file.write_text(FILE.replace("from = 1000, to = 5_000_000", "from = 10_000_001, to = 10_000_010"))
    found = json.loads(schedlab("tune", file, "--trials", 1, "--format", "json").out)
    assert (len(found["points"]), found["winner"], found["confirmation"]) == (1, None, None)


def test_a_killed_search_continues_as_an_uninterrupted_search(
    schedlab: Schedlab, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sampler sees the stored blocks again, in the same order."""
    options = ("--trials", 14, "--sampler", "tpe", "--blocks", 3, "--format", "json")
    whole = json.loads(schedlab("tune", file, *options).out)
    file.write_text(file.read_text() + "# another search\n")
    measure, left = Pairs.measure, iter(range(17))

    def killed(pairs: Pairs, other: int) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        measure(pairs, other)

    monkeypatch.setattr(Pairs, "measure", killed)
    assert schedlab("tune", file, *options).code == 130
    monkeypatch.setattr(Pairs, "measure", measure)
    resumed = json.loads(schedlab("tune", file, *options, "--resume").out)
    assert (resumed["run"], resumed["points"]) == (3, whole["points"])


def test_the_study_is_in_the_store_and_the_store_suffices_without_it(
    schedlab: Schedlab, file: Path, tmp_path: Path
) -> None:
    found = json.loads(schedlab("tune", file, "--trials", 3, "--format", "json").out)
    study = optuna.load_study(study_name="schedlab-run-1", storage=f"sqlite:///{tmp_path / 's.sqlite'}")
    assert [trial.params for trial in study.trials] == [point["values"] for point in found["points"]]
    engine = open_store(tmp_path / "s.sqlite", create=False)
    copy_store(engine, open_store(tmp_path / "copy.sqlite", create=True))
    resumed = json.loads(
        schedlab("tune", file, "--trials", 5, "--resume", "--format", "json", store=tmp_path / "copy.sqlite").out
    )
    assert (len(resumed["points"]), resumed["points"][:3]) == (5, found["points"])


@pytest.mark.parametrize("lanes", [1, 3])
def test_points_are_measured_at_the_same_time(
    schedlab: Schedlab, file: Path, monkeypatch: pytest.MonkeyPatch, lanes: int
) -> None:
    """With workers a point waits for its next block while other points begin; a lost block is repeated."""
    lost: list[Chunk] = []

    def local(work: Work, next_chunk: Next, given: Sequence[Lane]) -> Ended:
        running: list[Chunk] = []
        while True:
            while len(running) < lanes and (chunk := next_chunk(None)) is not None:
                running.append(chunk)
            if not running:
                return
            chunk = running.pop(0)
            if not lost:
                lost.append(chunk)
                yield chunk, None
            else:
                yield chunk, work(chunk)

    monkeypatch.setattr(workers, "local", local)
    options = ("--trials", 6, "--sampler", "random", "--format", "json")
    found = json.loads(schedlab("tune", file, *options, "--jobs", 2).out)
    alone = json.loads(schedlab("tune", file, *options).out)
    assert len(lost) == 1
    names = [sorted(str(point["values"]) for point in each["points"]) for each in (found, alone)]
    assert names[0] == names[1]
    assert found["confirmation"]["blocks"] == 6


def test_a_machine_measures_one_trial_at_a_time(schedlab: Schedlab, file: Path) -> None:
    done = schedlab("tune", file, "--target", "host", "--jobs", 2)
    assert (done.code, "host measures one trial at a time" in done.words) == (2, True)


ON_HOST = """
[experiment]
name = "warm"
[design]
blocks = 1
seed = 3
warmup = 0
[sweep.factors]
"variant.nice" = [1, 2, 3]
[[variant]]
name = "default"
[[workload]]
use = "pipetest"
loops = 20
"""


@pytest.mark.parametrize(("signs", "skill"), [((), False), ((1, 1), True), ((1, -1), False)])
def test_a_search_on_a_model_warms_a_machine_only_if_the_model_has_shown_skill(
    schedlab: Schedlab, file: Path, monkeypatch: pytest.MonkeyPatch, signs: tuple[int, ...], skill: bool
) -> None:
    """``signs``: whether the effects of a stored comparison have the right sign."""
    file.write_text(ON_HOST)
    choose = steps.choose

    def chosen(spec: str | None, *arguments: Any) -> Target:
        return Scripted(lambda trial: 1.0 + trial.index / 1000) if spec == "host" else choose(spec, *arguments)

    monkeypatch.setattr(steps, "choose", chosen)
    assert schedlab("tune", file, "--target", "sim:laptop-4", "--trials", 3, "--blocks", 1).code == 0
    effects = [SimpleNamespace(right=sign > 0, significant=True) for sign in signs for _ in range(5)]
    right = sum(each.right for each in effects)
    scores = EffectScores(len(effects), len(effects), right, right, 0.1, 0.1, 0.1)
    backtest = SimpleNamespace(twins=len(signs), effects=effects, scores=scores)
    monkeypatch.setattr(Backtest, "of", lambda twins: backtest)
    options = ("--warm-start", 1, "--trials", 1, "--blocks", 1, "--format", "json")
    done = schedlab("tune", file, "--target", "host", *options)
    warm = json.loads(done.out)["warm_start"]
    assert (done.code, warm["points"] > 0, "the search starts cold" in done.words) == (0, skill, not skill)
    assert ("starts cold" in warm["notes"][0]) == (not skill)
    resumed = json.loads(schedlab("tune", file, "--target", "host", *options, "--resume").out)
    assert resumed["warm_start"] == warm


TRADE_OFF = FILE.replace(
    '[[workload]]\nuse = "hackbench"\ngroups = 2\nloops = 5\n',
    '[[workload]]\nuse = "tbench-native"\nclients = 48\nwarmup = "1ms"\nduration = "20ms"\n',
)


def test_several_objectives_have_a_front_whose_points_are_confirmed(schedlab: Schedlab, file: Path) -> None:
    file.write_text(TRADE_OFF)
    objectives = ("--metric", "throughput", "--objective", "latency-p99")
    done = schedlab("tune", file, *objectives, "--trials", 12, "--format", "json")
    found = json.loads(done.out)
    assert (done.code, found["sampler"], found["objectives"]) == (0, "nsga2", ["throughput", "latency-p99"])
    gains = {str(point["values"]): (point["ratios"]["throughput"], -point["ratios"]["latency-p99"])
             for point in found["points"]}  # fmt: skip
    front = {name for name, own in gains.items() if not any(
        other != own and other[0] >= own[0] and other[1] >= own[1] for other in gains.values())}  # fmt: skip
    winners = found["winners"]
    assert 1 <= len(winners) <= tuning.MOST_WINNERS
    assert {str(winner["values"]) for winner in winners} <= front
    assert all(set(winner["confirmation"]) == {"throughput", "latency-p99"} for winner in winners)
    words = " ".join(schedlab("tune", "--show", 1).out.split())
    assert re.search(r"on fresh blocks \(run 2\) throughput [^;]*; latency-p99 ", words)


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_the_winner_keeps_the_constraints(schedlab: Schedlab, file: Path, sampler: str) -> None:
    file.write_text(TRADE_OFF)
    options = ("--constraint", "latency-p99", "--sampler", sampler, "--trials", 12, "--blocks", 1)
    found = json.loads(schedlab("tune", file, *options, "--format", "json").out)
    points = found["points"]
    assert (found["objectives"], found["constraints"]) == (["throughput"], ["latency-p99"])
    assert all(point["keeps_constraints"] == (point["ratios"]["latency-p99"] <= 1.01) for point in points)
    keeping = [point for point in points if point["keeps_constraints"]]
    assert 0 < len(keeping) < len(points)
    best = max(keeping, key=lambda point: point["ratio"])
    assert found["winner"] == (best["values"] if best["ratio"] > 1 else None)
    if found["winner"] is not None:
        kept = found["winners"][0]["confirmation"]["latency-p99"]["verdict"] in ("better", "equivalent")
        words = " ".join(schedlab("tune", "--show", found["run"]).out.split())
        assert ("the constraint on latency-p99" in words) == (not kept)


def test_a_search_begins_with_the_best_points_of_another_search(schedlab: Schedlab, file: Path) -> None:
    first = json.loads(schedlab("tune", file, "--trials", 6, "--format", "json").out)
    ranked = sorted(first["points"], key=lambda point: point["ratio"])[:5]
    found = json.loads(schedlab("tune", file, "--trials", 7, "--warm-start", 1, "--format", "json").out)
    assert [point["values"] for point in found["points"][:5]] == [point["values"] for point in ranked]
    assert (len(found["points"]), found["warm_start"]["points"]) == (7, 5)
    gains = [-point["ratio"] for point in found["points"][:5]]
    correlation = spearmanr(gains, range(5, 0, -1)).statistic
    assert found["warm_start"]["rank_correlation"] == pytest.approx(correlation)
    words = " ".join(schedlab("tune", "--show", found["run"]).out.split())
    assert f"order with their figures: {correlation:+.2f}" in words


def test_a_first_point_outside_the_space_is_refused(schedlab: Schedlab, file: Path) -> None:
    file.write_text(FILE.replace("[[variant]]", '[tune]\nfirst = [{ "sched.migration_cost_ns" = 7 }]\n[[variant]]'))
    assert "sched.migration_cost_ns = 7 is not in the search space" in schedlab("tune", file).words


def test_a_run_refuses_a_file_of_a_search(schedlab: Schedlab, file: Path) -> None:
    file.write_text(FILE.replace("[sweep.factors]", "[tune]\n[sweep.factors]"))
    assert "schedlab tune FILE" in schedlab("run", file).words


def test_the_sampler_of_gaussian_processes_names_its_library(
    schedlab: Schedlab, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "find_spec", lambda name: None if name == "torch" else object())
    done = schedlab("tune", file, "--sampler", "gp")
    assert (done.code, "pip install torch" in done.words) == (3, True)


def test_a_search_has_no_report_of_verdicts(schedlab: Schedlab, file: Path) -> None:
    schedlab("tune", file, "--trials", 1)
    assert "schedlab tune --show 1" in schedlab("report", 1).words

"""The search of a bisection through the real pipeline: scripted states, failures, budget, resume."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp, inf
from pathlib import Path
from statistics import stdev

import pytest
from sqlalchemy import Engine

from schedlab.analysis.changepoint import START
from schedlab.errors import CannotRunHere, StoreError
from schedlab.execution.bisection import Times, bisection, pilot_noise
from schedlab.execution.loop import Measure, pause_of, recorded
from schedlab.execution.pairs import Pairs
from schedlab.execution.search import REFERENCE_FAILURES, Budget, search
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial, rows, variants
from schedlab.experiment.states import of_file
from schedlab.report.answers.bisect import sentence
from schedlab.report.fields.bisect import fields
from schedlab.results.measurement import Measurement
from schedlab.store import reader, writer
from schedlab.store.design import Purpose
from schedlab.store.file import open_store
from schedlab.targets.scripted import Scripted
from tests.conftest import TWO_VARIANTS

pytestmark = pytest.mark.slow

NAMES = [f"s{index}" for index in range(12)]
CULPRIT = 7
TEXT = """
[experiment]
name = "search"
[design]
warmup = 1
[[workload]]
use = "hackbench"
groups = 1
""" + "".join(f'[[variant]]\nname = "{name}"\n' for name in NAMES)


def value(trial: Trial) -> float:
    """Noise of 1 %, and 10 % more from the culprit on."""
    changed = NAMES.index(trial.variant.name) >= CULPRIT
    return random.Random(trial.index).lognormvariate(0, 0.01) * (1.1 if changed else 1.0)


@dataclass
class Bench:
    """A search with a store and a script."""

    engine: Engine
    script: Callable[[Trial], float | Measurement] = value
    seed: int = 3
    built: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        experiment, self.text = of_file(TEXT, "f", None, None)
        self.plan = Plan(experiment, self.seed, variants(experiment), rows(experiment), ())
        purpose = Purpose(bisection=True)
        new = writer.NewRun(self.plan, "scripted", "scripted", False, self.text, "f", {}, "scripted", purpose)
        self.run = writer.begin(self.engine, new)
        self.target = Scripted(self._run)

    def _run(self, trial: Trial) -> float | Measurement:
        return self.script(trial)

    def search(self, blocks: int = 200, build: Callable[[Variant], str] = lambda variant: "") -> None:
        search(self.plan, self.target, self.engine, self.run, Budget(blocks, inf), lambda trial, measured: None, build)

    @property
    def trials(self) -> list[Trial]:
        return [entry for entry in self.target.log if isinstance(entry, Trial)]


@pytest.fixture
def bench(engine: Engine) -> Bench:
    return Bench(engine)


def test_a_search_names_the_changed_state_with_few_blocks(bench: Bench) -> None:
    bench.search()
    result = bisection(bench.engine, bench.run)
    assert result.decided
    assert result.candidates == [CULPRIT]
    assert result.blocks < 30
    assert result.run.state == "complete"
    assert result.run.recorded == 2 * result.blocks + 2  # with the warm-up


def test_every_block_measures_the_reference_and_one_state_in_random_order(bench: Bench) -> None:
    bench.search()
    pairs: dict[int, list[str]] = {}
    for trial in bench.trials:
        if trial.phase == "measure":
            pairs.setdefault(trial.block, []).append(trial.variant.name)
    assert all(len(pair) == 2 and "s0" in pair for pair in pairs.values())
    assert list(pairs) == list(range(1, len(pairs) + 1))
    assert {pair.index("s0") for pair in pairs.values()} == {0, 1}
    warm_up = [(trial.block, trial.variant.name) for trial in bench.trials if trial.phase == "warmup"]
    assert warm_up == [(0, "s0"), (0, "s11")]
    assert [trial.index for trial in bench.trials] == list(range(len(bench.trials)))


def test_the_same_seed_searches_in_the_same_order(tmp_path: Path) -> None:
    logs = []
    for name in ("a", "b"):
        bench = Bench(open_store(tmp_path / name, create=True))
        bench.search()
        logs.append([(trial.index, trial.variant.name) for trial in bench.trials])
    assert logs[0] == logs[1]


def test_a_block_of_an_unbuilt_state_costs_the_time_of_building_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build takes 8 s, and a block of two trials 4 s."""
    clock = [1000.0]
    monkeypatch.setattr("schedlab.execution.pairs.time.monotonic", lambda: clock[0])

    def build(variant: Variant) -> str:
        clock[0] += 0 if variant.name in blocks.built else 8
        return ""

    def script(trial: Trial) -> float:
        clock[0] += 2
        return 1.0

    bench.script = script
    with recorded(bench.plan, bench.target, bench.engine, bench.run) as session:
        measure = Measure(session, pause_of(bench.plan, bench.target), bench.engine, bench.run, lambda *_: None)
        blocks = Pairs(bench.plan, measure, build)
        blocks.warm_up()
        blocks.measure(len(NAMES) - 1)
        # The warm-up built the first and the last state.
        assert blocks.costs().tolist() == [1.0, *[3.0] * (len(NAMES) - 2), 1.0]
        # A block that builds its state has the same time of measuring.
        blocks.measure(5)
        assert blocks.costs().tolist() == [1.0, *[3.0] * 4, 1.0, *[3.0] * (len(NAMES) - 7), 1.0]


def test_an_interrupted_search_goes_on_as_if_it_had_not_been_interrupted(tmp_path: Path) -> None:
    whole = Bench(open_store(tmp_path / "whole", create=True))
    whole.search()
    cut = Bench(open_store(tmp_path / "cut", create=True))

    def interrupted(trial: Trial) -> float:
        if trial.index == 12 and cut.target.log.count(trial) == 1 and not cut.built:
            cut.built.append("interrupted")
            raise KeyboardInterrupt
        return value(trial)

    cut.script = interrupted
    with pytest.raises(KeyboardInterrupt):
        cut.search()
    assert reader.run(cut.engine, cut.run).state == "interrupted"
    cut.search()
    before, after = bisection(whole.engine, whole.run), bisection(cut.engine, cut.run)
    assert before.candidates == after.candidates == [CULPRIT]
    assert after.run.state == "complete"


def test_a_budget_ends_a_search_undecided_and_a_larger_budget_continues_the_search(bench: Bench) -> None:
    bench.search(blocks=6)
    first = bisection(bench.engine, bench.run)
    assert (first.blocks, first.decided) == (6, False)
    bench.search()
    second = bisection(bench.engine, bench.run)
    assert second.decided
    assert second.states[11].logs[:4].tolist() == first.states[11].logs[:4].tolist()


def test_a_state_that_does_not_build_is_skipped_and_never_counts_as_bad(bench: Bench) -> None:
    bench.search(build=lambda variant: "error: expected ';'" if variant.name == f"s{CULPRIT}" else "")
    result = bisection(bench.engine, bench.run)
    assert result.skipped == [CULPRIT]
    assert result.candidates == [CULPRIT, CULPRIT + 1]
    assert result.decided
    assert "expected" in result.states[CULPRIT].reason
    times = reader.times(bench.engine, bench.run)
    assert set(times.filter(times["variant"] == f"s{CULPRIT}")["elapsed"]) == {0.0}


def test_a_state_that_fails_once_is_measured_again(bench: Bench) -> None:
    failed: list[int] = []

    def script(trial: Trial) -> float | Measurement:
        if trial.variant.name == f"s{CULPRIT}" and not failed:
            failed.append(trial.index)
            return Measurement("failed", 0, 1, reason="panic")
        return value(trial)

    bench.script = script
    bench.search()
    result = bisection(bench.engine, bench.run)
    assert (result.candidates, result.skipped, result.states[CULPRIT].failed) == ([CULPRIT], [], 1)


def test_a_search_whose_reference_fails_ends_with_the_reason(bench: Bench) -> None:
    bench.script = lambda trial: Measurement("failed", 0, 1, reason="no disk") if trial.variant.name == "s0" else 1.0
    with pytest.raises(CannotRunHere, match="'s0' failed in 3 successive blocks: no disk"):
        bench.search()
    blocks = {trial.block for trial in bench.trials if trial.phase == "measure"}
    assert len(blocks) == REFERENCE_FAILURES


def test_a_search_in_which_every_other_state_fails_ends_undecided(bench: Bench) -> None:
    bench.script = lambda trial: Measurement("failed", 0, 1, reason="no") if trial.variant.name != "s0" else 1.0
    bench.search()
    result = bisection(bench.engine, bench.run)
    assert len(result.skipped) == len(NAMES) - 1
    assert result.blocks == 0


def test_figures_in_coarse_steps_show_no_change_below_a_step(bench: Bench) -> None:
    """The noise is 3 % of 10 units, and no state changes the figure."""
    bench.script = lambda trial: round(10 * random.Random(trial.index).lognormvariate(0, 0.03))
    bench.search()
    result = bisection(bench.engine, bench.run)
    assert (result.candidates, result.decided, result.all_equal) == ([None], True, False)
    assert result.least == pytest.approx(0.1, rel=0.1)
    found = fields(result, Times({}, 0.0, None, None))
    assert (found.result, found.culprit, found.least_change) == ("ends equal", None, result.least)
    step = f"{100 * result.least:.3g} %, one step of its figures, or more"
    assert f"'s11' does not differ from 's0' in time by {step}" in sentence(result).text


def test_a_change_of_one_coarse_step_is_found(bench: Bench) -> None:
    bench.script = lambda trial: round(10 * value(trial))
    bench.search()
    result = bisection(bench.engine, bench.run)
    assert (result.candidates, result.decided) == ([CULPRIT], True)
    assert result.blocks >= START


def test_equal_figures_say_that_the_last_state_equals_the_first(bench: Bench) -> None:
    bench.script = lambda trial: 1234.0
    bench.search()
    result = bisection(bench.engine, bench.run)
    assert (result.candidates, result.all_equal, result.blocks) == ([None], True, START)
    assert sentence(result).text.startswith("'s11' equals 's0': all figures of time are equal, whose steps are unknown")


def test_a_change_that_a_later_state_takes_back_is_not_denied(bench: Bench) -> None:
    """The search measures the last state first, which equals the first state."""
    bench.script = lambda trial: value(trial) / (1.1 if trial.variant.name == NAMES[-1] else 1.0)
    bench.search()
    result = bisection(bench.engine, bench.run)
    assert (result.candidates, result.least) == ([None], result.run.design.delta)
    assert sentence(result).text.startswith("'s11' does not differ from 's0' in time by 1 % or more (probability ")
    assert result.probability > 0.9


def test_another_kind_of_run_is_not_a_bisection(
    run_script: Callable[..., tuple[int, Scripted]], engine: Engine
) -> None:
    run, _ = run_script(lambda trial: 1.0)
    with pytest.raises(StoreError, match="is not a bisection"):
        bisection(engine, run)


def test_noise_of_an_earlier_bisection_is_pooled_over_its_states(bench: Bench) -> None:
    bench.search()
    run = reader.run(bench.engine, bench.run)
    groups = [state.logs for state in bisection(bench.engine, run).states if len(state.logs)]
    assert len(groups) > 2
    squares = sum(float(((logs - logs.mean()) ** 2).sum()) for logs in groups)
    degrees = sum(map(len, groups)) - len(groups)
    noise = pilot_noise(bench.engine, bench.run, run.design.questions[0].metric)
    assert noise == pytest.approx((squares / degrees) ** 0.5)


def test_noise_of_a_run_with_a_control_is_that_of_its_blocks(
    run_script: Callable[..., tuple[int, Scripted]], engine: Engine
) -> None:
    logs = [0.01, -0.02, 0.03, 0.0]

    def script(trial: Trial) -> float:
        return exp(logs[trial.block - 1]) if trial.variant.name == "control" else 1.0

    text = TWO_VARIANTS.replace("groups = [1, 4]", "groups = 1")
    run_id, _ = run_script(script, text.replace("blocks = 8", "blocks = 4\nwarmup = 0"))
    metric = reader.run(engine, run_id).design.questions[0].metric
    assert pilot_noise(engine, run_id, metric) == pytest.approx(stdev(logs))
    two, _ = run_script(script, text.replace("blocks = 8", "blocks = 2\nwarmup = 0"))
    with pytest.raises(StoreError, match=f"run {two} does not show the noise of {metric}"):
        pilot_noise(engine, two, metric)

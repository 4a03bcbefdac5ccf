"""Questions of a campaign through the real pipeline: scripted candidates, verdicts, kills and failures."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from sqlalchemy import Engine

from schedlab.errors import ExperimentError, StoreError
from schedlab.execution.campaign import FAILURES, Answer, answer, measure_blocks
from schedlab.experiment.candidates import check_baseline, propose
from schedlab.experiment.plan import Trial, of_one_row
from schedlab.results.measurement import Measurement
from schedlab.results.words import Word
from schedlab.store import campaigns, reader, writer
from schedlab.store.campaigns import Campaign, Candidate
from schedlab.store.design import Purpose
from schedlab.targets.scripted import Scripted

BASELINE = """
[experiment]
name = "campaign"
[design]
warmup = 1
blocks = 8
[[variant]]
name = "base"
[[workload]]
use = "hackbench"
groups = 1
"""


@dataclass
class Bench:
    """A campaign with a scripted target: the candidate's time is ``factor`` of the baseline's, with 1 % noise."""

    engine: Engine
    factor: float = 1.0
    trials: list[Trial] = field(default_factory=list)
    fault: Callable[[Trial], Measurement | None] = lambda trial: None

    def __post_init__(self) -> None:
        number = campaigns.open_campaign(self.engine, Campaign("campaign", 0.05, 0.01, 8, BASELINE, "f"))
        self.campaign = campaigns.campaign(self.engine, number)

    def value(self, trial: Trial) -> float | Measurement:
        self.trials.append(trial)
        noise = random.Random(f"{trial.index} {trial.variant.name}").lognormvariate(0, 0.01)
        return self.fault(trial) or noise * (1.0 if trial.variant.name == "base" else self.factor)

    def candidate(self, text: str = "nice = 1") -> Candidate:
        proposal = propose(BASELINE, text, "c.toml", "c", 0.05, 0.01)
        candidate = campaigns.candidate(self.engine, self.campaign.id, proposal.content, proposal.name)
        self.plan = of_one_row(proposal.experiment, 5)
        if candidate.run_id is None:
            purpose = Purpose(candidate=proposal.content)
            new = writer.NewRun(self.plan, "scripted", "scripted", False, proposal.text, "f", {}, "", purpose)
            campaigns.set_run(self.engine, candidate.id, writer.begin(self.engine, new), "run_id")
            candidate = campaigns.candidate(self.engine, self.campaign.id, proposal.content, "")
        return candidate

    def ask(self, candidate: Candidate, blocks: int = 8) -> Answer:
        target = Scripted(self.value)
        return measure_blocks(
            self.plan, target, self.engine, self.campaign, candidate, blocks, lambda trial, measured: None
        )


@pytest.fixture
def bench(engine: Engine) -> Bench:
    return Bench(engine)


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "word"), [(0.9, Word.BETTER), (1.1, Word.WORSE), (1.0, Word.EQUIVALENT)])
def test_a_repeated_question_continues_the_evidence_until_a_verdict(bench: Bench, factor: float, word: Word) -> None:
    bench.factor = factor
    candidate = bench.candidate()
    for _ in range(8):
        result = bench.ask(candidate)
    assert result.word is word
    assert result.low < factor < result.high
    assert result.alpha == 0.025
    measured = len(bench.trials)
    assert result.blocks == (measured - 2) / 2  # with the warm-up
    assert bench.ask(candidate) == result
    assert len(bench.trials) == measured
    assert reader.run(bench.engine, candidate.run_id).state == "complete"


@pytest.mark.slow
def test_a_killed_question_completes_its_block_and_changes_no_answer(engine: Engine) -> None:
    answers = []
    for killed in (None, 5, 6, 9, 10):
        bench = Bench(engine, 0.97)
        candidate = bench.candidate()

        def kill(trial: Trial, killed: int | None = killed, bench: Bench = bench) -> None:
            if trial.index == killed and bench.trials.count(trial) == 1:
                raise KeyboardInterrupt

        bench.fault = kill
        if killed is not None:
            with pytest.raises(KeyboardInterrupt):
                bench.ask(candidate)
        partly = answer(engine, bench.campaign, candidate).blocks
        result = bench.ask(candidate, 6 - partly - (0 if killed in (None, 6, 10) else 1))
        answers.append((result.blocks, result.failed, result.ratio, result.e_value))
    assert answers == [answers[0]] * 5
    assert answers[0][0] == 6


def test_failing_blocks_end_a_question_and_give_no_verdict(bench: Bench) -> None:
    bench.factor = 0.5
    bench.fault = lambda trial: Measurement("failed", 1.0, 1.0, reason="broke") if trial.variant.name == "c" else None
    result = bench.ask(bench.candidate(), 20)
    assert (result.word, result.blocks, result.failed) == (Word.INCONCLUSIVE, 0, FAILURES)
    assert "3 of 3 trials of c failed" in result.reason


@pytest.mark.slow
def test_a_faster_candidate_that_hangs_once_has_no_verdict(bench: Bench) -> None:
    bench.factor = 0.9
    hung = Measurement("timeout", 1.0, 1.0, reason="took too long")
    bench.fault = lambda trial: hung if trial.variant.name == "c" and trial.block == 4 else None
    result = bench.ask(bench.candidate(), 24)
    assert (result.word, result.blocks, result.failed) == (Word.INCONCLUSIVE, 23, 1)
    assert "1 of 24 trials of c and 0 of 24 of base have no value" in result.reason


def test_equal_states_are_one_candidate_and_later_candidates_may_spend_less(bench: Bench) -> None:
    first, second = bench.candidate('name = "x"\nnice = 1'), bench.candidate("nice = 2")
    again = bench.candidate('description = "the same"\nnice = 1')
    assert (again, again.name) == (first, "x")
    assert [bench.ask(each, 0).alpha for each in (first, second)] == pytest.approx([0.05 / 2, 0.05 / 6])


def test_a_run_of_another_candidate_is_refused(bench: Bench) -> None:
    first, second = bench.candidate(), bench.candidate("nice = 2")
    campaigns.set_run(bench.engine, first.id, second.run_id or 0, "run_id")
    with pytest.raises(StoreError, match="does not measure candidate 'c'"):
        answer(bench.engine, bench.campaign, bench.candidate())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[variant]]\nname = "x"', r"\[variant\] does not belong"),
        ("# comment\nnice = 99", "c.toml:2: nice"),
        ("wrong = 1", "c.toml:1: wrong"),
        ('name = "base"', "base"),
        ("nice = ", "not valid TOML"),
    ],
)
def test_a_mistake_in_a_candidate_is_explained(text: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        propose(BASELINE, text, "c.toml", "c", 0.05, 0.01)


def test_a_baseline_file_has_one_variant_and_one_metric() -> None:
    with pytest.raises(ExperimentError, match="one variant"):
        check_baseline(BASELINE + '[[variant]]\nname = "other"\n', "f")
    with pytest.raises(ExperimentError, match="needs one metric"):
        check_baseline(BASELINE.replace("groups = 1", "groups = [1, 2]"), "f")

"""The questions of a campaign: blocks of the baseline and one candidate, and what all blocks so far show.

Every answer is computed from the store, so that a killed question loses at most the running trial.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite, log, nan

from sqlalchemy import Engine

from schedlab.analysis.cells import Blocks, average_blocks
from schedlab.analysis.eprocess import judge_candidate, share
from schedlab.analysis.paired import ratio_of
from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import event_share
from schedlab.errors import StoreError
from schedlab.execution.loop import Measure, Progress, pause_of, recorded
from schedlab.execution.pairs import Pairs
from schedlab.experiment.plan import Plan
from schedlab.results.words import Word
from schedlab.store import reader
from schedlab.store.campaigns import Campaign, Candidate
from schedlab.store.columns import read_cells
from schedlab.targets.protocol import Target

FAILURES = 3
"""Successive blocks without a ratio after which a question ends."""


@dataclass(frozen=True)
class Answer:
    """What the blocks of a candidate show.

    Attributes:
        candidate: the candidate.
        question: the row.
        word: the verdict. A verdict other than inconclusive is final.
        ratio: geometric mean of the candidate/baseline ratios of all blocks; nan without blocks.
        low, high: bounds of the ratio, nan if so few blocks exclude no ratio. Each bound is wrong with a probability of
            at most ``alpha``, at all times.
        alpha: the share of the campaign's error rate that this candidate may spend.
        e_value: largest evidence so far for a gain: the wealth of the bets, which must reach 1/alpha.
        blocks: number of blocks with a ratio.
        failed: number of blocks without a ratio.
        reason: why there is no verdict; empty if blocks are missing, or if there is a verdict.
    """

    candidate: Candidate
    question: Question
    word: Word
    ratio: float
    low: float
    high: float
    alpha: float
    e_value: float
    blocks: int
    failed: int
    reason: str = ""

    @property
    def event_share(self) -> float:
        """The share of blocks in which a rare event cannot be excluded, see :func:`event_share`."""
        return event_share(self.word, self.blocks)

    @property
    def gain(self) -> float:
        """The ratio's logarithm, positive for a better candidate."""
        return log(self.ratio) if self.question.direction == "higher" else -log(self.ratio)

    @property
    def needed(self) -> float:
        """The evidence that a verdict needs."""
        return 1 / self.alpha

    @property
    def final(self) -> bool:
        """Whether no further block is measured."""
        return self.word is not Word.INCONCLUSIVE


def ask(
    plan: Plan,
    target: Target,
    engine: Engine,
    campaign: Campaign,
    candidate: Candidate,
    blocks: int,
    progress: Progress,
) -> Answer:
    """Measure up to this number of fresh blocks, until the candidate has a verdict; return the answer.

    Args:
        plan: a plan without trials, with the baseline, the candidate and one row.
        target: the target.
        engine: the store.
        campaign: the campaign.
        candidate: the candidate, with its run.
        blocks: most blocks.
        progress: see :data:`schedlab.execution.loop.Progress`.
    """
    assert candidate.run_id is not None
    with recorded(plan, target, engine, candidate.run_id) as session:
        pairs = Pairs(plan, Measure(session, pause_of(plan, target), engine, candidate.run_id, progress))
        pairs.warm_up()
        pairs.complete(1)
        result, failures = answer(engine, campaign, candidate), 0
        for _ in range(blocks):
            if result.final or failures == FAILURES:
                break
            pairs.measure(1)
            previous, result = result, answer(engine, campaign, candidate)
            failures = failures + 1 if result.failed > previous.failed else 0
    return result


def answer(engine: Engine, campaign: Campaign, candidate: Candidate) -> Answer:
    """Return what the stored blocks of a candidate show; StoreError if its run is missing."""
    alpha = campaign.alpha * share(candidate.position)
    assert candidate.run_id is not None
    run = reader.run(engine, candidate.run_id)
    if run.design.candidate != candidate.content:
        raise StoreError(
            f"run {run.id} does not measure candidate {candidate.name!r}",
            where=str(engine.url.database),
            todo="put back a copy of the store, or open a new campaign",
        )
    (question,) = run.design.questions
    recorded_blocks = reader.trial_counts(engine, run.id)
    blocks = Blocks(average_blocks(read_cells(engine, run)), recorded_blocks)
    baseline, name = run.design.variants
    try:
        found = judge_candidate(blocks, question, baseline, name, alpha, campaign.delta)
    except ValueError as error:
        todo = "name a metric of the workload that is always above 0"
        raise StoreError(f"{question.metric} cannot be judged: {error}", todo=todo) from None
    row, logs, shown = (question.workload, question.parameters), found.logs, found.shown
    tried = set.intersection(*(set(recorded_blocks.get((*row, each), {})) for each in (baseline, name)))
    low, high = (shown.low, shown.high) if question.direction == "higher" else (-shown.high, -shown.low)
    return Answer(
        candidate=candidate,
        question=question,
        word=found.word,
        ratio=ratio_of(float(logs.mean())) if len(logs) else nan,
        low=exp(low) if isfinite(low) else nan,
        high=exp(high) if isfinite(high) else nan,
        alpha=alpha,
        e_value=exp(min(shown.log_above, 700.0)),
        blocks=len(logs),
        failed=len(tried) - len(logs),
        reason=found.reason,
    )

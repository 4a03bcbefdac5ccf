"""The questions of a campaign: blocks of the baseline and one candidate, and what all blocks so far show.

Every answer is computed from the store, so that a killed question loses at most the running trial.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, isfinite, log, nan
from pathlib import Path

from sqlalchemy import Engine

from schedlab.analysis.cells import Blocks, average_blocks
from schedlab.analysis.eprocess import judge_candidate, share
from schedlab.analysis.paired import ratio_of
from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import event_share
from schedlab.errors import SchedlabError, StoreError
from schedlab.execution.loop import Measure, Progress, execute, pause_of, recorded, require_runnable
from schedlab.execution.pairs import Pairs
from schedlab.execution.runs import Request, Source, begin, require_same_machine, target_of
from schedlab.execution.watch import Watch, measuring
from schedlab.experiment import changes
from schedlab.experiment.candidates import check_baseline, propose
from schedlab.experiment.changes import Changes
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan, of_one_row, plan
from schedlab.notation.units import parse_share
from schedlab.results.words import Word
from schedlab.store import campaigns, reader
from schedlab.store.campaigns import Campaign, Candidate
from schedlab.store.columns import read_cells
from schedlab.store.design import Purpose
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.store.run_rows import Run
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


def open_campaign(
    source: Source,
    store: Location,
    watch: Watch,
    *,
    alpha: float,
    delta: str | None,
    blocks: int | None,
    target: str | None,
    sysroot: Path | None,
) -> Campaign:
    """Store a campaign whose baseline is the one variant of an experiment that can run; return the campaign.

    Args:
        source: the experiment.
        store: the store of the campaign.
        watch: gets the downloads.
        alpha: chance of any false verdict over the whole campaign.
        delta: margin of equivalence, such as ``2%``; None for the file's.
        blocks: fresh blocks of a question; None for the file's.
        target, sysroot: see :class:`Request`.
    """
    experiment = check_baseline(source.text, source.name)
    try:
        margin = experiment.analysis.delta if delta is None else parse_share(delta)
    except ValueError as error:
        raise SchedlabError(str(error), where="--delta", todo="write a share such as 2%") from None
    campaign = Campaign(
        name=experiment.experiment.name,
        alpha=alpha,
        delta=margin,
        blocks=experiment.design.blocks if blocks is None else blocks,
        experiment_file=source.text,
        experiment_path=source.name,
        target=target or "",
        sysroot=str(sysroot or ""),
    )
    trials = of_one_row(experiment, 0)
    _ready(_request(store, campaign, experiment, source.text), trials, None, watch)
    return replace(campaign, id=campaigns.open_campaign(open_store(store, create=True), campaign))


def ask(store: Location, number: int | None, text: str, where: str, blocks: int | None, watch: Watch) -> Answer:
    """Measure fresh blocks of a candidate, unless the candidate has a verdict; return what all its blocks show.

    Args:
        store: the store of the campaign.
        number: the campaign; None for the newest.
        text: TOML with the keys of the candidate's variant.
        where: path of the text, or its name in messages. Without a key ``name`` the candidate has the file's name.
        blocks: most fresh blocks; None for the campaign's number.
        watch: gets failed trials.
    """
    engine = open_store(store, create=False)
    campaign = campaigns.campaign(engine, number)
    proposal = propose(campaign.experiment_file, text, where, Path(where).stem, campaign.alpha, campaign.delta)
    # Every question spends the candidate's share of alpha, so that the candidate is stored before the first trial.
    candidate = campaigns.candidate(engine, campaign.id, proposal.content, proposal.name)
    if candidate.run_id is not None and (result := answer(engine, campaign, candidate)).final:
        return result
    experiment, text, run = proposal.experiment, proposal.text, None
    if candidate.run_id is not None:
        # The stored text contains the first name of the candidate.
        run = reader.run(engine, candidate.run_id)
        experiment, text = parse(run.experiment_file, f"run {run.id}"), run.experiment_file
    with watch.interruptible():
        trials = of_one_row(experiment, run.seed if run else None)
        request = _request(store, campaign, experiment, text, proposal.content)
        target = _ready(request, trials, run, watch)
        if run is None:
            begun = begin(engine, request, trials, target)
            campaigns.set_run(engine, candidate.id, begun, "run_id")
            candidate = replace(candidate, run_id=begun)
        with measuring(watch, target):
            progress = watch.points({variant.name for variant in trials.variants})
            most = campaign.blocks if blocks is None else blocks
            return measure_blocks(trials, target, engine, campaign, candidate, most, progress)


def confirm(store: Location, number: int | None, name: str | None, blocks: int, watch: Watch) -> Candidate:
    """Measure the winner in held-out blocks, or the rest of an interrupted confirmation; return the winner.

    Args:
        store: the store of the campaign.
        number: the campaign; None for the newest.
        name: the candidate's name; None for the best of the better candidates.
        blocks: number of held-out blocks of a new confirmation.
        watch: gets failed trials.
    """
    engine = open_store(store, create=False)
    campaign = campaigns.campaign(engine, number)
    winner = _winner(engine, campaign, name)
    assert winner.run_id is not None
    run = None if winner.holdout_id is None else reader.run(engine, winner.holdout_id)
    if run is not None and run.state == "complete":
        return winner
    text = reader.run(engine, winner.run_id).experiment_file if run is None else run.experiment_file
    experiment = parse(text, "the candidate's run")
    if run is None:
        experiment, text = changes.apply(Changes(blocks=blocks), experiment, text, "the candidate's run")
    with watch.interruptible():
        trials = plan(experiment, of_one_row(experiment, run.seed if run else None).seed)
        request = _request(store, campaign, experiment, text)
        target = _ready(request, trials, run, watch)
        if run is None:
            run_id = begin(engine, request, trials, target)
            campaigns.set_run(engine, winner.id, run_id, "holdout_id")
        else:
            run_id = run.id
        with measuring(watch, target):
            progress = watch.points({variant.name for variant in trials.variants})
            execute(trials, target, engine, run_id, progress)
    return replace(winner, holdout_id=run_id)


def _winner(engine: Engine, campaign: Campaign, name: str | None) -> Candidate:
    """Return the candidate to confirm: the candidate of an earlier confirmation, or the best better candidate."""
    listed = campaigns.candidates(engine, campaign.id)
    where = f"campaign {campaign.id}"
    confirmed = next((each for each in listed if each.holdout_id is not None), None)
    if confirmed is not None:
        if name not in (None, confirmed.name):
            todo = "open a new campaign for another confirmation: a second choice would be a selection"
            raise SchedlabError(f"the campaign has confirmed {confirmed.name!r}", where=where, todo=todo)
        return confirmed
    answers = [answer(engine, campaign, each) for each in listed if each.run_id is not None]
    better = [each for each in answers if each.word is Word.BETTER]
    chosen = [each for each in better if name in (None, each.candidate.name)]
    if not chosen:
        todo = "'schedlab judge status' lists the candidates; ask more often, or propose other candidates"
        raise SchedlabError(f"{'no candidate' if name is None else repr(name)} is better", where=where, todo=todo)
    return max(chosen, key=lambda each: each.gain).candidate


def _request(store: Location, campaign: Campaign, experiment: Experiment, text: str, content: str = "") -> Request:
    sysroot = Path(campaign.sysroot) if campaign.sysroot else None
    source = Source(campaign.experiment_path, experiment, text)
    return Request(source, store, target=campaign.target or None, sysroot=sysroot, purpose=Purpose(candidate=content))


def _ready(request: Request, trials: Plan, run: Run | None, watch: Watch) -> Target:
    """Return the target if the plan can run there; StoreError if the run was begun elsewhere."""
    target = target_of(request, trials.experiment)
    require_runnable(trials, target, watch.download)
    if run is not None:
        require_same_machine(run, target)
    return target


def measure_blocks(
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

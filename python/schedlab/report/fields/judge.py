"""The fields of the JSON of a campaign's answers."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from schedlab.analysis.verdicts import Verdict as Judged
from schedlab.execution.campaign import Answer
from schedlab.report.document import Known, Part, Verdict
from schedlab.results.metrics import Direction
from schedlab.store.campaigns import Campaign, Candidate

EVENT_SHARE = "`equivalent`: the share of blocks up to which a rare event cannot be excluded; null for other verdicts"


class Opened(Part):
    """The object printed by `schedlab judge open`."""

    campaign: int = Field(description="number of the campaign")
    name: str = Field(description="the experiment's name")
    alpha: float = Field(description="chance of any false verdict over the whole campaign")
    delta: float = Field(description="margin of equivalence")


class Decided(Part):
    """What a candidate's blocks show."""

    campaign: int = Field(description="number of the campaign")
    candidate: int = Field(description="position of the candidate in the campaign, from 1")
    name: str = Field(description="name of the candidate")
    run: int = Field(description="number of the run with the blocks")
    verdict: Verdict = Field(description="`equivalent`: both bounds inside ± delta")
    event_share: Known = Field(description=EVENT_SHARE)
    ratio: Known = Field(description="geometric mean of candidate/baseline over all blocks; null without blocks")
    interval: list[Known] = Field(description="lower and upper bound of the ratio; null if the blocks exclude nothing")
    direction: Direction = Field(description="which values of the metric are better")
    blocks: int = Field(description="blocks with a ratio")
    reason: str = Field(description="why there is no verdict")


class Fields(Decided):
    """The object printed by `schedlab judge ask`. Each bound of the interval is wrong with a chance of at most alpha
    in the whole campaign, at all times and for all candidates together."""

    alpha: float = Field(description="the candidate's share of the campaign's alpha")
    alpha_spent: float = Field(description="sum of all shares so far")
    e_value: float = Field(description="largest evidence for `better` so far; the verdict needs 1 / `alpha`")
    failed_blocks: int = Field(description="blocks without a ratio")


class Confirmation(Decided):
    """The object printed by `schedlab judge confirm`."""

    p: Known = Field(description="p of the verdict in the held-out blocks")
    failed_trials: int = Field(description="trials without a value")


class Status(Opened):
    """The object printed by `schedlab judge status`."""

    candidates: list[Fields] = Field(description="the answers on all candidates, in the order of their first questions")


def opened(campaign: Campaign) -> Opened:
    """Return the fields of an opened campaign."""
    return Opened(campaign=campaign.id, name=campaign.name, alpha=campaign.alpha, delta=campaign.delta)


KINDS = {"judge-open": Opened, "judge-status": Status, "judge-confirm": Confirmation}
"""The objects of the other subcommands, by the names of their schemas."""


def answered(campaign: Campaign, spent: float, answer: Answer) -> Fields:
    """Return the fields of an answer; ``spent`` is the spent part of alpha."""
    assert answer.candidate.run_id is not None
    return Fields(
        campaign=campaign.id,
        candidate=answer.candidate.position,
        name=answer.candidate.name,
        run=answer.candidate.run_id,
        verdict=answer.word,
        event_share=answer.event_share,
        ratio=answer.ratio,
        interval=[answer.low, answer.high],
        direction=answer.question.direction,
        alpha=answer.alpha,
        alpha_spent=spent,
        e_value=answer.e_value,
        blocks=answer.blocks,
        failed_blocks=answer.failed,
        reason=answer.reason,
    )


def confirmed(campaign: Campaign, candidate: Candidate, verdict: Judged) -> Confirmation:
    """Return the fields of a confirmation."""
    assert candidate.holdout_id is not None
    return Confirmation(
        campaign=campaign.id,
        candidate=candidate.position,
        name=candidate.name,
        run=candidate.holdout_id,
        verdict=verdict.word,
        event_share=verdict.event_share,
        ratio=verdict.ratio,
        interval=[verdict.low, verdict.high],
        direction=verdict.question.direction,
        p=verdict.p,
        blocks=verdict.n,
        failed_trials=verdict.failed,
        reason=verdict.reason,
    )


def status(campaign: Campaign, spent: float, answers: Sequence[Answer]) -> Status:
    """Return the fields of a campaign with all its answers."""
    return Status(**vars(opened(campaign)), candidates=[answered(campaign, spent, each) for each in answers])

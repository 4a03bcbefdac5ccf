"""What a campaign of ``schedlab judge`` has shown so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine

from schedlab.analysis.eprocess import spent
from schedlab.execution.campaign import Answer, answer
from schedlab.findings.settings import baseline_of, in_words, settings_of
from schedlab.results.words import Word
from schedlab.store import campaigns, reader
from schedlab.store.campaigns import Campaign, Candidate


@dataclass(frozen=True)
class Standing:
    """A campaign with its candidates.

    Attributes:
        campaign: the campaign.
        baseline: the name of the variant that candidates are compared with, and what it sets.
        candidates: all candidates, in the order of their first questions.
        answers: what the blocks of each measured candidate show, in this order.
        sets: what each measured candidate sets, by position.
    """

    campaign: Campaign
    baseline: tuple[str, str]
    candidates: tuple[Candidate, ...]
    answers: tuple[Answer, ...]
    sets: Mapping[int, str]

    @property
    def spent(self) -> float:
        """The part of alpha that the candidates have spent."""
        return self.campaign.alpha * spent(len(self.candidates))

    @property
    def has_better(self) -> bool:
        """Whether a candidate is better than the baseline."""
        return any(each.word is Word.BETTER for each in self.answers)

    @property
    def is_confirmed(self) -> bool:
        """Whether the campaign has its confirmation."""
        return any(each.holdout_id is not None for each in self.candidates)

    @property
    def rare(self) -> float | None:
        """The largest share of blocks with a rare event that an equivalent candidate may have; None without one."""
        return max((each.event_share for each in self.answers if each.word is Word.EQUIVALENT), default=None)


def standing(engine: Engine, campaign: Campaign) -> Standing:
    """Return what a stored campaign has shown so far."""
    listed = campaigns.candidates(engine, campaign.id)
    measured = [each for each in listed if each.run_id is not None]
    tables = {each.position: list(settings_of(reader.run(engine, each.run_id)).values()) for each in measured}
    return Standing(
        campaign,
        baseline_of(campaign.experiment_file),
        tuple(listed),
        tuple(answer(engine, campaign, each) for each in measured),
        {position: in_words(candidate) for position, (_, candidate) in tables.items()},
    )

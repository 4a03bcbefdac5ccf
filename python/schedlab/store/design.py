"""The stored part of a run's plan. A report reads the stored design, and not the experiment file, which may have
changed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from schedlab.analysis.rows import Layout, Question
from schedlab.results.kinds import in_time

if TYPE_CHECKING:
    from schedlab.analysis.verdicts import Options


@dataclass(frozen=True)
class Purpose:
    """What a run is for; by default an experiment of its own.

    Attributes:
        bisection: whether the variants are the states of a search, in order. The search measured some of these states.
        candidate: content of the candidate of a campaign whose questions measured the run; empty for other runs.
        sweep: whether the variants are the points of a sweep; the stored file and seed give the points' values.
        tuning: sampler of a search for the best values; empty for other runs.
        confirms: number of the search whose winner the run measures again; 0 for other runs.
        fleet: identity that the runs of one experiment on several machines share; empty for other runs.
    """

    bisection: bool = False
    candidate: str = ""
    sweep: bool = False
    tuning: str = ""
    confirms: int = 0
    fleet: str = ""

    @property
    def noun(self) -> str:
        """The name of such a run in messages."""
        if self.tuning or self.confirms:
            return "search"
        names = {"sweep": self.sweep, "bisection": self.bisection, "campaign": self.candidate}
        return next((name for name, is_set in names.items() if is_set), "run")


PLAIN = Purpose()
"""The purpose of an experiment of its own."""


class StoredDesign(BaseModel):
    """A run's question, variants (the first is the baseline), rows to judge, and settings of the analysis.

    Attributes:
        paired: whether the variants were measured block by block in a random order; imported figures were not measured
            in this way.
        looks: blocks after which a sequential run has an interim analysis.
        stack: variants of a patch stack, in order.
        factorial: the switches of each variant.
        bisection, candidate, sweep, tuning, confirms, fleet: see :class:`Purpose`.
        beside: identity that the columns of one import share; empty for measured runs.
    """

    model_config = ConfigDict(extra="forbid")

    question: str
    blocks: int
    iterations: int
    variants: list[str]
    control: str | None
    questions: list[Question]
    alpha: float
    delta: float
    correction: Literal["max-t", "holm", "benjamini-hochberg", "none"]
    family: Literal["variant", "run"]
    paired: bool = True
    interval: Literal["sign-flip", "bootstrap"] = "sign-flip"
    looks: list[int] = []
    stack: list[str] = []
    factorial: Layout | None = None
    bisection: bool = False
    candidate: str = ""
    sweep: bool = False
    tuning: str = ""
    confirms: int = 0
    fleet: str = ""
    beside: str = ""

    @property
    def purpose(self) -> Purpose:
        """What the run is for."""
        return Purpose(**{field.name: getattr(self, field.name) for field in fields(Purpose)})

    def options(self, seed: int, kind: str) -> Options:
        """Return the options of the analysis of a run of this kind; the run's random seed draws the permutations."""
        from schedlab.analysis.verdicts import Options  # slow to load, and most readers of a run judge nothing

        return Options(
            self.alpha,
            self.delta,
            self.correction,
            self.family,
            seed,
            self.interval,
            tuple(self.looks),
            self._reference(kind),
        )

    def _reference(self, kind: str) -> str:
        """Return the name of the control whose measurements take part in the tests of the variants; empty if none.

        All variants of a simulated or deterministic block share a random seed, so that the control is no second
        measurement there. The steps of a stack, the effects of a factorial, interim analyses and bootstrap intervals
        compare two variants, and so do the verdicts beside them.
        """
        two = self.looks or self.stack or self.factorial or self.interval == "bootstrap" or not in_time(kind)
        return "" if two or not self.paired else self.control or ""

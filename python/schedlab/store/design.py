"""What a report needs to know of a run's plan, kept beside it: a report must not depend on reading the file again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from schedlab.analysis.rows import Layout, Question

if TYPE_CHECKING:
    from schedlab.analysis.verdicts import Options


class StoredDesign(BaseModel):
    """A run's question, variants (the first is the baseline), rows to judge, and how to judge them.

    ``paired``: the variants were measured block by block, in a random order. Imported figures were not. ``looks`` are
    the blocks after which a sequential run was to be looked at, ``stack`` the variants of a stack in order,
    ``factorial`` the switches of each variant.
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
    correction: Literal["holm", "benjamini-hochberg", "none"]
    family: Literal["variant", "run"]
    paired: bool = True
    interval: Literal["sign-flip", "bootstrap"] = "sign-flip"
    looks: list[int] = []
    stack: list[str] = []
    factorial: Layout | None = None

    def options(self, seed: int) -> Options:
        """The analysis' options; the run's seed draws its flips."""
        from schedlab.analysis.verdicts import Options  # what a run was is often asked without judging it

        return Options(self.alpha, self.delta, self.correction, self.family, seed, self.interval, tuple(self.looks))

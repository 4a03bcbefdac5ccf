"""What a report needs to know of a run's plan, kept beside it: a report must not depend on reading the file again."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from schedlab.analysis.verdicts import Options, Question


class StoredDesign(BaseModel):
    """A run's question, variants (the first is the baseline), rows to judge, and how to judge them."""

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

    def options(self, seed: int) -> Options:
        """The analysis' options; the run's seed draws its flips."""
        return Options(self.alpha, self.delta, self.correction, self.family, seed)

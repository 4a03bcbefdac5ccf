"""Words and figures of verdicts, and the options that they depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import Literal

from schedlab.analysis.labels import LABELS
from schedlab.analysis.multiplicity import Correction
from schedlab.analysis.resolution import Rule
from schedlab.analysis.rows import Question as Question  # noqa: PLC0414 - re-exported for callers that judge
from schedlab.analysis.scales import Kind
from schedlab.analysis.sequential import nominal
from schedlab.results.words import Word

Family = Literal["variant", "run"]

Interval = Literal["sign-flip", "bootstrap"]


def event_share(word: Word | None, blocks: int) -> float:
    """Return the share of blocks in which an equivalent variant may have a rare event; nan for other verdicts.

    Blocks without an event do not exclude a rare event, such as a hang: its probability may be as large as 3 / blocks
    at 95 % confidence (the rule of three: Hanley & Lippman-Hand, JAMA 249, 1983), at most 1.
    """
    return min(3 / blocks, 1.0) if word is Word.EQUIVALENT and blocks else nan


@dataclass(frozen=True)
class Options:
    """Options of the analysis; see ``[analysis]`` of the experiment file.

    Attributes:
        alpha: error level of a verdict after the correction.
        delta: relative changes up to which two variants are equivalent.
        correction: method of the correction for many rows.
        family: rows that are corrected together: the rows of each variant, or the rows of all variants of the run.
        seed: random seed of the tests that draw flips.
        interval: method of the intervals.
        looks: blocks after which a sequential design has an interim analysis; the last number is the full size. Empty
            for a fixed design.
        reference: name of the A/A control whose measurements take part in the tests of the other variants; empty if
            only variant and baseline do. Interim analyses use no control.
    """

    alpha: float = 0.05
    delta: float = 0.01
    correction: Correction = "max-t"
    family: Family = "variant"
    seed: int = 0
    interval: Interval = "sign-flip"
    looks: tuple[int, ...] = ()
    reference: str = ""

    @property
    def three_labels(self) -> bool:
        """Whether the tests permute three labels: variant, baseline and control."""
        return bool(self.reference) and not self.looks

    def rule(self, rows: int, variants: int = 1, analysis: int = -1) -> Rule:
        """Return the rule if a single row of ``rows`` rows of ``variants`` variants differs.

        ``analysis`` is the number of an interim analysis, from 0; −1 is the end. With three labels, the joint tests of
        several variants have separate permutations, and share α (Bonferroni): an exchange of a common baseline and a
        common control with all variants at once would make them too similar.
        """
        tests = tests_of(rows, variants, self)
        if self.correction != "max-t":
            level, together = self.alpha / tests, 1
        elif self.three_labels:
            together = max(rows, 1)
            level = self.alpha * together / tests
        else:
            level, together = self.alpha, tests
        if self.looks:
            level = nominal(self.looks, level, together)[analysis]
        return Rule(level, together, LABELS if self.three_labels else 2)


@dataclass(frozen=True)
class Verdict:
    """Result for one variant in one row. Unknown numbers are nan, with the cause in ``reason``.

    Attributes:
        question: the row.
        variant: name of the variant.
        control: whether the variant is the A/A control.
        n: paired: number of blocks with both variant and baseline; unpaired: size of the smaller group.
        baseline_mean, mean: geometric means of the compared block means (unpaired: of the values); their ratio is
            ``ratio``. If there is no ratio, arithmetic means of all blocks. See ``statistic`` for other rows.
        baseline_spread: standard deviation of the baseline's block means.
        ratio: variant / baseline; see ``statistic``.
        low, high: interval of the ratio at 1 − level, not adjusted for many rows.
        p: raw p of "there is no difference".
        p_adjusted: p adjusted over the family's rows, and over interim analyses; compared with alpha.
        p_equivalent: p of "the ratio lies outside ±delta", adjusted in the same way.
        word: the verdict.
        detectable: minimum detectable effect: the relative change that this many blocks find with 80 % power.
        blocks_needed: number of blocks that find a change of delta with 80 % power; None above 100,000.
        failed: number of trials of variant and baseline without a value: they failed, or they lack the metric.
        reason: why numbers are unknown, or why no verdict was possible.
        within_control: whether the ratio lies inside the interval of the A/A control in the same row, or is no farther
            from 1 than the interval of a control that differs: noise may have produced the ratio, so that a difference
            is unconfirmed (:mod:`schedlab.analysis.confirmation`).
        exact: whether all random seeds have the same difference of counted instructions, see
            :mod:`schedlab.analysis.exact`.
        arithmetic_ratio: variant / baseline of the arithmetic means over the same blocks or values.
        statistic: ``logs``, or in paired rows ``aligned-ranks``: with a control, the ratio is the pseudo-median of the
            ratios variant / baseline and control (:func:`schedlab.analysis.labels.centre`); ``ranks`` for worst cases:
            medians of the blocks, whose ratio is such a pseudo-median, or without a control the median of all means of
            two log-ratios; ``differences`` if a value is 0: arithmetic means.
        method: paired by block, or two groups without pairs.
        p_mann_whitney: p of the rank test, for unpaired rows.
        level: alpha for a fixed design, the nominal level of the row's interim analysis for a sequential design.
        decided: in a sequential design, the block after which the row had its verdict. The figures come from the
            interim analysis with the smallest p up to that block.
    """

    question: Question
    variant: str
    control: bool
    n: int
    baseline_mean: float
    baseline_spread: float
    mean: float
    ratio: float
    low: float
    high: float
    p: float
    p_adjusted: float
    p_equivalent: float
    word: Word
    detectable: float
    blocks_needed: int | None
    failed: int = 0
    reason: str = ""
    within_control: bool = False
    method: Literal["paired", "unpaired"] = "paired"
    p_mann_whitney: float = nan
    level: float = nan
    decided: int | None = None
    arithmetic_ratio: float = nan
    exact: bool = False
    statistic: Kind = "logs"

    @property
    def event_share(self) -> float:
        """The share of blocks in which a rare event cannot be excluded, see :func:`event_share`; nan if exact."""
        return nan if self.exact else event_share(self.word, self.n)

    @property
    def opposite_means(self) -> float | None:
        """The ratio of the means if the change has the other sign, as the change may be a median of ratios."""
        ratio = self.mean / self.baseline_mean if self.baseline_mean else nan
        return ratio if (ratio - 1) * (self.ratio - 1) < 0 else None

    @property
    def undecidable(self) -> bool:
        """Whether the number of blocks or the kind of figures rules out the words better and worse."""
        return self.word is Word.INCONCLUSIVE and bool(self.reason) and (isnan(self.p) or self.detectable == inf)


def tests_of(rows: int, variants: int, options: Options) -> int:
    """Return the number of tests that are corrected together."""
    tests = rows * (variants if options.family == "run" else 1)
    return max(tests, 1) if options.correction != "none" else 1


def families(comparing: Sequence[str], control: str | None, options: Options) -> list[set[str]]:
    """Return the sets of variants whose rows are corrected together."""
    variants = [set(comparing)] if options.family == "run" else [{name} for name in comparing]
    return variants + ([{control}] if control is not None else [])


def word(question: Question, ratio: float, p_different: float, p_same: float, alpha: float) -> Word:
    """Return the verdict that follows from corrected p values.

    A ratio inside ±delta is equivalent, even if it significantly differs from 1: if blocks have hardly any spread, as
    in simulations, differences of 0.001 % are significant.
    """
    if p_same <= alpha:
        return Word.EQUIVALENT
    if p_different <= alpha and ratio != 1:
        return Word.BETTER if (ratio > 1) == (question.direction == "higher") else Word.WORSE
    return Word.INCONCLUSIVE


def disagreement(lost: str, measured: Word, worst: Word) -> str:
    """Return the reason of a row without a verdict whose words differ without the lost trials and with their worst
    values.

    ``lost`` describes the lost trials, see :meth:`schedlab.analysis.cells.Blocks.describe_lost`.
    """
    return f"{lost}; with the worst values for these trials the row would be {worst}, without these trials {measured}"

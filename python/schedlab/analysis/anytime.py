"""Verdict on a candidate that may be asked for after every block, with lost trials taken as the worst values.

A trial is lost if it failed or has no value. A candidate whose slowest trials fail looks faster in its other trials.
Three rules keep the bound on false verdicts:

- A verdict needs the evidence of the measured blocks, and the evidence of all blocks with the worst value of the row in
  place of each lost trial, as in a run (:mod:`schedlab.analysis.judging`).
- A candidate that lost more trials than the baseline is neither better nor equivalent, and a candidate that lost fewer
  is not worse. While the baseline loses no trial, the words *better* and *equivalent* therefore rest on complete blocks
  alone, so that the bound holds exactly, whatever makes the candidate's trials fail.
- A variant that lost more than 5 % of its trials has no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, log1p

from schedlab.analysis.cells import Blocks
from schedlab.analysis.eprocess import Evidence, Floats, evidence, weaker
from schedlab.analysis.paired import log_ratios, steps_unknown
from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import Word, disagreement


@dataclass(frozen=True)
class Anytime:
    """The verdict on a candidate after some blocks.

    Attributes:
        word: the verdict.
        logs: log-ratios of candidate to baseline in the blocks that have both, shape (blocks,).
        shown: evidence on the gain, which is positive if better.
        reason: why there is no verdict; empty if blocks are missing, or if there is a verdict.
    """

    word: Word
    logs: Floats
    shown: Evidence
    reason: str


def judge_candidate(
    blocks: Blocks, question: Question, baseline: str, candidate: str, alpha: float, delta: float
) -> Anytime:
    """Judge a candidate by all blocks so far.

    Args:
        blocks: the blocks with their lost trials.
        question: the row.
        baseline: name of the baseline.
        candidate: name of the candidate.
        alpha: probability of a false *better*, whatever the number of blocks; the same for the other words.
        delta: relative changes up to which the candidate is equivalent.

    Raises:
        ValueError: a value is 0 or below.
    """
    row, names = (question.workload, question.parameters, question.metric), (baseline, candidate)
    sign = 1 if question.direction == "higher" else -1
    logs = log_ratios(blocks.means(row, baseline), blocks.means(row, candidate))
    measured = evidence(sign * logs, alpha)
    shown, lost = measured, [blocks.count_lost(row, name)[0] for name in names]
    if any(lost):
        filled = blocks.with_lost_as_worst(row, names, question.direction)
        shown = weaker(measured, evidence(sign * log_ratios(filled[baseline], filled[candidate]), alpha))
    resolution = blocks.resolution(row, names)
    words = [_word(each, logs, alpha, delta, resolution) for each in (measured, shown)]
    if reasons := [reason for name in names if (reason := blocks.not_fair(row, name))]:
        return Anytime(Word.INCONCLUSIVE, logs, shown, reasons[0])
    if words[0] is not words[1]:
        reason = disagreement(blocks.describe_lost(row, candidate, baseline), *words)
        return Anytime(Word.INCONCLUSIVE, logs, shown, reason)
    if (lost[1] > lost[0] and words[1] in (Word.BETTER, Word.EQUIVALENT)) or (
        lost[1] < lost[0] and words[1] is Word.WORSE
    ):
        reason = f"{blocks.describe_lost(row, candidate, baseline)}; without these trials the row would be {words[1]}"
        return Anytime(Word.INCONCLUSIVE, logs, shown, reason)
    coarse = words[1] is Word.INCONCLUSIVE and resolution == inf and len(logs) > 1
    return Anytime(words[1], logs, shown, steps_unknown(question.metric) if coarse else "")


def _word(shown: Evidence, logs: Floats, alpha: float, delta: float, resolution: float) -> Word:
    """Return the verdict that evidence on the gain shows.

    Equivalence is the conclusion that both bounds lie inside the margin (Schuirmann 1987). Figures in coarse steps
    narrow the margin, see :func:`schedlab.analysis.paired.p_equivalent`.
    """
    margin = log1p(delta)
    if len(logs) > 1 and float(logs.std(ddof=1)) < resolution:
        margin -= resolution
    if -margin < shown.low and shown.high < margin:
        return Word.EQUIVALENT
    limit = -log(alpha)
    if shown.log_above >= limit:
        return Word.BETTER
    return Word.WORSE if shown.log_below >= limit else Word.INCONCLUSIVE

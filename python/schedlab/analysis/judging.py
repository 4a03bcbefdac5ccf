"""Verdicts of a run: in each row, every variant against the baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, log, nan

import numpy as np
import polars as pl

from schedlab.analysis import cells
from schedlab.analysis.bootstrap import bca
from schedlab.analysis.cells import Blocks, Recorded
from schedlab.analysis.labels import LABELS
from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.paired import EQUIVALENT_FROM, steps_unknown
from schedlab.analysis.resolution import Rule, blocks_for_a_verdict, blocks_needed, can_find, detectable
from schedlab.analysis.rows import RowKey, worst_rows
from schedlab.analysis.scales import Compared, compare
from schedlab.analysis.sequential import Course, course, nominal, overall
from schedlab.analysis.simultaneous import step_down_groups
from schedlab.analysis.verdicts import Options, Question, Verdict, disagreement, families, word
from schedlab.notation.units import counted
from schedlab.results.metrics import Direction
from schedlab.results.words import Word


def judge(
    samples: pl.DataFrame,
    questions: Sequence[Question],
    variants: Sequence[str],
    control: str | None,
    options: Options,
    recorded: Recorded | None = None,
    done: int | None = None,
) -> list[Verdict]:
    """Return a verdict for each question and each variant except the baseline, ordered by question.

    Args:
        samples: columns workload, parameters, metric, variant, block, value: single iterations or their means.
        questions: the rows.
        variants: names of the variants, the baseline first.
        control: name of the A/A control among the variants, or None. Its rows are corrected separately, and affect no
            other verdict. Its measurements take part in the tests of the other variants if ``options.reference`` names
            the control.
        options: options of the analysis.
        recorded: recorded trials. A trial without a value is lost: it failed, or it lacks the metric. Lost trials
            seldom have average values, so a cell that lost more than 5 % of its trials is not judged. If a cell lost
            fewer trials, the word must be the same with every lost trial as the worst value of the row.
        done: number of complete blocks, for a sequential design. Only blocks up to its last interim analysis count.
    """
    progress = None
    if options.looks:
        complete = samples["block"].max() if done is None else done
        progress = course(options.looks, options.alpha, complete if isinstance(complete, int) else 0)
    comparing = [name for name in variants[1:] if name != control]
    size = len(questions), len(comparing)
    judging = _Judging(samples, variants[0], control, options, progress, size, recorded, worst_rows(questions))
    pairs = {(i, name): judging.pairs(row, name) for i, row in enumerate(questions) for name in variants[1:]}
    verdicts: dict[tuple[int, str], Verdict] = {}
    for family in families(comparing, control, options):
        keys = [key for key in pairs if key[1] in family]
        verdicts |= zip(keys, judging.family([pairs[key] for key in keys]), strict=True)
    controls = {i: verdict for (i, name), verdict in verdicts.items() if name == control}
    return [_compared_with_control(verdicts[key], controls.get(key[0]), options.alpha) for key in pairs]


def _compared_with_control(verdict: Verdict, control: Verdict | None, alpha: float) -> Verdict:
    """Mark a verdict whose ratio lies inside the control's interval, or, where the control differs from the baseline
    at raw alpha, is no farther from 1 than that interval reaches. nan lies inside no interval.

    The control takes part in the test of aligned ranks, whose interval is not comparable with the interval of a
    control that does not differ.
    """
    if control is None or verdict.control or not verdict.ratio > 0 or not control.low > 0:
        return verdict
    if control.p <= alpha:
        within = abs(log(verdict.ratio)) <= max(abs(log(control.low)), abs(log(control.high)))
    else:
        within = verdict.statistic != "aligned-ranks" and control.low <= verdict.ratio <= control.high
    return replace(verdict, within_control=within)


UNEQUAL_TIMES = "the variants have different numbers of trials in each block, and the worst of more trials is worse"
"""Reason of a row of worst cases without blocks that can be compared."""

CONTROL_DIFFERS = "the A/A control differs from the baseline: measure again, with 6 blocks or more"
"""Reason of a row whose control differs, over too few blocks for the test of the control."""

NOTHING = Compared("logs", {}, {})
"""A comparison without blocks."""


@dataclass(frozen=True)
class _Pair:
    """One variant in one row before the tests, in the blocks of one analysis.

    ``draft`` contains the figures that no test changes; its ``reason`` says why there is no test. ``worst`` are the
    block values with the lost trials as the worst values; None if no trial was lost. ``resolution`` is a step of the
    metric, relative to its values.
    """

    draft: Verdict
    compared: Compared
    worst: Compared | None = None
    resolution: float = 0.0

    @property
    def group(self) -> str:
        """Name of the pairs of a family whose labels are permuted together: a variant with its control, or ""."""
        return "" if self.compared.control is None else self.draft.variant

    def with_lost(self, *, worst: bool) -> Compared:
        """Return the block values with the lost trials as the worst values, or without the lost trials."""
        return self.worst if worst and self.worst is not None else self.compared


@dataclass(frozen=True)
class _Finding:
    """The word of a row at an interim analysis, its corrected p values, and the analysis with the smallest p."""

    word: Word
    different: float
    same: float
    analysis: int


class _Judging:
    """The block means of a run, and the comparison of each variant with the baseline."""

    def __init__(
        self,
        samples: pl.DataFrame,
        baseline: str,
        control: str | None,
        options: Options,
        progress: Course | None,
        size: tuple[int, int],
        recorded: Recorded | None,
        worst: Mapping[RowKey, Direction],
    ) -> None:
        """Take the data of a run; ``size`` is the number of rows and of variants without the control."""
        blocks = Blocks(samples, recorded, progress, worst)
        self._values = cells.block_values(blocks.samples) if options.interval == "bootstrap" else {}
        self._baseline, self._control, self._options, self._size = baseline, control, options, size
        self._cuts: Sequence[int | None] = [None] if progress is None else options.looks[: progress.taken]
        """Last blocks of the analyses; None for all blocks, empty before the first interim analysis."""
        # Later blocks must not change an earlier analysis, or a decided row would lose its word.
        self._blocks = [blocks if cut is None else blocks.upto(cut) for cut in self._cuts] or [blocks]

    def pairs(self, question: Question, variant: str) -> list[_Pair]:
        """Return one variant in one row at each analysis; with all blocks before the first interim analysis."""
        return [self._pair(question, variant, blocks) for blocks in self._blocks]

    def _pair(self, question: Question, variant: str, blocks: Blocks) -> _Pair:
        row, names = question.row, (self._baseline, variant)
        reference = self._reference(row, variant, blocks)
        below, above, *others = self._block_values(question, (*names, *reference), blocks)
        draft = Verdict(
            question, variant, variant == self._control, 0, nan, nan, nan, nan, nan, nan, nan, nan, nan,
            Word.INCONCLUSIVE, nan, None, failed=sum(blocks.count_lost(row, name)[0] for name in names),
        )  # fmt: skip
        if not below or not above:
            missing = [name for name in names if not blocks.means(row, name)]
            reason = f"no measurement of {' and '.join(missing)}" if missing else UNEQUAL_TIMES
            return _Pair(replace(draft, reason=reason), NOTHING)
        each = (question.seconds or nan) * max(blocks.iterations(row, names[0]).values())
        try:
            third = others[0] if others else None
            compared = compare(below, above, worst=question.worst, events_per_unit=each, control=third)
            doubt = CONTROL_DIFFERS if compared.is_control_doubtful else ""
            if compared.control is None or doubt:
                # Without the control, blocks with different numbers of its trials count.
                reference = ()
                below, above = self._block_values(question, names, blocks)
                compared = compare(below, above, worst=question.worst, events_per_unit=each)
            used = (*names, *reference)
            worst = None
            if any(blocks.count_lost(row, name)[0] for name in used):
                below, above, *others = blocks.with_lost_as_worst(row, used, question.direction).values()
                worst = compare(below, above, worst=question.worst, control=others[0] if others else None)
        except ValueError as error:
            return _Pair(replace(draft, reason=str(error)), NOTHING)
        reasons = [reason for name in names if (reason := blocks.not_fair(row, name))]
        reason = reasons[0] if reasons else doubt
        return _Pair(replace(draft, reason=reason), compared, worst, blocks.resolution(row, used))

    def _reference(self, row: RowKey, variant: str, blocks: Blocks) -> tuple[str, ...]:
        """Return the control's name if its measurements take part in the test of a variant in this row."""
        name, options = self._options.reference, self._options
        if not options.three_labels or variant == name or not blocks.means(row, name) or blocks.not_fair(row, name):
            return ()
        return (name,)

    @staticmethod
    def _block_values(question: Question, names: Sequence[str], blocks: Blocks) -> tuple[dict[int, float], ...]:
        """Return the values of these variants by block: baseline, variant, and the control if it takes part.

        The worst of many trials is worse than the worst of few. Blocks in which the variants have different numbers of
        trials are left out of worst cases.
        """
        row = question.row
        cells = tuple(blocks.means(row, name) for name in names)
        if not question.worst:
            return cells
        counts = [blocks.iterations(row, name) for name in names]
        equal = {block for block in cells[0] if len({of_name.get(block) for of_name in counts}) == 1}
        # Blocks without a partner are kept: they are not compared, but they are measurements.
        shared = cells[0].keys() & cells[1].keys()
        return tuple(
            {block: value for block, value in cell.items() if block in equal or block not in shared} for cell in cells
        )

    def family(self, pairs: Sequence[Sequence[_Pair]]) -> list[Verdict]:
        """Return the verdicts on pairs, each at every analysis, that are corrected together."""
        if not self._cuts:
            return [self._early(pair) for (pair,) in pairs]
        measured = self._findings(pairs, worst=False)
        lost = any(pair.worst is not None for of_row in pairs for pair in of_row)
        worst = self._findings(pairs, worst=True) if lost else measured
        rules = self._rules([of_row[-1] for of_row in pairs])
        verdicts = [self._verdict(*findings) for findings in zip(pairs, measured, worst, rules, strict=True)]
        can_reject = any(self._at(len(self._cuts) - 1, rule).can_reject(verdict.n)
                         for rule, verdict in zip(rules, verdicts, strict=True))  # fmt: skip
        return [
            self._explained(verdict, rule, can_reject=can_reject) for rule, verdict in zip(rules, verdicts, strict=True)
        ]

    def _rules(self, pairs: Sequence[_Pair]) -> list[Rule]:
        """Return the rule of each pair of a family at the end. The groups of pairs share α by their numbers of
        pairs."""
        options = self._options
        if not options.three_labels:
            return [options.rule(*self._size)] * len(pairs)
        if options.correction != "max-t":
            rule = options.rule(*self._size)
            return [rule if pair.group else replace(rule, labels=2) for pair in pairs]
        sizes = Counter(pair.group for pair in pairs)
        shares = {group: Rule(options.alpha * size / len(pairs), size, LABELS if group else 2)
                  for group, size in sizes.items()}  # fmt: skip
        return [shares[pair.group] for pair in pairs]

    def _at(self, analysis: int, end: Rule) -> Rule:
        """Return the rule at an interim analysis; ``end`` is the rule at the end."""
        return self._options.rule(*self._size, analysis) if self._options.looks else end

    def _findings(self, pairs: Sequence[Sequence[_Pair]], *, worst: bool) -> list[list[_Finding]]:
        """Return the findings on each pair at each analysis, with lost trials left out or as the worst values."""
        options, looks = self._options, self._options.looks
        compared = [[pair.with_lost(worst=worst) for pair in of_row] for of_row in pairs]
        same = [
            [
                row.p_equivalent(options.delta, pair.resolution, options.seed) if not pair.draft.reason else 1.0
                for pair, row in zip(of_row, compared_row, strict=True)
            ]
            for of_row, compared_row in zip(pairs, compared, strict=True)
        ]
        if options.correction == "max-t":
            # Include the pairs that are not judged: a family chosen by its figures would bias the p values.
            groups = [of_row[-1].group for of_row in pairs]
            joint = [
                step_down_groups(groups, [row.by_block() for row in at_analysis], options.seed)
                for at_analysis in zip(*compared, strict=True)
            ]
            raw = [[float(p[i]) for p in joint] for i in range(len(pairs))]
        else:
            raw = [[row.p_different(options.seed) for row in compared_row] for compared_row in compared]
        different = [
            [p if not pair.draft.reason else 1.0 for pair, p in zip(of_row, p_of_row, strict=True)]
            for of_row, p_of_row in zip(pairs, raw, strict=True)
        ]
        rows = options.rule(*self._size).rows
        if looks:
            different = [list(overall(p, looks, 2, rows)) for p in different]
            same = [list(overall(p, looks, 1)) for p in same]
        findings: list[list[_Finding]] = [[] for _ in pairs]
        for analysis in range(len(self._cuts)):
            p_different = [p[analysis] for p in different]
            if options.correction != "max-t":
                p_different = adjust(p_different, options.correction)
            p_same = adjust([p[analysis] for p in same], options.correction)
            for i, of_row in enumerate(pairs):
                # A correction may reject at a later analysis than the analysis with the row's smallest p.
                source = different if p_same[i] > options.alpha else same
                smallest = int(np.argmin(source[i][: analysis + 1])) if looks else analysis
                direction = compared[i][smallest].direction()
                result = word(of_row[-1].draft.question, 1 + direction, p_different[i], p_same[i], options.alpha)
                findings[i].append(_Finding(result, p_different[i], p_same[i], smallest))
        return findings

    def _verdict(
        self, of_row: Sequence[_Pair], measured: Sequence[_Finding], worst: Sequence[_Finding], rule: Rule
    ) -> Verdict:
        """Return the verdict at the first analysis that decides the row, or at the last analysis."""
        last, reason = len(self._cuts) - 1, ""
        decided = next((i for i in range(last + 1) if measured[i].word is worst[i].word is not Word.INCONCLUSIVE), None)
        finding = measured[last if decided is None else decided]
        analysis = last if decided is None else finding.analysis
        pair = of_row[analysis]
        verdict = self._estimated(pair, analysis, self._level(analysis), rule)
        if verdict.reason:
            return verdict
        if pair.resolution == inf and verdict.n >= EQUIVALENT_FROM:
            reason = steps_unknown(verdict.question.metric)
        if finding.word is not worst[last if decided is None else decided].word:
            reference = [] if pair.compared.control is None else [self._options.reference]
            names = filter(None, (verdict.variant, self._baseline, *reference))
            lost = self._blocks[-1].describe_lost(verdict.question.row, *names)
            reason = disagreement(lost, finding.word, worst[last].word)
        return replace(
            verdict,
            p=pair.compared.p_different(self._options.seed),
            p_adjusted=finding.different,
            p_equivalent=finding.same,
            word=Word.INCONCLUSIVE if decided is None else finding.word,
            reason=reason,
            decided=None if decided is None else self._cuts[decided],
        )

    def _early(self, pair: _Pair) -> Verdict:
        """Return the verdict before the first interim analysis."""
        verdict = self._estimated(pair, -1, self._options.alpha, self._options.rule(*self._size))
        reason = f"no interim analysis before block {self._options.looks[0]}"
        return replace(verdict, level=nan, reason=verdict.reason or reason)

    def _estimated(self, pair: _Pair, analysis: int, level: float, end: Rule) -> Verdict:
        """Return the draft with the estimates from the blocks of an analysis; −1 is the last analysis or all blocks.

        ``end`` is the rule of the row at the end.
        """
        options, verdict, compared = self._options, pair.draft, pair.compared
        row, names = verdict.question.row, (self._baseline, verdict.variant)
        below, above = self._block_values(verdict.question, names, self._blocks[analysis])
        effect = compared.estimate(1 - level, options.seed)
        low, high = effect.low, effect.high
        blocks = compared.blocks
        if blocks:
            below, above = ({block: cell[block] for block in blocks} for cell in (below, above))
        logs = compared.kind in ("logs", "aligned-ranks")
        means = (cells.geometric_mean(below), cells.geometric_mean(above)) if logs and blocks else None
        means = means or (compared.means() if blocks else (cells.mean(below), cells.mean(above)))
        if options.interval == "bootstrap" and effect.blocks > 1 and logs:
            baseline, variant = (cells.table(self._values[*row, name], blocks) for name in names)
            low, high = bca(baseline, variant, 1 - level, options.seed)
        rule, freedom = self._at(analysis, end), compared.freedom if effect.blocks > 1 else 1.0
        references = [below] if compared.control is None else [below, compared.control]
        centre = sum(map(cells.mean, references)) / len(references)
        reason = verdict.reason
        if not reason and effect.blocks < 2:
            reason = "fewer than two blocks have both the variant and the baseline"
        return replace(
            verdict,
            n=effect.blocks,
            baseline_mean=means[0],
            baseline_spread=cells.spread(below),
            mean=means[1],
            ratio=effect.ratio,
            arithmetic_ratio=cells.mean(above) / centre if blocks and logs else nan,
            low=low,
            high=high,
            detectable=detectable(effect.spread, effect.blocks, rule, freedom=freedom) if effect.blocks > 1 else nan,
            blocks_needed=None
            if blocks and isnan(effect.spread)
            else blocks_needed(effect.spread, options.delta, end, freedom=freedom),
            level=level,
            reason=reason,
            statistic=compared.kind,
        )

    def _level(self, analysis: int) -> float:
        """Return the level of the intervals at an analysis."""
        options = self._options
        return nominal(options.looks, options.alpha)[analysis] if options.looks else options.alpha

    def _explained(self, verdict: Verdict, end: Rule, *, can_reject: bool) -> Verdict:
        """Add the reason to an inconclusive verdict that has too few blocks for any other word.

        ``can_reject``: whether a row of the family has enough blocks; ``end`` is the rule of this row at the end.
        """
        options, analysis = self._options, len(self._cuts) - 1
        # Under Benjamini-Hochberg, several rows with the smallest p reduce the blocks that each of them needs.
        if verdict.reason or verdict.word is not Word.INCONCLUSIVE or options.correction == "benjamini-hochberg":
            return verdict
        rule = self._at(analysis, end)
        if can_reject and options.correction != "max-t":
            # The steps of Holm's correction after the first are less strict; the last step is the test of a single row.
            rule = replace(options.rule(1, analysis=analysis), labels=rule.labels)
        if can_find(rule, verdict.n):
            return verdict
        if analysis < len(options.looks) - 1:
            reason = f"no difference can be significant at the interim analysis after block {self._cuts[analysis]}"
        else:
            needed = blocks_for_a_verdict(rule)
            reason = f"{counted(verdict.n, 'block')} cannot show any difference here; {needed} can"
        return replace(verdict, reason=reason)

"""Predictions of a model, with intervals from the model's errors in earlier comparisons with its machine.

The intervals are split-conformal (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005): the
errors of *n* compared figures bound the error of a new figure at the level 1 - α by their ⌈(n + 1)(1 - α)⌉-th smallest,
whatever their distribution, if the new figure is of the same kind as the compared ones. Errors are absolute logarithms
of predicted / measured. They include the noise of the measurements, so the intervals are too wide rather than too
narrow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, inf, log
from typing import Any

from sqlalchemy import Engine

from schedlab.analysis.rows import Question
from schedlab.errors import CannotRunHere
from schedlab.findings.history import kernel_of, machine_of
from schedlab.findings.run import Findings
from schedlab.findings.twin import Effect, EffectScores, Level, Twin, levels_of, of_runs
from schedlab.results import kinds
from schedlab.results.words import Word
from schedlab.store import reader

ALPHA = 0.1
"""One interval in ten may miss. With 0.05, intervals would need 19 compared effects."""

FEWEST = ceil(1 / ALPHA) - 1
"""Fewest compared figures whose largest is an upper bound at this level."""


@dataclass(frozen=True)
class Backtest:
    """Earlier comparisons of a model with its machine. ``twins`` counts the pairs of runs."""

    twins: int
    levels: Sequence[Level]
    effects: Sequence[Effect]
    coverage: float = 1 - ALPHA

    @classmethod
    def of(cls, twins: Sequence[Twin]) -> Backtest:
        """Pool comparisons."""
        return cls(
            len(twins),
            [level for twin in twins for level in twin.levels],
            [effect for twin in twins for effect in twin.effects],
        )

    @property
    def compared_levels(self) -> int:
        """Number of compared levels."""
        return len(self.levels)

    @cached_property
    def scores(self) -> EffectScores:
        """The scores of the effects."""
        return EffectScores.of(self.effects)

    @property
    def level_factor(self) -> float:
        """The factor by which levels may differ."""
        return exp(bound([abs(log(level.ratio)) for level in self.levels]))

    @property
    def effect_factor(self) -> float:
        """The factor by which ratios of variants may differ."""
        return exp(bound([abs(log(each.predicted.ratio / each.measured.ratio)) for each in self.effects]))


@dataclass(frozen=True)
class Prediction:
    """A predicted level, and its ratio to the baseline; None for the baseline. ``low`` and ``high`` bound the level,
    ``ratio_low`` and ``ratio_high`` the ratio."""

    question: Question
    variant: str
    level: float
    low: float
    high: float
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None

    @property
    def gains(self) -> tuple[float, float, float] | None:
        """The change and the ends of its interval, the smaller first, in per cent, positive where the variant is
        better; None for the baseline."""
        if self.ratio is None or self.ratio_low is None or self.ratio_high is None:
            return None
        sign = 100 if self.question.direction == "higher" else -100
        low, high = sorted(sign * (end - 1) for end in (self.ratio_low, self.ratio_high))
        return sign * (self.ratio - 1), low, high

    @property
    def word(self) -> Word:
        """*Better* or *worse* if the interval of the change does not contain 0."""
        if self.gains is None or self.gains[1] <= 0 <= self.gains[2]:
            return Word.INCONCLUSIVE
        return Word.BETTER if self.gains[0] > 0 else Word.WORSE


@dataclass(frozen=True)
class Forecast:
    """The predictions for a variant: the number of rows, and of the rows with each word; ``ranges`` has the least and
    the largest end of their intervals, in per cent, positive where the variant is better."""

    variant: str
    rows: int
    words: Mapping[Word, int]
    ranges: Mapping[Word, tuple[float, float]]


@dataclass(frozen=True)
class Predicted:
    """A simulated run with its predictions, and the comparisons behind their intervals."""

    found: Findings
    rows: Sequence[Prediction]
    backtest: Backtest

    @property
    def forecasts(self) -> list[Forecast]:
        """The predictions of each variant, without the baseline."""
        compared = [row for row in self.rows if row.gains is not None]
        variants = dict.fromkeys(row.variant for row in compared)
        return [_forecast(name, [row for row in compared if row.variant == name]) for name in variants]


def _forecast(variant: str, rows: Sequence[Prediction]) -> Forecast:
    of_words = {word: [row.gains[1:] for row in rows if row.word is word and row.gains] for word in Word}
    ranges = {
        word: (min(low for low, _ in ends), max(high for _, high in ends)) for word, ends in of_words.items() if ends
    }
    return Forecast(variant, len(rows), {word: len(of_words[word]) for word in ranges}, ranges)


def comparisons(
    engine: Engine, models: Mapping[str, Any], *, kernel: str | None = None, machines: Collection[str] | None = None
) -> list[Twin]:
    """Return the stored comparisons of a model with its machine: complete runs of one file under one seed.

    Runs of another simulator, or of a machine file with the same name and other values, are of another model.

    Args:
        engine: the store.
        models: fingerprint of a run on the model, or of the model.
        kernel: name of the kernel model; None for any.
        machines: machines, as :func:`schedlab.findings.history.machine_of` describes them; None for any.
    """
    runs = [run for run in reader.runs(engine) if run.state == "complete"]
    real = {
        (run.experiment_file, run.seed): run
        for run in reversed(runs)
        if run.kind == kinds.REAL and (machines is None or machine_of(run) in machines)
    }
    # A simulation has one outcome for each seed, so a repeated simulation adds no comparison.
    pairs = {
        (run.experiment_file, run.seed, run.target): (real[run.experiment_file, run.seed], run)
        for run in runs
        if run.kind == kinds.SIMULATED
        and (run.experiment_file, run.seed) in real
        and all(run.fingerprint.get(key) == models.get(key) for key in ("machine", "simulator"))
        and kernel in (None, kernel_of(run))
    }
    return [of_runs(engine, *pair) for pair in pairs.values()]


def predictions(found: Findings, backtest: Backtest) -> Predicted:
    """Return the predictions of a simulated run; see :func:`require_skill`."""
    ratios = {(each.question, each.variant): each.ratio for each in found.verdicts if not each.control}
    by_level, by_effect = backtest.level_factor, backtest.effect_factor
    rows = []
    for (question, variant), level in levels_of(found).items():
        ratio = ratios.get((question, variant))
        bounds = (None, None) if ratio is None else (ratio / by_effect, ratio * by_effect)
        rows.append(Prediction(question, variant, level, level / by_level, level * by_level, ratio, *bounds))
    return Predicted(found, rows, backtest)


def require_skill(backtest: Backtest, machine: str) -> None:
    """Raise CannotRunHere for a model whose predictions were not compared, or no better than "nothing changes"."""
    todo = f"compare: schedlab sim twin FILE --machine {machine}"
    if not backtest.twins:
        raise CannotRunHere("the store has no comparison of this model with its machine", where=machine, todo=todo)
    if len(backtest.effects) < FEWEST:
        number = len(backtest.effects)
        message = f"{number} measured effects were compared with this model's predictions; {FEWEST} are needed"
        raise CannotRunHere(message, where=machine, todo=todo)
    scores = backtest.scores
    if not scores.has_skill:
        shown = "unknown" if scores.skill is None else f"{scores.skill:+z.2f}"
        message = f"the model has no skill: {shown} over {len(backtest.effects)} measured effects"
        raise CannotRunHere(message, where=machine, todo=f"mend the model, and {todo}")


def require_ranking(backtest: Backtest, machine: str) -> str:
    """Return the figures of a model whose ranking of points deserves trust.

    CannotRunHere as :func:`require_skill`, and for a model with at most half of the signs right, of the effects beyond
    noise.
    """
    require_skill(backtest, machine)
    scores = backtest.scores
    signs = f"{scores.right} of {scores.significant} signs right"
    if not scores.ranks:
        todo = f"mend the model, and compare: schedlab sim twin FILE --machine {machine}"
        raise CannotRunHere(f"the model has no skill: {signs}", where=machine, todo=todo)
    return f"skill {scores.skill:+z.2f} over {scores.effects} effects, {signs}"


def bound(errors: Sequence[float]) -> float:
    """Return the bound of a new error at 1 - ALPHA; infinite for too few errors."""
    rank = ceil((len(errors) + 1) * (1 - ALPHA))
    return sorted(errors)[rank - 1] if rank <= len(errors) else inf

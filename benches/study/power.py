"""Power: share of campaigns that detect a change of 1, 2 or 5 % in noise recorded on a real machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from benches.study import rules
from benches.study.arrange import draw_orders, first_and_second_half, in_blocks
from benches.study.false_alarms import ALPHA
from benches.study.judging import judge_rows
from benches.study.recorded import Recording, recordings, windows
from numpy.typing import NDArray

from schedlab.analysis.verdicts import Options

Floats = NDArray[np.float64]
Calls = NDArray[np.bool_]

SHIFTS = (0.01, 0.02, 0.05)
"""True changes: the variant's trials take this share longer."""

DESIGNS = (8, 20, 40)


@dataclass(frozen=True)
class Detected:
    """Shares of campaigns that one rule reports as better or worse.

    ``unchanged``: campaigns without a change reported as better or worse. ``shifts``: campaigns with each change of
    :data:`SHIFTS` reported as worse. ``reversed``: campaigns with the smallest change reported as better.
    """

    unchanged: float
    shifts: tuple[float, ...]
    reversed: float


@dataclass(frozen=True)
class Power:
    """Results of each rule on the noise of one recording, with ``blocks`` blocks per campaign."""

    label: str
    blocks: int
    schedlab: Detected
    welch: Detected
    star_2018: Detected
    star_2024: Detected


def power(source: Recording, blocks: int, count: int, seed: int) -> Power:
    """Simulate ``count`` campaigns on spans of the recorded time, drawn with replacement.

    The variant's trials are made slower. For schedlab the order of each block is drawn anew. For the other rules the
    first half of a span belongs to the baseline and the second half to the variant.
    """
    rng = np.random.default_rng([seed, blocks])
    visits = windows(source, blocks, rng.integers(0, source.blocks - blocks + 1, size=count))
    baseline, variant = in_blocks(visits, draw_orders(seed, count, blocks))
    a, b = first_and_second_half(visits)
    calls = [
        (_by_schedlab(baseline, (1 + shift) * variant), *(_by_rule(rule, a, (1 + shift) * b) for rule in RULES))
        for shift in (0.0, *SHIFTS)
    ]
    return Power(source.label, blocks, *(_detected(shares) for shares in zip(*calls, strict=True)))


RULES = (rules.welch, rules.star_2018, rules.star_2024)

Shares = tuple[float, float]
"""Share of campaigns called better, and share called worse."""


def _by_schedlab(baseline: Floats, variant: Floats) -> Shares:
    verdicts = judge_rows(baseline, variant, Options(ALPHA))
    return float((verdicts.called & ~verdicts.worse).mean()), float(verdicts.worse.mean())


def _by_rule(rule: Callable[[Floats, Floats], Calls], a: Floats, b: Floats) -> Shares:
    called, slower = rule(a, b), b.mean(axis=1) > a.mean(axis=1)
    return float((called & ~slower).mean()), float((called & slower).mean())


def _detected(of_shifts: Sequence[Shares]) -> Detected:
    unchanged, *changes = of_shifts
    return Detected(sum(unchanged), tuple(worse for _, worse in changes), changes[0][0])


def study(count: int, seed: int) -> Iterator[Power]:
    """Yield the results for each recording and each design."""
    for source in recordings():
        for blocks in DESIGNS:
            yield power(source, blocks, count, seed)

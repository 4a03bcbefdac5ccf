"""Power at the printed minimum detectable effect: of a new run that changes by the effect that a first run printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benches.study.false_alarms import ALPHA
from benches.study.labels import KINDS, VARIANT
from numpy.typing import NDArray

from schedlab.analysis import labels
from schedlab.analysis.resolution import Rule, detectable
from schedlab.analysis.scales import Compared, compare
from schedlab.analysis.signflip import p_values

Floats = NDArray[np.float64]

BLOCKS = (6, 8, 12, 20)

NOISES = (
    "normal", "log-normal", "heavy-tailed", "two-level", "persistent modes", "2 % outliers × 3",
    "maxima: Fréchet, shape 0.5", "hackbench, every CPU", "pipetest, one CPU", "modes by boot", "coarse: steps of 1 sd",
    "exponential", "uniform",
)  # fmt: skip


@dataclass(frozen=True)
class Detectable:
    """Mean power at the printed effect, with and without a control, for one kind of noise and number of blocks."""

    kind: str
    blocks: int
    count: int
    control: float
    flips: float


def power(kind: str, blocks: int, campaigns: int, seed: int) -> Detectable:
    """Simulate a first run, which prints an effect, and a new run that changes by this effect."""
    rng = np.random.default_rng([seed, blocks, list(KINDS).index(kind)])
    first, new = (KINDS[kind](rng, campaigns, blocks) for _ in range(2))
    with_control, without = (
        np.log1p([printed(times, control=control) for times in first])[:, None, None] * VARIANT
        for control in (True, False)
    )
    found = labels.tails(labels.aligned_ranks(np.log(new) + with_control), 0).both <= ALPHA
    changed = np.log(new) + without
    flipped = p_values((changed[:, :, 0] - changed[:, :, 1]).T, 0) <= ALPHA
    return Detectable(kind, blocks, campaigns, float(found.mean()), float(flipped.mean()))


def printed(times: Floats, *, control: bool) -> float:
    """Return the minimum detectable effect that a report of a single row prints; times of shape (blocks, 3)."""
    variant, baseline, second = (dict(enumerate(label.tolist())) for label in times.T)
    compared: Compared = compare(baseline, variant, worst=False, control=second if control else None)
    rule = Rule(ALPHA, labels=labels.LABELS if control else 2)
    return detectable(compared.estimate(1 - ALPHA, 0).spread, len(times), rule, freedom=compared.freedom)


def study(campaigns: int, seed: int) -> Iterator[Detectable]:
    """Yield the powers for each kind of noise and number of blocks."""
    for kind in NOISES:
        for blocks in BLOCKS:
            yield power(kind, blocks, campaigns, seed)

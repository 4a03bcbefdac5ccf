"""Many rows: false alarms and power of the joint test (step-down max-T) beside Holm's correction.

A campaign is called if any of its rows has a corrected p at or below α, equivalent or not. The functions are those
that ``judge`` calls; its conversion of samples to log-ratios is left out, as it would take hours for so many campaigns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from benches.study.false_alarms import ALPHA
from benches.study.noise import KINDS, MANY_ROWS, WIDER, draw, generator, of_variant
from numpy.typing import NDArray

from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.sequential import overall
from schedlab.analysis.signflip import p_values
from schedlab.analysis.simultaneous import step_down
from schedlab.experiment.model import LOOKS, Design

Floats = NDArray[np.float64]

ROWS = (1, 5, 20, 60)
CAMPAIGNS = {6: 1000, 8: 1000, 10: 1000, 12: 500, 20: 200}
"""Campaigns by number of blocks: tests of 20 blocks take a hundred times as long as those of 6."""

ORDERS = ("variants", "rows")
"""Values of ``interleave``: the rows of a block share its order, or each row has its own."""

MISSING = 0.15
"""Share of cells without a value in the kind ``15 % missing``."""

EFFECT = 2.0
"""Change of one row in the power table, in standard deviations of its log-ratios."""


@dataclass(frozen=True)
class ManyRows:
    """Shares of campaigns called, for each of :data:`ROWS`, by the joint test and under Holm's correction."""

    kind: str
    order: str
    blocks: int
    count: int
    joint: tuple[float, ...]
    holm: tuple[float, ...]


def log_ratios(kind: str, order: str, blocks: int, campaigns: int, rows: int, seed: int) -> Floats:
    """Draw campaigns without a change; return log-ratios of shape (campaigns, blocks, rows), 0 for a missing cell."""
    rng = generator(kind, seed, blocks)
    visits = draw(kind, rng, campaigns * rows, 2 * blocks, 1, rows).reshape(campaigns, rows, blocks, 2)
    first = rng.integers(0, 2, size=(campaigns, 1 if order == "variants" else rows, blocks)).astype(bool)
    baseline = np.where(first, visits[..., 1], visits[..., 0])
    variant = of_variant(kind, np.where(first, visits[..., 0], visits[..., 1]))
    ratios = np.log(variant) - np.log(baseline)
    if kind == "15 % missing":
        ratios[rng.random(ratios.shape) < MISSING] = 0.0
    return np.asarray(ratios.transpose(0, 2, 1))


def called(ratios: Floats, rows: int, correction: str) -> NDArray[np.bool_]:
    """Mask of the first ``rows`` rows of a campaign with a corrected p at or below α."""
    part = ratios[:, :rows]
    corrected = step_down(part, 0) if correction == "max-t" else np.array(adjust(list(p_values(part, 0)), "holm"))
    return np.asarray(corrected <= ALPHA)


def false_alarms(kind: str, order: str, blocks: int, seed: int, share: float = 1.0) -> ManyRows:
    """Return the shares for one kind of noise and one design; ``share`` of the campaigns of :data:`CAMPAIGNS`."""
    count = max(1, int(CAMPAIGNS[blocks] * share))
    campaigns = log_ratios(kind, order, blocks, count, max(ROWS), seed)
    joint, holm = (
        tuple(float(np.mean([called(ratios, rows, correction).any() for ratios in campaigns])) for rows in ROWS)
        for correction in ("max-t", "holm")
    )
    return ManyRows(kind, order, blocks, count, joint, holm)


def study(campaigns: int, seed: int) -> Iterator[ManyRows]:
    """Yield the shares for each kind of noise, order and number of blocks, and for the wider variant."""
    for kind in (*KINDS, *MANY_ROWS, WIDER):
        for order in ORDERS:
            for blocks in CAMPAIGNS:
                yield false_alarms(kind, order, blocks, seed, campaigns / 2000)


def power(campaigns: int, seed: int) -> Iterator[ManyRows]:
    """Yield the shares of campaigns that find the changed row, for normal log-ratios."""
    for blocks, most in CAMPAIGNS.items():
        count = max(1, most * campaigns // 2000)
        rng = np.random.default_rng([seed, blocks])
        noise = rng.standard_normal((count, blocks, max(ROWS)))
        noise[:, :, 0] += EFFECT
        joint, holm = (
            tuple(float(np.mean([called(ratios, rows, correction)[0] for ratios in noise])) for rows in ROWS)
            for correction in ("max-t", "holm")
        )
        yield ManyRows("normal", "", blocks, count, joint, holm)


@dataclass(frozen=True)
class Families:
    """Shares of campaigns called in families that are no rows of one variant, for one kind of noise.

    ``run``: three variants share a baseline in 5 rows (``family = "run"``), by number of blocks. ``stack``: four steps
    between five variants in 5 rows. ``interim``: 20 rows at the interim analyses of 20 blocks.
    """

    kind: str
    count: int
    run: tuple[float, ...]
    stack: tuple[float, ...]
    interim: float
    interim_count: int


FAMILY_BLOCKS = (6, 8, 12)


def families(kind: str, campaigns: int, seed: int) -> Families:
    """Return the shares for one kind of noise."""
    shares: dict[bool, list[float]] = {False: [], True: []}
    for blocks in FAMILY_BLOCKS:
        rng = generator(kind, seed, blocks)
        logs = np.log(draw(kind, rng, campaigns * 5, 5 * blocks, 1, 5)).reshape(campaigns, 5, blocks, 5)
        order = rng.permuted(np.broadcast_to(np.arange(5), (campaigns, 1, blocks, 5)), axis=-1)
        logs = np.take_along_axis(logs, np.broadcast_to(order, logs.shape), axis=-1)
        for stack, effects in (
            (False, logs[..., 1:4] - logs[..., :1]),
            (True, np.diff(logs, axis=-1)),
        ):
            matrices = effects.transpose(0, 2, 1, 3).reshape(campaigns, blocks, -1)
            shares[stack].append(float(np.mean([step_down(matrix, 0).min() <= ALPHA for matrix in matrices])))
    analyses, rows, count = Design(blocks=20, stopping="sequential", looks=LOOKS).look_blocks, 20, campaigns // 5
    interim = [
        _called_at_any(ratios, analyses) for ratios in log_ratios(kind, "variants", analyses[-1], count, rows, seed)
    ]
    return Families(kind, campaigns, tuple(shares[False]), tuple(shares[True]), float(np.mean(interim)), count)


def _called_at_any(ratios: Floats, analyses: Sequence[int]) -> bool:
    """Return whether any row is called at any analysis; ``ratios`` has shape (blocks, rows)."""
    p = np.array([step_down(ratios[:blocks], 0) for blocks in analyses])
    return any(overall(of_row, analyses, 2, len(p.T))[-1] <= ALPHA for of_row in p.T)


def study_families(campaigns: int, seed: int) -> Iterator[Families]:
    """Yield the shares for each kind of noise."""
    for kind in (*KINDS, *MANY_ROWS):
        if kind != "15 % missing":
            yield families(kind, max(5, campaigns), seed)

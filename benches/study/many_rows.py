"""Many rows: false alarms and power of the joint test (step-down max-T) and of Holm's correction.

A campaign is called if a row of the campaign has a corrected p at or below α, equivalent or not. The tests of ``judge``
would take hours for so many campaigns. :func:`smallest` computes the smallest corrected p of many campaigns at once; a
unit test compares it with the functions that ``judge`` calls.
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
from schedlab.analysis.signflip import DRAWS, EXACT_UP_TO, flips, p_values
from schedlab.analysis.simultaneous import step_down
from schedlab.experiment.model import LOOKS, Design

Floats = NDArray[np.float64]

ROWS = (1, 5, 20, 60)
BLOCKS = (6, 8, 10, 12, 20)

ORDERS = ("variants", "rows")
"""Values of ``interleave``: all rows of a block share one order of the variants, or each row has a separate order."""

MISSING = 0.15
"""Share of cells without a value in the kind ``15 % missing``."""

EFFECT = 2.0
"""Change of one row in the power table, in standard deviations of its log-ratios."""

AT_ONCE = 1 << 18
"""Number of sums that are computed at once: 2 MB of doubles."""


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
    visits = draw(kind, rng, campaigns * rows, 2 * blocks, 1, of_campaign=rows).reshape(campaigns, rows, blocks, 2)
    first = rng.integers(0, 2, size=(campaigns, 1 if order == "variants" else rows, blocks)).astype(bool)
    baseline = np.where(first, visits[..., 1], visits[..., 0])
    variant = of_variant(kind, np.where(first, visits[..., 0], visits[..., 1]))
    ratios = np.log(variant) - np.log(baseline)
    if kind == "15 % missing":
        ratios[rng.random(ratios.shape) < MISSING] = 0.0
    return np.asarray(ratios.transpose(0, 2, 1))


def smallest(ratios: Floats, rows: Sequence[int] = ROWS) -> tuple[Floats, Floats]:
    """Return each campaign's smallest corrected p over its first rows, by the joint test and under Holm's correction.

    ``ratios`` has shape (campaigns, blocks, rows), both results have shape (campaigns, len(rows)). The row with the
    largest statistic of a campaign has the smallest p. This p is the first step of the step-down test: the statistic is
    compared with the largest statistic of all rows under each flip.
    """
    campaigns, blocks, _ = ratios.shape
    flipped, exact = flips(blocks, 0).flipped, blocks <= EXACT_UP_TO
    signs = 1.0 - 2.0 * (flipped[: 2 ** (blocks - 1)] if exact else flipped)
    size = np.sqrt((ratios**2).sum(axis=1, keepdims=True))
    scaled = ratios / np.where(size > 0, size, 1.0)
    observed = np.abs(scaled.sum(axis=1))
    largest = np.stack([observed[:, :count].max(axis=1) for count in rows], axis=1)
    joint, single = np.zeros((campaigns, len(rows))), np.zeros((campaigns, ratios.shape[2]))
    step = max(1, AT_ONCE // ratios.shape[2])
    for campaign, effects in enumerate(scaled):
        for start in range(0, len(signs), step):
            flipped_sums = np.abs(signs[start : start + step] @ effects)
            single[campaign] += (flipped_sums >= observed[campaign] - 1e-11).sum(axis=0)
            for i, count in enumerate(rows):
                largest_sums = flipped_sums[:, :count].max(axis=1)
                joint[campaign, i] += np.count_nonzero(largest_sums >= largest[campaign, i] - 1e-11)
    if exact:
        joint, single = joint / len(signs), single / len(signs)
    else:
        # As in ``p_values`` and ``step_down``: at most Hoeffding's bound if no drawn flip reaches the statistic.
        bounds = [
            np.where(hits == 0, 2.0 * tests * np.exp(-(statistic**2) / 2), 1.0)
            for hits, statistic, tests in ((joint, largest, np.array(rows)), (single, observed, 1))
        ]
        joint, single = (
            np.minimum((hits + 1) / (DRAWS + 1), bound) for hits, bound in zip((joint, single), bounds, strict=True)
        )
    holm = np.stack([np.minimum(single[:, :count].min(axis=1) * count, 1.0) for count in rows], axis=1)
    return joint, holm


def shares(p: tuple[Floats, Floats]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the shares of campaigns with a p at or below α, by the joint test and under Holm's correction."""
    joint, holm = (tuple((smallest_p <= ALPHA).mean(axis=0).tolist()) for smallest_p in p)
    return joint, holm


def called(ratios: Floats, rows: int, correction: str) -> NDArray[np.bool_]:
    """Mask of the first ``rows`` rows of a campaign with a corrected p at or below α."""
    part = ratios[:, :rows]
    corrected = step_down(part, 0) if correction == "max-t" else np.array(adjust(list(p_values(part, 0)), "holm"))
    return np.asarray(corrected <= ALPHA)


def false_alarms(kind: str, order: str, blocks: int, campaigns: int, seed: int) -> ManyRows:
    """Return the shares for one kind of noise and one design."""
    ratios = log_ratios(kind, order, blocks, campaigns, max(ROWS), seed)
    return ManyRows(kind, order, blocks, campaigns, *shares(smallest(ratios)))


def study(campaigns: int, seed: int) -> Iterator[ManyRows]:
    """Yield the shares for each kind of noise, order and number of blocks, and for the wider variant."""
    for kind in (*KINDS, *MANY_ROWS, WIDER):
        for order in ORDERS:
            for blocks in BLOCKS:
                yield false_alarms(kind, order, blocks, campaigns, seed)


def power(campaigns: int, seed: int) -> Iterator[ManyRows]:
    """Yield the shares of campaigns that find the changed row, for normal log-ratios."""
    for blocks in BLOCKS:
        noise = np.random.default_rng([seed, blocks]).standard_normal((campaigns, blocks, max(ROWS)))
        noise[:, :, 0] += EFFECT
        joint, holm = (
            tuple(float(np.mean([called(ratios, rows, correction)[0] for ratios in noise])) for rows in ROWS)
            for correction in ("max-t", "holm")
        )
        yield ManyRows("normal", "", blocks, campaigns, joint, holm)


@dataclass(frozen=True)
class Families:
    """Shares of campaigns called in families other than the rows of a single variant, for one kind of noise.

    ``run``: three variants share a baseline in 5 rows (``family = "run"``), by number of blocks. ``stack``: four steps
    between five variants in 5 rows. ``interim``: 20 rows at the interim analyses of 20 blocks.
    """

    kind: str
    count: int
    run: tuple[float, ...]
    stack: tuple[float, ...]
    interim: float


FAMILY_BLOCKS = (6, 8, 12)


def families(kind: str, campaigns: int, seed: int) -> Families:
    """Return the shares for one kind of noise."""
    run_shares, stack_shares = [], []
    for blocks in FAMILY_BLOCKS:
        rng = generator(kind, seed, blocks)
        logs = np.log(draw(kind, rng, campaigns * 5, 5 * blocks, 1, of_campaign=5, of_block=5))
        logs = logs.reshape(campaigns, 5, blocks, 5)
        order = rng.permuted(np.broadcast_to(np.arange(5), (campaigns, 1, blocks, 5)), axis=-1)
        logs = np.take_along_axis(logs, np.broadcast_to(order, logs.shape), axis=-1)
        of_run, of_stack = logs[..., 1:4] - logs[..., :1], np.diff(logs, axis=-1)
        for family_shares, effects in ((run_shares, of_run), (stack_shares, of_stack)):
            matrices = effects.transpose(0, 2, 1, 3).reshape(campaigns, blocks, -1)
            joint, _ = smallest(matrices, matrices.shape[2:])
            family_shares.append(float((joint <= ALPHA).mean()))
    analyses, rows = Design(blocks=20, stopping="sequential", looks=LOOKS).look_blocks, 20
    ratios = log_ratios(kind, "variants", analyses[-1], campaigns, rows, seed)
    return Families(kind, campaigns, tuple(run_shares), tuple(stack_shares), called_at_any(ratios, analyses))


def called_at_any(ratios: Floats, analyses: Sequence[int]) -> float:
    """Return the share of campaigns with any row called at any interim analysis.

    ``ratios`` has shape (campaigns, blocks, rows). A sequential p value rises with the p values of the analyses, so
    that the smallest p at each analysis gives the smallest sequential p value.
    """
    rows = ratios.shape[2]
    p = np.stack([smallest(ratios[:, :blocks], (rows,))[0][:, 0] for blocks in analyses], axis=1)
    return float(np.mean([overall(campaign_p, analyses, 2, rows)[-1] <= ALPHA for campaign_p in p]))


def study_families(campaigns: int, seed: int) -> Iterator[Families]:
    """Yield the shares for each kind of noise."""
    for kind in (*KINDS, *MANY_ROWS):
        if kind != "15 % missing":
            yield families(kind, campaigns, seed)

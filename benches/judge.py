"""Study of ``schedlab judge``: campaigns of null candidates, and the power for a better candidate.

    .venv/bin/python -m benches.judge [--campaigns 1000] [--write]

Each campaign has 100 candidates without an effect. The adversary asks every candidate five times, eight blocks each,
and keeps any candidate that is called better after any block. The usual rule, on the same blocks, is a one-sided t test
at 5 % after each question. Noise is from the study of verdicts.

The table of failures has one candidate a campaign, asked up to 400 times, whose lost trials depend on its figures. The
words are those of :func:`schedlab.analysis.eprocess.judge_candidate` after each block. Beside them is the rule that
leaves lost trials out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path

import numpy as np
import polars as pl
from benches.study.noise import draw, generator
from numpy.typing import NDArray
from scipy.special import stdtrit

from schedlab.analysis.cells import TOLERATED, Blocks
from schedlab.analysis.eprocess import judge_candidate, log_wealth, share
from schedlab.analysis.rows import Question
from schedlab.results.words import Word

ALPHA, DELTA, CANDIDATES, QUESTIONS, BLOCKS = 0.05, 0.01, 100, 5, 8
SEED = 21
KINDS = ("normal", "drifting", "two-level", "persistent modes", "heavy-tailed")
EFFECT = 0.03
POSITIONS = (1, 10, 100)
CAMPAIGNS_AT_ONCE = 50
LONGEST = 400
"""Blocks of a campaign in the table of failures."""

FAILING_KINDS = ("normal", "log-normal", "two-level", "heavy-tailed")
DOCUMENT = Path(__file__).parents[1] / "docs" / "judge.md"

Floats = NDArray[np.float64]


def gains(kind: str, rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    """Draw the log-ratios of equal variants in random order, shape (campaigns, blocks)."""
    trials = np.log(draw(kind, rng, campaigns, 2 * blocks, 1)[:, :, 0]).reshape(campaigns, blocks, 2)
    return rng.choice((-1.0, 1.0), size=(campaigns, blocks)) * (trials[..., 1] - trials[..., 0])


def limits() -> Floats:
    """Return the logarithm of the wealth that each candidate needs, shape (candidates,)."""
    return np.array([-log(ALPHA * share(position)) for position in range(1, CANDIDATES + 1)])


def false_alarms(kind: str, campaigns: int) -> tuple[int, int, int]:
    """Return the numbers of campaigns with a false "better", a false "worse", and a false "better" of t tests."""
    rng, counts = generator(kind, SEED, CANDIDATES), np.zeros(3, dtype=int)
    asked = BLOCKS * np.arange(1, QUESTIONS + 1)
    for first in range(0, campaigns, CAMPAIGNS_AT_ONCE):
        count = min(CAMPAIGNS_AT_ONCE, campaigns - first)
        drawn = gains(kind, rng, count, CANDIDATES * QUESTIONS * BLOCKS).reshape(count, CANDIDATES, -1)
        better = (log_wealth(drawn).max(axis=-1) >= limits()).any(axis=-1)
        worse = (log_wealth(-drawn).max(axis=-1) >= limits()).any(axis=-1)
        usual = np.zeros(count, dtype=bool)
        for blocks in asked:
            part = drawn[..., :blocks]
            statistic = part.mean(axis=-1) / part.std(axis=-1, ddof=1) * sqrt(blocks)
            usual |= (statistic > stdtrit(blocks - 1, 1 - ALPHA)).any(axis=-1)
        counts += [int(each.sum()) for each in (better, worse, usual)]
    return tuple(counts.tolist())


def power(kind: str, campaigns: int) -> tuple[float, list[float]]:
    """Return the spread of blocks, and the shares of better candidates that are found.

    The spread is the median over campaigns of the standard deviation of a campaign's log-ratios. Each position of the
    candidate in the campaign has two shares: after two questions and after all questions.
    """
    rng = generator(kind, SEED, 1)
    drawn = gains(kind, rng, campaigns, QUESTIONS * BLOCKS)
    wealth = np.maximum.accumulate(log_wealth(drawn + log(1 + EFFECT)), axis=-1)
    found = [
        float((wealth[:, questions * BLOCKS - 1] >= limits()[position - 1]).mean())
        for position in POSITIONS
        for questions in (2, QUESTIONS)
    ]
    return float(np.median([row.std(ddof=1) for row in drawn])), found


@dataclass(frozen=True)
class Failing:
    """A candidate that loses trials: the slowest ``slowest`` of its trials, and ``random`` of all trials of a variant.

    ``faster`` is the relative gain of its other trials. ``both``: the baseline loses trials in the same way.
    """

    title: str
    slowest: float = 0.0
    random: float = 0.0
    faster: float = 0.0
    both: bool = False
    null: bool = False


FAILING = (
    Failing("equal, its slowest 4 % fail", slowest=0.04, null=True),
    Failing("equal, the slowest 4 % of both fail", slowest=0.04, both=True, null=True),
    Failing("2 % faster, hangs in 4 %", random=0.04, faster=0.02),
    Failing("3 % faster, 1 % of both fail by chance", random=0.01, faster=0.03, both=True),
    Failing("3 % faster, no failures", faster=0.03),
)


def campaign(
    case: Failing, kind: str, rng: np.random.Generator, slow: float, blocks: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Draw the trials of baseline and candidate, and which trials are lost; both have shape (blocks, 2).

    ``slow`` is the time from which the slowest trials fail.
    """
    trials = draw(kind, rng, 1, 2 * blocks, 1)[0, :, 0].reshape(blocks, 2)
    trials = np.where(rng.integers(2, size=(blocks, 1)) == 1, trials, trials[:, ::-1])
    lost = (trials > slow) if case.slowest else np.zeros(trials.shape, dtype=bool)
    lost |= rng.random(trials.shape) < case.random
    lost[:, 0] &= case.both
    return trials / np.array([1.0, 1 + case.faster]), lost


def words(trials: Floats, lost: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the block after which the candidate, the first of a campaign, is called better: if lost trials are left
    out, and by ``schedlab judge``; 0 for never."""
    alpha, question = ALPHA * share(1), Question("w", "{}", "time", "s", "lower")
    both: NDArray[np.bool_] = np.asarray(~lost.any(axis=1))
    kept = np.flatnonzero(both)
    gains = np.log(trials[kept, 0]) - np.log(trials[kept, 1])
    reached = kept[log_wealth(gains) >= -log(alpha)] if len(kept) else kept
    if not len(reached):
        return 0, 0
    share_lost = np.cumsum(~both) / np.arange(1, len(both) + 1)
    after = np.arange(reached[0], len(both))
    out = next((int(block) + 1 for block in after if share_lost[block] <= TOLERATED), 0)
    # A candidate that lost more trials than the baseline is not called better: such answers need no computation.
    asked = after[np.diff(np.cumsum(lost, axis=0)[after], axis=1)[:, 0] <= 0]
    names = ("base", "new")
    frame = pl.DataFrame(
        {
            "block": np.repeat(np.arange(1, len(trials) + 1), 2),
            "variant": names * len(trials),
            "value": np.where(lost, np.nan, trials).ravel(),
        }
    ).with_columns(workload=pl.lit("w"), parameters=pl.lit("{}"), metric=pl.lit("time"))
    numbers = range(1, len(trials) + 1)
    whole = Blocks(frame, {("w", "{}", name): dict.fromkeys(numbers, 1) for name in names})
    for block in asked:
        found = judge_candidate(whole.upto(int(block) + 1), question, *names, alpha, DELTA)
        if found.word is not Word.INCONCLUSIVE:
            return out, int(block) + 1 if found.word is Word.BETTER else 0
    return out, 0


def failures(campaigns: int) -> Iterator[str]:
    """Yield the rows of the table of failures."""
    for case in FAILING:
        for kind in FAILING_KINDS:
            rng = generator(kind, SEED, LONGEST)
            slow = float(np.quantile(draw(kind, rng, 10_000, 2, 1), 1 - case.slowest))
            blocks = LONGEST if case.null else QUESTIONS * BLOCKS
            found = np.array([words(*campaign(case, kind, rng, slow, blocks)) for _ in range(campaigns)]) > 0
            shares = " | ".join(
                f"{100 * share:.1f} ± {100 * sqrt(share * (1 - share) / campaigns):.1f}" for share in found.mean(axis=0)
            )
            yield f"| {case.title} | {kind} | {blocks} | {shares} |"


def tables(campaigns: int) -> dict[str, list[str]]:
    """Return the lines of both tables by name."""
    bound = 100 * (ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / campaigns))
    alarms = [
        f'| noise | false "better", % (bound {bound:.1f}) | false "worse", % | usual rule, % |',
        "|---|---:|---:|---:|",
    ]
    found = [
        "| noise | spread of a block | "
        + " | ".join(f"{p}. candidate, {BLOCKS * q} blocks" for p in POSITIONS for q in (2, QUESTIONS))
        + " |",
        "|---|" + "---:|" * (1 + 2 * len(POSITIONS)),
    ]
    for kind in KINDS:
        counts = " | ".join(f"{100 * count / campaigns:.1f}" for count in false_alarms(kind, campaigns))
        alarms.append(f"| {kind} | {counts} |")
        spread, shares = power(kind, campaigns)
        found.append(f"| {kind} | {100 * spread:.1f} % | " + " | ".join(f"{100 * s:.0f}" for s in shares) + " |")
    lost = [
        '| candidate | noise | blocks | lost trials left out: "better", % | `schedlab judge`: "better", % |',
        "|---|---|---:|---:|---:|",
        *failures(campaigns),
    ]
    return {"false-alarms": alarms, "power": found, "failures": lost}


def main() -> None:
    """Print the tables, and write the tables into the document on request."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--campaigns", type=int, default=1000)
    options.add_argument("--write", action="store_true", help="write the tables into docs/judge.md")
    arguments = options.parse_args()
    for name, lines in tables(arguments.campaigns).items():
        print("\n".join(lines), end="\n\n")
        if arguments.write:
            text, mark = DOCUMENT.read_text(encoding="utf-8"), f"<!-- table: {name} -->\n"
            start = text.index(mark) + len(mark)
            end = text.index("<!-- end -->", start)
            DOCUMENT.write_text(text[:start] + "\n".join(lines) + "\n" + text[end:], encoding="utf-8")


if __name__ == "__main__":
    main()

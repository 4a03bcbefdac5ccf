"""Study of ``schedlab judge``: campaigns of null candidates, and the power for a better candidate.

    .venv/bin/python -m benches.judge [--campaigns 1000] [--write]

Each campaign has 100 candidates without an effect. The adversary asks every candidate five times, eight blocks each,
and keeps any candidate that is called better after any block. The usual rule, on the same blocks, is a one-sided t test
at 5 % after each question. Noise is from the study of verdicts.
"""

from __future__ import annotations

import argparse
from math import log, sqrt
from pathlib import Path

import numpy as np
from benches.study.noise import draw, generator
from numpy.typing import NDArray
from scipy.special import stdtrit

from schedlab.analysis.eprocess import log_wealth, share

ALPHA, CANDIDATES, QUESTIONS, BLOCKS = 0.05, 100, 5, 8
SEED = 21
KINDS = ("normal", "drifting", "two-level", "persistent modes", "heavy-tailed")
EFFECT = 0.03
POSITIONS = (1, 10, 100)
CAMPAIGNS_AT_ONCE = 50
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
    return {"false-alarms": alarms, "power": found}


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

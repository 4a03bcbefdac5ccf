"""Study of bisection: campaigns with planted changes, compared with plain binary search.

    .venv/bin/python -m benches.bisection [--campaigns 200] [--write]

Each campaign plants its changes at random states, and draws pairs of trials from the noises of the study of verdicts.
A campaign is right if the search names a state with a planted change, and wrong if it names another state with 95 %
probability. Plain binary search measures each state k times, and halves the range by the mean of the ratios against
half of the effect, which k blocks of the last state have shown; k is the least number for which the search is right in
95 %.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log1p
from pathlib import Path

import numpy as np
from benches.study.noise import draw, generator

from schedlab.analysis.changepoint import CONFIDENCE, Evidence, next_state

DELTA = 0.01
BUDGET = 1500
"""Most blocks of a search."""

SEED = 11
DOCUMENT = Path(__file__).parents[1] / "docs" / "bisection.md"
MARKS = "<!-- table of benches/bisection.py -->\n", "<!-- end of the table -->"

Observe = Callable[[int], float]
Case = tuple[str, int, tuple[float, ...]]

NOISES = ("normal", "drifting", "two-level", "heavy-tailed")

CASES: list[Case] = [
    *((kind, states, (step,)) for step in (-0.10, -0.05, -0.02) for states in (16, 64, 256) for kind in NOISES),
    *((kind, 16, ()) for kind in NOISES),
    ("normal", 64, ()),
    ("normal", 64, (-0.05, -0.05)),
    ("normal", 64, (-0.05, 0.03)),
    ("normal", 16, (-0.02, -0.05)),
]
"""Kind of noise, number of states, and relative changes."""


@dataclass
class Campaign:
    """States with planted changes, and a machine that measures pairs of trials."""

    rng: np.random.Generator
    kind: str
    states: int
    steps: Sequence[float]

    def __post_init__(self) -> None:
        places = self.rng.choice(np.arange(1, self.states), len(self.steps), replace=False)
        self.changes = dict(zip(sorted(places.tolist()), self.steps, strict=True))
        self._trials = np.log(draw(self.kind, self.rng, 1, 2 * BUDGET, 1)[0, :, 0])
        self.references: list[float] = []

    @property
    def blocks(self) -> int:
        """Number of blocks so far."""
        return len(self.references)

    def observe(self, state: int) -> float:
        """Measure a block: the log-ratio of a state to the reference, in random order."""
        pair = self._trials[2 * self.blocks : 2 * self.blocks + 2]
        if self.rng.integers(2):
            pair = pair[::-1]
        self.references.append(float(pair[0]))
        effect = sum(log1p(step) for place, step in self.changes.items() if state >= place)
        return float(pair[1] - pair[0]) + effect


def search(campaign: Campaign) -> tuple[list[int | None], bool, bool]:
    """Return the states that a search names, whether with confidence, and whether its credible set has a true state."""
    evidence = Evidence(campaign.states, DELTA)
    while True:
        posterior = evidence.posterior()
        named = posterior.candidates()
        decided = posterior.probability(named) >= CONFIDENCE
        if decided or campaign.blocks >= BUDGET:
            covered = any(state in posterior.credible_set() for state in campaign.changes or [None])
            return named, decided, covered
        state = next_state(posterior, campaign.blocks, np.ones(campaign.states))
        evidence.add(state, campaign.observe(state))
        if campaign.blocks % 2 == 0:
            evidence.add(0, campaign.references[-1] - campaign.references[-2])


def binary(campaign: Campaign, repeats: int) -> int:
    """Return the state that binary search names with this many blocks a state."""

    def mean(state: int) -> float:
        return statistics.fmean(campaign.observe(state) for _ in range(repeats))

    low, high = 0, campaign.states - 1
    half = mean(high) / 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if mean(middle) / half > 1 else (middle, high)
    return high


def plain(case: Case, campaigns: int) -> tuple[int, float]:
    """Return the fewest repeats with which binary search is right in 95 % of campaigns, and its blocks."""
    kind, states, steps = case
    repeats = 1
    while True:
        rng, right, blocks = generator(kind, SEED, repeats), 0, 0
        for _ in range(campaigns):
            campaign = Campaign(rng, kind, states, steps)
            right += binary(campaign, repeats) in campaign.changes
            blocks += campaign.blocks
        if right >= CONFIDENCE * campaigns or blocks > campaigns * BUDGET * 0.8:
            return repeats, blocks / campaigns
        repeats = max(repeats + 1, round(repeats * 1.15))


def line(case: Case, campaigns: int) -> str:
    """Return a row of the table. Long searches for small changes among many states get a fifth of the campaigns."""
    kind, states, steps = case
    if steps == (-0.02,) and states > 16:
        campaigns //= 5
    rng = generator(kind, SEED, states)
    results, blocks = [], []
    for _ in range(campaigns):
        campaign = Campaign(rng, kind, states, steps)
        named, decided, covered = search(campaign)
        right = named == [None] if not campaign.changes else named[0] in campaign.changes
        results.append((right, decided and not right, covered))
        blocks.append(campaign.blocks)
    right, wrong, covered = (100 * statistics.fmean(values) for values in zip(*results, strict=True))
    planted = ", ".join(f"{100 * step:+.0f} %" for step in steps) or "none"
    other = "" if len(steps) != 1 else "{1:.0f} (k = {0})".format(*plain(case, campaigns))
    mean, most = statistics.fmean(blocks), max(blocks)
    shares = f"{right:.1f} | {wrong:.1f} | {covered:.1f}"
    return f"| {kind} | {states} | {planted} | {campaigns} | {shares} | {mean:.0f} | {most} | {other} |"


def main() -> None:
    """Print the table, and write it into the document on request."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--campaigns", type=int, default=200)
    options.add_argument("--write", action="store_true", help="write the table into docs/bisection.md")
    arguments = options.parse_args()
    lines = [
        "| noise | states | planted | campaigns | right % | wrong % | in the set % | blocks | most | binary search |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for case in CASES:
        lines.append(line(case, arguments.campaigns))
        print(lines[-1], flush=True)
    if arguments.write:
        text = DOCUMENT.read_text()
        start, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
        DOCUMENT.write_text(text[:start] + "\n".join(lines) + "\n" + text[end:])


if __name__ == "__main__":
    main()

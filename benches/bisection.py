"""Study of bisection: campaigns with planted changes, compared with plain binary search.

    .venv/bin/python -m benches.bisection [--campaigns 200] [--only TABLE] [--write]

Each campaign plants its changes at random states, and draws pairs of trials from the noises of the study of verdicts.
A campaign is right if the search names a state with a planted change, and wrong if the search ends with another
result. Plain binary search measures each state k times, and halves the range by the mean of the ratios against
half of the effect, which k blocks of the last state have shown; k is the least number for which the search is right in
95 %.

The table of difficult figures has figures in coarse steps, and boots with two modes. A change that is smaller than a
step may be invisible, so that "the ends are equal" is then right.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, inf, log, log1p, sqrt
from pathlib import Path

import numpy as np
from benches.study.noise import SPREAD, draw, generator

from schedlab.analysis.changepoint import CONFIDENCE, EFFECT_STEP, Evidence, next_state

DELTA = 0.01
BUDGET = 1500
"""Most blocks of a search."""

SEED = 11
DOCUMENT = Path(__file__).parents[1] / "docs" / "bisection.md"

Observe = Callable[[int], float]


@dataclass(frozen=True)
class Case:
    """What a row of a table plants.

    Attributes:
        kind: kind of noise.
        states: number of states.
        steps: relative changes.
        spread: standard deviation of a trial.
        modes: distance of the two modes of a boot; each trial is a boot.
        coarse: a step of the figures, relative to the reference; 0 for fine figures.
        between: whether the reference lies at a random place between two steps, and not on a step.
    """

    kind: str
    states: int
    steps: tuple[float, ...]
    spread: float = SPREAD
    modes: float = 0.0
    coarse: float = 0.0
    between: bool = False

    @property
    def planted(self) -> str:
        """The changes in words."""
        return ", ".join(f"{100 * step:+.0f} %" for step in self.steps) or "none"


NOISES = ("normal", "drifting", "two-level", "heavy-tailed")

CASES = [
    *(Case(kind, states, (step,)) for step in (-0.10, -0.05, -0.02) for states in (16, 256) for kind in NOISES),
    *(Case(kind, 16, ()) for kind in NOISES),
    Case("normal", 64, ()),
    Case("normal", 64, (-0.05, -0.05)),
    Case("normal", 64, (-0.05, 0.03)),
    Case("normal", 16, (-0.02, -0.05)),
]

DIFFICULT = [
    *(
        Case("normal", 16, (step,), spread, coarse=coarse, between=between)
        for step, coarse in ((-0.05, 0.05), (-0.10, 0.10), (-0.10, 0.05), (-0.05, 0.10))
        for spread in (0.01, 0.03)
        for between in (False, True)
    ),
    Case("normal", 16, (), 0.03, coarse=0.05, between=True),
    *(Case("normal", 16, steps, spread, modes=0.10) for steps in ((-0.10,), (-0.05,), ()) for spread in (0.002, 0.01)),
]


@dataclass
class Campaign:
    """States with planted changes, and a machine that measures pairs of trials."""

    rng: np.random.Generator
    case: Case

    def __post_init__(self) -> None:
        case, rng = self.case, self.rng
        places = rng.choice(np.arange(1, case.states), len(case.steps), replace=False)
        self.changes = dict(zip(sorted(places.tolist()), case.steps, strict=True))
        trials = 1 + (draw(case.kind, rng, 1, 2 * BUDGET, 1)[0, :, 0] - 1) * (case.spread / SPREAD)
        self._trials = np.log(trials) + case.modes * rng.integers(0, 2, 2 * BUDGET)
        self._level = exp(rng.uniform(0, case.coarse)) if case.between else 1.0
        self.references: list[float] = []
        self._figures: set[float] = set()

    @property
    def blocks(self) -> int:
        """Number of blocks so far."""
        return len(self.references)

    @property
    def step(self) -> float:
        """The smallest step between two figures so far, relative to their mean; 0 if unknown."""
        figures = np.sort(np.array([*self._figures]))
        centre = float(figures.mean()) if len(figures) else 0.0
        steps = np.diff(figures)
        least = float(steps.min(initial=inf, where=steps > 1e-9 * centre))
        return least / centre if least < inf else 0.0

    def observe(self, state: int) -> float:
        """Measure a block: the log-ratio of a state to the reference, in random order."""
        pair = self._trials[2 * self.blocks : 2 * self.blocks + 2]
        if self.rng.integers(2):
            pair = pair[::-1]
        effect = sum(log1p(step) for place, step in self.changes.items() if state >= place)
        reference, changed = (self._figure(each) for each in (float(pair[0]), float(pair[1]) + effect))
        self.references.append(reference)
        return changed - reference

    def _figure(self, logarithm: float) -> float:
        """Round a figure to the steps; return its logarithm."""
        coarse = self.case.coarse
        if not coarse:
            return logarithm
        figure = max(round(self._level * exp(logarithm) / coarse), 1) * coarse
        self._figures.add(figure)
        return log(figure)


def search(campaign: Campaign) -> tuple[list[int | None], bool, bool]:
    """Return the states that a search names, whether with confidence, and whether its credible set has a true state."""
    case = campaign.case
    evidence, seen, step = Evidence(case.states, DELTA), list[tuple[int, float]](), 0.0
    hidden = any(abs(change) < case.coarse for change in case.steps)
    true = [*campaign.changes, *([None] if hidden or not case.steps else [])]
    while True:
        posterior = evidence.posterior()
        named, decided = posterior.candidates(), posterior.decides(campaign.blocks)
        if decided or campaign.blocks >= BUDGET:
            return named, decided, any(state in posterior.credible_set() for state in true)
        state = next_state(posterior, campaign.blocks, np.ones(case.states))
        fresh = [(state, campaign.observe(state))]
        if campaign.blocks % 2 == 0:
            fresh.append((0, campaign.references[-1] - campaign.references[-2]))
        seen += fresh
        # The likelihoods of all blocks depend on the step, which a new figure may make smaller.
        if abs(campaign.step - step) > (EFFECT_STEP - 1) * step:
            step = campaign.step
            evidence, fresh = Evidence(case.states, DELTA, step), seen
        for place, value in fresh:
            evidence.add(place, value)


def binary(campaign: Campaign, repeats: int) -> int:
    """Return the state that binary search names with this many blocks a state."""

    def mean(state: int) -> float:
        return statistics.fmean(campaign.observe(state) for _ in range(repeats))

    low, high = 0, campaign.case.states - 1
    half = mean(high) / 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if mean(middle) / half > 1 else (middle, high)
    return high


def plain(case: Case, campaigns: int) -> tuple[int, float]:
    """Return the fewest repeats with which binary search is right in 95 % of campaigns, and its blocks."""
    repeats = 1
    while True:
        rng, right, blocks = generator(case.kind, SEED, repeats), 0, 0
        for _ in range(campaigns):
            campaign = Campaign(rng, case)
            right += binary(campaign, repeats) in campaign.changes
            blocks += campaign.blocks
        if right >= CONFIDENCE * campaigns or blocks > campaigns * BUDGET * 0.8:
            return repeats, blocks / campaigns
        repeats = max(repeats + 1, round(repeats * 1.15))


@dataclass(frozen=True)
class Shares:
    """Shares of campaigns that are right, are wrong, and have a true state in the credible set; and mean and largest
    number of blocks."""

    right: float
    wrong: float
    covered: float
    blocks: float
    most: int


def shares(case: Case, campaigns: int) -> Shares:
    """Run the campaigns of a case."""
    rng = generator(case.kind, SEED, case.states)
    results, blocks = [], []
    for _ in range(campaigns):
        campaign = Campaign(rng, case)
        named, decided, covered = search(campaign)
        hidden = named == [None] and any(abs(change) < case.coarse for change in case.steps)
        is_right = hidden or (named == [None] if not campaign.changes else named[0] in campaign.changes)
        results.append((is_right, decided and not is_right, covered))
        blocks.append(campaign.blocks)
    right, wrong, in_set = (statistics.fmean(values) for values in zip(*results, strict=True))
    return Shares(right, wrong, in_set, statistics.fmean(blocks), max(blocks))


def searches(campaigns: int) -> Iterator[str]:
    """Yield the table of searches. Long searches for small changes among many states get a fifth of the campaigns."""
    yield "| noise | states | planted | campaigns | right % | wrong % | in the set % | blocks | most | binary search |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for case in CASES:
        count = campaigns // 5 if case.steps == (-0.02,) and case.states > 16 else campaigns
        found = shares(case, count)
        other = "" if len(case.steps) != 1 else "{1:.0f} (k = {0})".format(*plain(case, count))
        figures = " | ".join(f"{100 * share:.1f}" for share in (found.right, found.wrong, found.covered))
        start = f"| {case.kind} | {case.states} | {case.planted} | {count} | {figures}"
        yield f"{start} | {found.blocks:.0f} | {found.most} | {other} |"


def difficult(campaigns: int) -> Iterator[str]:
    """Yield the table of coarse figures and of modes."""
    yield "| figures | a trial's spread | planted | campaigns | wrong % | in the set % | blocks | most |"
    yield "|---|---|---|---|---|---|---|---|"
    for case in DIFFICULT:
        found = shares(case, campaigns)
        place = "between two steps" if case.between else "on a step"
        kind = f"steps of {case.coarse:.0%}, reference {place}" if case.coarse else f"two modes, {case.modes:.0%} apart"
        error = 100 * sqrt(found.wrong * (1 - found.wrong) / campaigns)
        yield (
            f"| {kind.replace('%', ' %')} | {100 * case.spread:g} % | {case.planted} | {campaigns} | "
            f"{100 * found.wrong:.1f} ± {error:.1f} | {100 * found.covered:.1f} | {found.blocks:.0f} | {found.most} |"
        )


TABLES: dict[str, Callable[[int], Iterator[str]]] = {"searches": searches, "difficult": difficult}


def main() -> None:
    """Print the tables, and write the tables into the document on request."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--campaigns", type=int, default=200)
    options.add_argument("--only", choices=TABLES, help="make this table only")
    options.add_argument("--write", action="store_true", help="write the tables into docs/bisection.md")
    arguments = options.parse_args()
    for name in [arguments.only] if arguments.only else TABLES:
        lines = []
        for line in TABLES[name](arguments.campaigns):
            lines.append(line)
            print(line, flush=True)
        if arguments.write:
            text, mark = DOCUMENT.read_text(), f"<!-- table of benches/bisection.py: {name} -->\n"
            start = text.index(mark) + len(mark)
            end = text.index("<!-- end of the table -->", start)
            DOCUMENT.write_text(text[:start] + "\n".join(lines) + "\n" + text[end:])


if __name__ == "__main__":
    main()

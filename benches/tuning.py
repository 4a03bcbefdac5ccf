"""Study of the confirmation of ``schedlab tune``: winners without an effect, and the power for winners with one.

    .venv/bin/python -m benches.tuning [--campaigns 1000] [--write]

A search has confirmed four winners in two objectives, and was resumed four times, each time with four new winners that
were confirmed as well. The winners equal the default. Each confirmation has eight blocks of the default and the winners
in random order. *One by one*: each winner is judged at 5 %, its two objectives together. Noise is from the study of
verdicts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
from benches.study.noise import draw, generator
from numpy.typing import NDArray

from schedlab.analysis.judging import judge
from schedlab.analysis.multiplicity import confirmation_share
from schedlab.analysis.verdicts import Options, Question, Verdict
from schedlab.results.words import DIFFERENT, Word

ALPHA, WINNERS, BLOCKS, CONFIRMATIONS = 0.05, 4, 8, 5
SEED = 31
KINDS = ("normal", "log-normal", "two-level", "heavy-tailed")
OBJECTIVES = ("throughput", "latency")
EFFECT = 0.05
NAMES = ["default", *(f"winner-{place}" for place in range(1, WINNERS + 1))]
QUESTIONS = [Question("w", "{}", objective, "1", "lower") for objective in OBJECTIVES]
DOCUMENT = Path(__file__).parents[1] / "docs" / "tuning.md"
MARKS = "<!-- table of benches/tuning.py -->\n", "<!-- end of the table -->"


def confirmation(kind: str, rng: np.random.Generator, effect: float) -> pl.DataFrame:
    """Draw the figures of a confirmation, whose first winner has an effect."""
    rows, visits = len(OBJECTIVES), BLOCKS * len(NAMES)
    times = draw(kind, rng, rows, visits, 1, of_campaign=rows, of_block=len(NAMES)).reshape(rows, BLOCKS, len(NAMES))
    orders = np.array([rng.permutation(len(NAMES)) for _ in range(BLOCKS)])
    times = np.take_along_axis(times, np.broadcast_to(orders, times.shape), axis=2)
    times[:, :, 1] /= 1 + effect
    return pl.DataFrame(
        {
            "metric": np.repeat(OBJECTIVES, BLOCKS * len(NAMES)).tolist(),
            "block": np.tile(np.repeat(np.arange(1, BLOCKS + 1), len(NAMES)), rows),
            "variant": NAMES * (BLOCKS * rows),
            "value": times.ravel(),
        }
    ).with_columns(workload=pl.lit("w"), parameters=pl.lit("{}"))


def both(figures: pl.DataFrame, number: int) -> Iterator[list[Verdict]]:
    """Yield the verdicts on each winner alone, and of a search's confirmation of this number."""
    for options in (Options(alpha=ALPHA), Options(alpha=ALPHA * confirmation_share(number), family="run")):
        yield judge(figures, QUESTIONS, NAMES, None, options)


def false_verdicts(kind: str, campaigns: int) -> NDArray[np.float64]:
    """Return the shares of campaigns with a false verdict: one by one and as ``schedlab tune``, after the first
    confirmation and after all confirmations."""
    rng = generator(kind, SEED, BLOCKS)
    found = np.zeros((campaigns, CONFIRMATIONS, 2), dtype=bool)
    for place in np.ndindex(campaigns, CONFIRMATIONS):
        for rule, verdicts in enumerate(both(confirmation(kind, rng, 0.0), place[1] + 1)):
            found[(*place, rule)] = any(verdict.word in DIFFERENT for verdict in verdicts)
    return np.concatenate([found[:, 0].mean(axis=0), found.any(axis=1).mean(axis=0)])


def power(kind: str, campaigns: int) -> NDArray[np.float64]:
    """Return the shares of campaigns in which a first winner that is better is found better in an objective."""
    rng = generator(kind, SEED, BLOCKS + 1)
    found = np.zeros((campaigns, 2))
    for campaign in range(campaigns):
        for rule, verdicts in enumerate(both(confirmation(kind, rng, EFFECT), 1)):
            found[campaign, rule] = np.mean([v.word is Word.BETTER for v in verdicts if v.variant == NAMES[1]])
    return np.asarray(found.mean(axis=0))


def table(campaigns: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield (
        "| noise | one by one, first confirmation | `tune`, first | one by one, five confirmations | `tune`, five | "
        f"{EFFECT:.0%} found, one by one | `tune` |".replace("%", " %")
    )
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for kind in KINDS:
        shares = np.concatenate([false_verdicts(kind, campaigns), power(kind, campaigns)])
        texts = (f"{100 * share:.1f} ± {100 * sqrt(share * (1 - share) / campaigns):.1f}" for share in shares.tolist())
        yield f"| {kind} | " + " | ".join(texts) + " |"


def main() -> None:
    """Print the table, and write it into the document on request."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--campaigns", type=int, default=1000)
    options.add_argument("--write", action="store_true", help="write the table into docs/tuning.md")
    arguments = options.parse_args()
    lines = []
    for line in table(arguments.campaigns):
        lines.append(line)
        print(line, flush=True)
    if arguments.write:
        text = DOCUMENT.read_text(encoding="utf-8")
        start, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
        DOCUMENT.write_text(text[:start] + "\n".join(lines) + "\n" + text[end:], encoding="utf-8")


if __name__ == "__main__":
    main()

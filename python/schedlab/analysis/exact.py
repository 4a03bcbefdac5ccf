"""Differences of counted instructions that are equal under every random seed: facts about a kernel build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan

import polars as pl

from schedlab.analysis.verdicts import Verdict
from schedlab.results.kinds import is_counted
from schedlab.results.words import Word

Seeds = Mapping[int, float]
"""Instructions by random seed. Each block of a deterministic guest has a seed."""


def differences(values: Seeds, compared: Seeds) -> list[float]:
    """Return the difference to ``compared`` under each common seed, rounded to tenths of an instruction.

    Times of a guest become instructions by a division, so that further digits are rounding errors.
    """
    return [round(value - compared[seed], 1) for seed, value in values.items() if seed in compared]


def is_exact(of_seeds: Sequence[float]) -> bool:
    """Return whether at least two seeds have the same difference."""
    return len(of_seeds) > 1 and len(set(of_seeds)) == 1


def with_exact(verdicts: Sequence[Verdict], values: pl.DataFrame, baseline: str, delta: float) -> list[Verdict]:
    """Decide the rows of counted instructions whose difference to the baseline is equal under all random seeds.

    A test has nothing to add to such a difference. Rows with lost trials or without a ratio are left as they are.

    Args:
        verdicts: verdicts against the baseline.
        values: block means: block, variant, workload, parameters, metric, value.
        baseline: name of the variant that the verdicts compare with.
        delta: relative changes up to which two variants are equivalent.
    """
    cells: dict[tuple[str, ...], dict[int, float]] = {}
    for row in values.iter_rows(named=True):
        cells.setdefault((row["variant"], *(row[key] for key in _ROW)), {})[row["block"]] = row["value"]

    def exact(verdict: Verdict) -> bool:
        row = tuple(str(getattr(verdict.question, key)) for key in _ROW)
        of_seeds = differences(cells.get((verdict.variant, *row), {}), cells.get((baseline, *row), {}))
        is_whole = not verdict.failed and not isnan(verdict.ratio)
        return is_whole and is_counted(verdict.question.unit) and is_exact(of_seeds)

    return [_decided(verdict, delta) if exact(verdict) else verdict for verdict in verdicts]


_ROW = ("workload", "parameters", "metric")


def _decided(verdict: Verdict, delta: float) -> Verdict:
    ratio = verdict.ratio
    word = Word.EQUIVALENT
    if abs(ratio - 1) > delta:
        word = Word.BETTER if (ratio > 1) == (verdict.question.direction == "higher") else Word.WORSE
    return replace(verdict, word=word, exact=True, reason="")

"""Figures that nothing pairs, imported ones above all: how big a difference is, and whether it is one.

They were not measured alternately, so an effect of the order (a warmer machine, another day) looks like one of the
change: :func:`unpaired_warnings` says so beside every such comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, expm1, inf, isnan, log1p, nan

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.resolution import POWER
from schedlab.analysis.verdicts import Evidence, Options, Question, Verdict, correct, families, tests_of
from schedlab.analysis.warnings import Kind, Warning
from schedlab.analysis.welch import Moments, welch

Floats = NDArray[np.float64]

NO_SPREAD = "neither side has any spread: nothing can be tested"


@dataclass(frozen=True)
class Group:
    """One side of a comparison: values above 0, each an observation of its own if ``independent``.

    Iterations of one block are not; they are used where there is nothing better, and a warning says so.
    """

    values: Floats
    independent: bool


@dataclass(frozen=True)
class UnpairedRow:
    """A row with the group of each column, the baseline's first; None where a column has none."""

    question: Question
    groups: tuple[Group | None, ...]


def mann_whitney(baseline: Floats, variant: Floats) -> float:
    """Two-sided p of "neither group tends to larger values"; exact for small groups without ties. nan for no values."""
    from scipy.stats import mannwhitneyu

    if not (len(baseline) and len(variant)):
        return nan
    return float(mannwhitneyu(baseline, variant, alternative="two-sided").pvalue)


def group(samples: Floats, blocks: Sequence[float]) -> Group:
    """The group of a column: its block means where there are several, else the samples of its only block."""
    return Group(np.asarray(blocks, dtype=np.float64), True) if len(blocks) > 1 else Group(samples, False)


def judge_unpaired(
    rows: Sequence[UnpairedRow],
    names: Sequence[str],
    options: Options,
    *,
    control: str | None = None,
    ranks: bool = True,
) -> list[Verdict]:
    """A verdict for each row and each column but the first, the baseline, in that order, as by :func:`judge`.

    The ratio is that of geometric means; its interval and ``p`` are Welch's (1947) on logarithms. ``p_mann_whitney``
    stands beside them for those who trust no mean (Mann & Whitney 1947). nan where it cannot be told: below two values
    on either side, or without any spread.

    Args:
        rows: each with a group for every name.
        names: of the columns; ``control`` is the A/A control's among them, if any.
        ranks: whether Mann–Whitney's p stands beside Welch's; without it ``scipy.stats`` is not loaded.

    ``n`` is the size of the smaller group. ``blocks_needed`` is None: more of the same figures would not rule out an
    effect of the order.
    """
    options = replace(options, looks=())
    comparing = [name for name in names[1:] if name != control]
    tests = tests_of(len(rows), len(comparing), options)
    raw: dict[tuple[int, str], tuple[Verdict, Evidence]] = {}
    for place, name in enumerate(names[1:], start=1):
        found = _compare(rows, names[0], name, place, options, tests, ranks)
        raw |= {(i, name): (replace(verdict, control=name == control), e) for i, (verdict, e) in enumerate(found)}
    verdicts: dict[tuple[int, str], Verdict] = {}
    for family in families(comparing, control, options):
        keys = [key for key in raw if key[1] in family]
        verdicts |= zip(keys, correct([raw[key] for key in keys], options, tests), strict=True)
    return [verdicts[i, name] for i in range(len(rows)) for name in names[1:]]


def unpaired_warnings(rows: Sequence[UnpairedRow], names: Sequence[str]) -> Iterator[Warning]:
    """What every such comparison has to say of itself; nothing for no rows."""
    if not any(sum(side is not None for side in row.groups) > 1 for row in rows):
        return
    yield Warning(
        Kind.UNPAIRED,
        f"{', '.join(names[1:3])}{' and others' if len(names) > 3 else ''} and {names[0]} were not measured in turn: "
        "an effect of the order cannot be ruled out",
    )
    pooled = [name for i, name in enumerate(names) if any(_pooled(row.groups[i]) for row in rows)]
    if pooled:
        yield Warning(
            Kind.POOLED,
            f"{len(pooled)} of {len(names)} columns have one block only; its samples stood in for independent ones",
        )


def _pooled(side: Group | None) -> bool:
    return side is not None and not side.independent


def _compare(
    rows: Sequence[UnpairedRow], baseline: str, variant: str, place: int, options: Options, tests: int, ranks: bool
) -> list[tuple[Verdict, Evidence]]:
    """One column against the baseline, all rows at once, before any correction."""
    told = [_described(row, baseline, variant, place, options) for row in rows]
    usable = [i for i, verdict in enumerate(told) if not verdict.reason]
    sides = [(_values(rows[i].groups[0]), _values(rows[i].groups[place])) for i in usable]
    found = welch(*(Moments.of([np.log(pair[side]) for pair in sides]) for side in (0, 1)))
    half, p, p_same = found.half(1 - options.alpha), found.p, found.p_within(log1p(options.delta))
    seen = found.detectable(options.strictest(tests), POWER)
    results = [(verdict, Evidence()) for verdict in told]
    for k, i in enumerate(usable):
        difference = float(found.difference[k])
        verdict = replace(told[i], ratio=exp(difference))
        if isnan(p[k]):
            results[i] = (replace(verdict, reason=NO_SPREAD), Evidence())
            continue
        verdict = replace(
            verdict,
            low=exp(difference - half[k]),
            high=exp(difference + half[k]),
            p=float(p[k]),
            p_mann_whitney=mann_whitney(*sides[k]) if ranks else nan,
            p_equivalent=float(p_same[k]),
            detectable=expm1(seen[k]) if seen[k] < 100 else inf,
        )
        results[i] = (verdict, Evidence((verdict.p,), (verdict.p_equivalent,)))
    return results


def _described(row: UnpairedRow, baseline: str, variant: str, place: int, options: Options) -> Verdict:
    """What is known before a test; ``reason`` says why there can be none."""
    below, above = (_values(row.groups[i]) for i in (0, place))
    verdict = Verdict(
        row.question, variant, False, min(len(below), len(above)),
        float(below.mean()) if len(below) else nan, float(below.std(ddof=1)) if len(below) > 1 else nan,
        float(above.mean()) if len(above) else nan,
        nan, nan, nan, nan, nan, nan, "inconclusive", nan, None, method="unpaired", level=options.alpha,
    )  # fmt: skip
    sides = ((baseline, below), (variant, above))
    if missing := [name for name, values in sides if not len(values)]:
        return replace(verdict, reason=f"no measurement of {' and '.join(missing)}")
    if np.any(below <= 0) or np.any(above <= 0):
        return replace(verdict, reason="a value of 0 or below has no ratio")
    if few := [name for name, values in sides if len(values) < 2]:
        ratio = exp(float(np.log(above).mean() - np.log(below).mean()))
        return replace(verdict, ratio=ratio, reason=f"one value of {' and of '.join(few)}: no spread to judge by")
    return verdict


def _values(side: Group | None) -> Floats:
    return np.empty(0) if side is None else side.values

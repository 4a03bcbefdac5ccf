"""Warnings about a run as a whole: its conditions, missing trials, a control that differs, unusual series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, log, log1p, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import bdtrc, stdtr

from schedlab.analysis import series
from schedlab.analysis.cells import block_means
from schedlab.analysis.resolution import blocks_for_a_verdict, can_find
from schedlab.analysis.verdicts import Options, Question, Verdict
from schedlab.analysis.warnings import Kind, Warning
from schedlab.notation.units import counted
from schedlab.results.kinds import DETERMINISTIC, REAL, emulated, in_time, is_counted
from schedlab.results.words import DIFFERENT

STEAL_PERCENT, OTHER_PERCENT = 1.0, 5.0
"""Shares of the CPUs' time from which steal and other processes cause a warning.

1 % is the size of the effects that runs look for. Other processes may run on idle CPUs, so their limit is five times as
high.
"""

FREQUENCY_RATIO = 1.05
"""Ratio of the highest to the lowest CPU frequency from which a warning is due."""

GOVERNOR = "frequency.governor"
"""Key path of the CPU frequency governor in the fingerprint."""


@dataclass(frozen=True)
class RunFacts:
    """Facts about a run beside its figures.

    Attributes:
        planned: number of planned trials.
        recorded: number of recorded trials.
        conditions: one line for each variant with the columns seconds, steal_percent, other_percent, steal_worst,
            mhz_min, mhz_max and clocksources.
        failures: one line for each failed trial with the columns variant, workload and reason.
        changed: entries of the machine's fingerprint that differed at the end of the run.
        kind: origin of the figures, see :mod:`schedlab.results.kinds`.
        parameters: doubts about the kernels' boot parameters, in words.
        unsettled: blocks that began before the machine had settled, in words.
    """

    planned: int
    recorded: int
    conditions: pl.DataFrame
    failures: pl.DataFrame
    changed: Sequence[str] = ()
    kind: str = REAL
    parameters: Sequence[str] = ()
    unsettled: Sequence[str] = ()


def diagnose(
    facts: RunFacts,
    samples: pl.DataFrame,
    questions: Sequence[Question],
    verdicts: Sequence[Verdict],
    options: Options,
) -> list[Warning]:
    """Return every warning for a run; ``samples`` is the frame that was judged."""
    checks = (
        _kind(facts.kind, questions),
        (Kind.PARAMETERS.warning(note=note) for note in facts.parameters),
        _unsettled(facts.unsettled),
        _control(verdicts, options),
        _resolution(facts, verdicts, len(questions), options),
        _missing(facts),
        _changed(facts.changed),
        _conditions(facts.conditions),
        series.warnings(samples, questions, in_time=in_time(facts.kind)),
        spread_warnings(samples, verdicts),
        differing_means(verdicts, options),
    )
    return [warning for check in checks for warning in check]


def _unsettled(blocks: Sequence[str]) -> Iterator[Warning]:
    if blocks:
        yield Kind.UNSETTLED.warning(times=counted(len(blocks), "time"), first=blocks[0])


def _kind(kind: str, questions: Sequence[Question]) -> Iterator[Warning]:
    """Warn about the limits of the figures of an emulated machine. Counted instructions are not times."""
    if emulated(kind) and not (questions and all(is_counted(question.unit) for question in questions)):
        yield Kind.EMULATED.warning()
    if kind == DETERMINISTIC:
        yield Kind.COUNTED.warning()


def _control(verdicts: Sequence[Verdict], options: Options) -> Iterator[Warning]:
    """Warn if the control differs from the baseline in more rows than α allows by chance."""
    control = [verdict for verdict in verdicts if verdict.control and not isnan(verdict.p)]
    alarms = sum(verdict.p <= options.alpha for verdict in control)
    if not alarms:
        return
    any_alarm = any(verdict.p_adjusted <= options.alpha for verdict in control)
    too_many = bdtrc(alarms - 1, len(control), options.alpha) <= options.alpha
    if any_alarm or too_many:
        yield Kind.CONTROL.warning(alarms=alarms, rows=len(control))


def _resolution(facts: RunFacts, verdicts: Sequence[Verdict], questions: int, options: Options) -> Iterator[Warning]:
    """Warn if the design is too small for any verdict.

    Missing trials have a separate warning. A row without a ratio has a reason in its verdict.
    """
    compared = [verdict for verdict in verdicts if not verdict.control and verdict.n and not verdict.exact]
    if not compared or facts.recorded < facts.planned or options.correction == "benjamini-hochberg":
        return
    variants = len({verdict.variant for verdict in compared})
    rule = options.rule(questions, variants)
    most = max(verdict.n for verdict in compared)
    if not can_find(rule, most):
        yield Kind.RESOLUTION.warning(
            blocks=counted(most, "block"), rows=counted(questions, "row"), needed=blocks_for_a_verdict(rule)
        )


def differing_means(verdicts: Sequence[Verdict], options: Options) -> Iterator[Warning]:
    """Yield a warning for each change of the arithmetic means that lies outside the interval of the change.

    If the two changes differ by less than delta, there is no warning. The A/A control causes no warning.
    """
    for verdict in verdicts:
        ratio, arithmetic, question = verdict.ratio, verdict.arithmetic_ratio, verdict.question
        if verdict.control or not all(map(isfinite, (ratio, arithmetic, verdict.low, verdict.high))):
            continue
        if verdict.low <= arithmetic <= verdict.high or abs(log(arithmetic / ratio)) <= log1p(options.delta):
            continue
        yield Kind.MEANS.warning(
            workload=question.workload,
            metric=question.metric,
            variant=verdict.variant,
            change=100 * (ratio - 1),
            arithmetic=100 * (arithmetic - 1),
        )


def _missing(facts: RunFacts) -> Iterator[Warning]:
    """Warn about failed trials, and about planned trials without a record."""
    if len(facts.failures):
        first = facts.failures.row(0, named=True)
        yield Kind.FAILED.warning(
            failed=len(facts.failures),
            recorded=facts.recorded,
            workload=first["workload"],
            variant=first["variant"],
            reason=first["reason"].partition("\n")[0],
        )
    if facts.recorded < facts.planned:
        yield Kind.INCOMPLETE.warning(missing=facts.planned - facts.recorded, planned=facts.planned)


def _changed(changed: Sequence[str]) -> Iterator[Warning]:
    """Warn about changes of the fingerprint during the run. The governor has a separate warning with another remedy."""
    governors = [entry for entry in changed if entry.split(" ")[0] == GOVERNOR]
    if governors:
        yield Kind.GOVERNOR.warning(change=governors[0])
    if others := [entry for entry in changed if entry not in governors]:
        yield Kind.MACHINE.warning(changes=", ".join(others))


def _conditions(conditions: pl.DataFrame) -> Iterator[Warning]:
    """Warn about steal, other load, clock sources and frequencies during the trials."""
    steal, other = (weighted(conditions, name) for name in ("steal_percent", "other_percent"))
    if steal >= STEAL_PERCENT:
        yield Kind.STEAL.warning(percent=steal, worst=max(conditions["steal_worst"].drop_nulls().to_list()))
    if other >= OTHER_PERCENT:
        yield Kind.LOAD.warning(percent=other)
    clocks = sorted({name for names in conditions["clocksources"].drop_nulls() for name in names.split(",")})
    if len(clocks) > 1:
        yield Kind.CLOCKSOURCE.warning(sources=", ".join(clocks))
    low, high = conditions["mhz_min"].min(), conditions["mhz_max"].max()
    if isinstance(low, int) and isinstance(high, int) and high > low * FREQUENCY_RATIO:
        yield Kind.FREQUENCY.warning(low=low, high=high)


def weighted(conditions: pl.DataFrame, name: str) -> float:
    """Return the mean over the variants, weighted by their seconds; 0 without values."""
    measured = conditions.select("seconds", name).drop_nulls()
    seconds = measured["seconds"].sum()
    return float((measured[name] * measured["seconds"]).sum()) / float(seconds) if seconds else 0.0


FEWEST = 12
"""Number of blocks below which the test has hardly any power."""

ALARM_P = 0.01
"""Level of the warning, over all verdicts that assert a difference."""


def spread_warnings(samples: pl.DataFrame, verdicts: Sequence[Verdict]) -> Iterator[Warning]:
    """Yield a warning for each variant that differs from the baseline both in its mean and in its spread.

    The sign-flip test asks whether baseline and variant are exchangeable. If only their spread differs, they are not
    exchangeable, and for skewed figures the test asserts a change of the mean too often. A row with a value of 0 has no
    logarithms to compare.
    """
    different = [v for v in verdicts if v.word in DIFFERENT and not v.control and v.n >= FEWEST]
    if not different:
        return
    cells, compared = block_means(samples), {verdict.variant for verdict in verdicts}
    for verdict in different:
        row = verdict.question.row
        above = cells[(*row, verdict.variant)]
        below = next(cell for key, cell in cells.items() if key[:3] == row and key[3] not in compared)
        blocks = sorted(above.keys() & below.keys())
        values = [np.array([cell[block] for block in blocks]) for cell in (below, above)]
        if min(map(np.min, values)) <= 0:
            continue
        logs = list(map(np.log, values))
        if p_equal_spread(*logs) < ALARM_P / len(different):
            yield Kind.SPREAD.warning(
                workload=verdict.question.workload,
                metric=verdict.question.metric,
                variant=verdict.variant,
                ratio=float(logs[1].std() / logs[0].std()),
            )


def p_equal_spread(baseline: NDArray[np.float64], variant: NDArray[np.float64]) -> float:
    """Return the two-sided p of "both have the same spread", from paired values of shape (blocks,); 1 without spread.

    With equal spreads the sums and differences of the pairs are uncorrelated (Pitman 1939; Morgan 1939). The
    correlation of ranks (Spearman 1904) limits the influence of a single outlier. p comes from the t approximation with
    n − 2 degrees of freedom.
    """
    n = len(baseline)
    if n < 3 or baseline.std() == 0 or variant.std() == 0:
        return 1.0
    correlation = float(np.corrcoef(_ranks(variant + baseline), _ranks(variant - baseline))[0, 1])
    if abs(correlation) >= 1:
        return 0.0
    return 2 * float(stdtr(n - 2, -abs(correlation) * sqrt((n - 2) / (1 - correlation**2))))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 0. Equal values, which are rare among measured means, have ranks in their order."""
    return values.argsort(kind="stable").argsort(kind="stable").astype(np.float64)

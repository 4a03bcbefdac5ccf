"""What can be wrong with a run as a whole: conditions, gaps, a control that differs from itself, odd series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl
from scipy.special import bdtrc

from schedlab.analysis import series, spread
from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.resolution import blocks_for_a_verdict
from schedlab.analysis.verdicts import Options, Question, Verdict
from schedlab.analysis.warnings import Kind, Warning
from schedlab.kinds import DETERMINISTIC, REAL, emulated, in_time
from schedlab.units import counted

STEAL_PERCENT, OTHER_PERCENT = 1.0, 5.0
"""Shares of the CPUs' time from which steal and other processes are worth a warning: the size of the effects that
runs look for, and five times that, since other work can fit into idle CPUs."""

FREQUENCY_RATIO = 1.05
"""Highest over lowest CPU frequency seen, from which a warning is due."""


@dataclass(frozen=True)
class RunFacts:
    """What the store tells of a run beside its figures.

    ``conditions`` has a row for each variant: seconds, steal_percent, other_percent, steal_worst, mhz_min, mhz_max,
    clocksources; ``failures`` one for each trial that did not end well: variant, workload, reason. ``changed`` names
    what of the machine's fingerprint was another at the end, ``kind`` how the figures came to be, ``parameters`` what
    is doubtful about the kernels' boot parameters.
    """

    planned: int
    recorded: int
    conditions: pl.DataFrame
    failures: pl.DataFrame
    changed: Sequence[str] = ()
    kind: str = REAL
    parameters: Sequence[str] = ()


def diagnose(
    facts: RunFacts,
    samples: pl.DataFrame,
    questions: Sequence[Question],
    verdicts: Sequence[Verdict],
    options: Options,
) -> list[Warning]:
    """Every warning for a run; ``samples`` is the frame that was judged."""
    checks = (
        _kind(facts.kind),
        (Warning(Kind.PARAMETERS, told) for told in facts.parameters),
        _control(verdicts, options),
        _resolution(facts, verdicts, len(questions), options),
        _gaps(facts),
        _changed(facts.changed),
        _conditions(facts.conditions),
        series.warnings(samples, questions, in_time=in_time(facts.kind)),
        spread.warnings(samples, verdicts),
    )
    return [warning for check in checks for warning in check]


def _kind(kind: str) -> Iterator[Warning]:
    """What is wrong with the figures of an emulated machine."""
    if emulated(kind):
        yield Warning(Kind.EMULATED, "a real kernel on emulated CPUs: what it does is right, how long it takes is not")
    if kind == DETERMINISTIC:
        yield Warning(
            Kind.COUNTED,
            "time was counted in instructions: no cache, no cost of remote memory, and CPUs took turns",
        )


def _control(verdicts: Sequence[Verdict], options: Options) -> Iterator[Warning]:
    """A control that differs from the baseline in more rows than α allows by chance."""
    p_values = [verdict.p for verdict in verdicts if verdict.control and verdict.n >= 2]
    alarms = sum(p <= options.alpha for p in p_values)
    if not alarms:
        return
    any_alarm = min(adjust(p_values, "holm")) <= options.alpha
    too_many = bdtrc(alarms - 1, len(p_values), options.alpha) <= options.alpha
    if any_alarm or too_many:
        yield Warning(
            Kind.CONTROL,
            f"the A/A control, the same as the baseline, differs from it in {alarms} of {len(p_values)} rows",
        )


def _resolution(facts: RunFacts, verdicts: Sequence[Verdict], questions: int, options: Options) -> Iterator[Warning]:
    """A design too small for any verdict; where trials are missing or have failed, that is the reason to tell."""
    if len(facts.failures) or facts.recorded < facts.planned:
        return
    compared = [verdict for verdict in verdicts if not verdict.control]
    if not compared or options.correction == "benjamini-hochberg":
        return
    family = len(compared) if options.family == "run" else questions
    needed = blocks_for_a_verdict(options.strictest(family if options.correction == "holm" else 1), 1)
    most = max(verdict.n for verdict in compared)
    if most < needed:
        yield Warning(
            Kind.RESOLUTION,
            f"{counted(most, 'block')} cannot call any difference over {counted(family, 'row')} one, however large; "
            f"{needed} can",
        )


def _gaps(facts: RunFacts) -> Iterator[Warning]:
    if len(facts.failures):
        first = facts.failures.row(0, named=True)
        yield Warning(
            Kind.FAILED,
            f"{len(facts.failures)} of {facts.recorded} trials failed; the first: {first['workload']} under "
            f"{first['variant']}: {first['reason'].partition(chr(10))[0]}",
        )
    if facts.recorded < facts.planned:
        yield Warning(Kind.INCOMPLETE, f"{facts.planned - facts.recorded} of {facts.planned} trials have not run")


GOVERNOR = "frequency.governor"
"""Its key path in the fingerprint."""


def _changed(changed: Sequence[str]) -> Iterator[Warning]:
    """What of the fingerprint was another at the end; the governor is a warning of its own, as it is mended alone."""
    governors = [what for what in changed if what.split(" ")[0] == GOVERNOR]
    if governors:
        yield Warning(Kind.GOVERNOR, f"the CPU frequency governor changed during the run: {governors[0]}")
    if others := [what for what in changed if what not in governors]:
        yield Warning(Kind.MACHINE, f"the machine changed during the run: {', '.join(others)}")


def _conditions(conditions: pl.DataFrame) -> Iterator[Warning]:
    steal, other = (_weighted(conditions, name) for name in ("steal_percent", "other_percent"))
    if steal >= STEAL_PERCENT:
        worst = conditions["steal_worst"].drop_nulls().to_list()
        yield Warning(
            Kind.STEAL,
            f"{steal:.1f} % of the CPUs' time was stolen by the hypervisor (worst trial {max(worst):.0f} %)",
        )
    if other >= OTHER_PERCENT:
        yield Warning(Kind.LOAD, f"other processes used {other:.1f} % of the CPUs' time during the trials")
    clocks = sorted({name for told in conditions["clocksources"].drop_nulls() for name in told.split(",")})
    if len(clocks) > 1:
        yield Warning(Kind.CLOCKSOURCE, f"the kernel changed its clock source during the run ({', '.join(clocks)})")
    low, high = conditions["mhz_min"].min(), conditions["mhz_max"].max()
    if isinstance(low, int) and isinstance(high, int) and high > low * FREQUENCY_RATIO:
        yield Warning(Kind.FREQUENCY, f"CPU frequencies from {low} to {high} MHz were seen")


def _weighted(conditions: pl.DataFrame, name: str) -> float:
    """Mean over the variants, weighted by their seconds; 0 where nothing is known."""
    known = conditions.select("seconds", name).drop_nulls()
    seconds = known["seconds"].sum()
    return float((known[name] * known["seconds"]).sum()) / float(seconds) if seconds else 0.0

"""Doubts about a significant difference: what the test of a row cannot know, and a reader must not overlook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl

from schedlab.analysis.diagnostics import OTHER_PERCENT, STEAL_PERCENT, weighted
from schedlab.analysis.effects import Effect
from schedlab.analysis.verdicts import Verdict
from schedlab.results.kinds import REAL
from schedlab.results.words import DIFFERENT, Word

HEAVY_STEAL, HEAVY_LOAD = 10 * STEAL_PERCENT, 5 * OTHER_PERCENT
"""Per cent of the CPUs' time from which steal and other processes leave a difference unconfirmed: 10 and 25.

A choice, well above the limits of the warnings: at a quarter of the CPUs' time, the machine is shared, not disturbed.
"""

Judged = TypeVar("Judged", bound=Effect)

WITHIN_CONTROL = "the A/A control shows changes of this size"


def of_conditions(conditions: pl.DataFrame, kind: str) -> str:
    """Return why the conditions of a run leave its differences unconfirmed; empty if they do not.

    ``conditions`` and ``kind`` are as in :class:`schedlab.analysis.diagnostics.RunFacts`. Only real figures depend on
    the load of the machine.
    """
    if kind != REAL:
        return ""
    steal, other = (weighted(conditions, name) for name in ("steal_percent", "other_percent"))
    if other >= HEAVY_LOAD:
        return f"other processes used {other:.0f} % of the CPUs' time"
    return f"the hypervisor took {steal:.0f} % of the CPUs' time" if steal >= HEAVY_STEAL else ""


def confirmed(verdicts: Sequence[Verdict], doubt: str) -> list[Verdict]:
    """Return the verdicts, where a doubtful difference is unconfirmed for this reason.

    ``doubt`` is about all verdicts, and empty without a doubt. A difference that the A/A control shows too is
    unconfirmed in any case. Counted instructions depend on neither.
    """
    return [
        replace(verdict, word=Word.UNCONFIRMED, reason=reason)
        if (reason := doubt or (WITHIN_CONTROL if verdict.within_control else ""))
        and verdict.word in DIFFERENT
        and not (verdict.control or verdict.exact)
        else verdict
        for verdict in verdicts
    ]


def confirmed_effects(effects: Sequence[Judged], doubt: str) -> list[Judged]:
    """Return the effects of a change's parts, where a doubtful difference is unconfirmed for this reason."""
    if not doubt:
        return list(effects)
    return [
        replace(effect, word=Word.UNCONFIRMED, reason=doubt) if effect.word in DIFFERENT else effect
        for effect in effects
    ]

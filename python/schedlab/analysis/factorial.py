"""Factorial designs: the main effect of each switch, and the interactions of two switches.

Effects are contrasts of the logarithms of a block's measurements. A switch's *main effect* is the ratio on / off,
averaged over the settings of the other switches. The *interaction* of two switches is the first switch's effect with
the second switch on, divided by the first switch's effect with the second switch off. In a fraction of the full design
some effects are aliases: they are indistinguishable, and are named together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schedlab.analysis.cells import Blocks, Recorded
from schedlab.analysis.effects import Effect, MeasuredRow, judge_effects
from schedlab.analysis.rows import Layout as Layout  # noqa: PLC0414 - re-exported for callers that judge
from schedlab.analysis.sequential import Course
from schedlab.analysis.verdicts import Options, Question

Floats = NDArray[np.float64]

TIMES = " × "


@dataclass(frozen=True)
class Contrast:
    """An effect of a layout: one or two switches, and its aliases."""

    switches: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...] = ()

    @property
    def name(self) -> str:
        """The name in reports: ``slice``, or ``batch × slice``."""
        return TIMES.join(self.switches)


@dataclass(frozen=True, kw_only=True)
class SwitchEffect(Effect):
    """A main effect (one switch) or an interaction (two), with the effects that are indistinguishable from it."""

    switches: tuple[str, ...]
    aliases: tuple[str, ...] = ()


def contrasts(layout: Layout) -> list[Contrast]:
    """Return every effect that is not an alias of the mean, main effects first, each with its aliases.

    Two effects are aliases if they have the same sign in every variant, or the opposite sign in every variant. A group
    of aliases has the name of its main effect, or of its first interaction.
    """
    switches = layout.switches
    terms = [*((name,) for name in switches), *combinations(switches, 2)]
    columns = {term: _column(layout, list(layout.runs), term) for term in terms}
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for term, column in columns.items():
        if abs(column.sum()) == len(column):
            continue  # the same sign in all variants: an alias of the mean
        alias = next((other for other in groups if abs(columns[other] @ column) == len(column)), None)
        if alias is None:
            groups[term] = []
        else:
            groups[alias].append(term)
    return [Contrast(term, tuple(aliases)) for term, aliases in groups.items()]


def effects(
    samples: pl.DataFrame,
    questions: Sequence[Question],
    layout: Layout,
    options: Options,
    recorded: Recorded | None = None,
    progress: Course | None = None,
) -> list[SwitchEffect]:
    """Return the effects in each row, rows in their order, main effects first.

    Args:
        samples: columns workload, parameters, metric, variant, block, value.
        questions: the rows.
        layout: switches and their settings in each variant.
        options: options of the analysis.
        recorded: recorded trials. A variant is left out of a row if it lost more than 5 % of its trials there, or has
            no measurement. Effects that need this variant have a reason and no figures.
        progress: the interim analysis of a sequential or an interrupted run, whose blocks count.

    Each row uses the blocks in which all its variants were measured. Each block has a least-squares estimate; in a full
    design it equals a difference of means. Intervals are simultaneous over the effects of a row, p values are adjusted
    over the effects of all rows.
    """
    blocks, terms = Blocks(samples, recorded, progress), contrasts(layout)
    rows = [MeasuredRow(question, list(layout.runs), blocks) for question in questions]
    measured, worst = zip(*(row.effects(_weights(layout, row.variants, terms)) for row in rows), strict=True)
    judged = judge_effects(questions, measured, options, worst, progress)
    return [
        _switch_effect(question, term, row_effects, "; ".join(row.faults) or "no block has every variant")
        for question, row_effects, row in zip(questions, judged, rows, strict=True)
        for term in terms
    ]


def _switch_effect(question: Question, term: Contrast, row_effects: Mapping[str, Effect], reason: str) -> SwitchEffect:
    effect = row_effects.get(term.name) or Effect(question=question, name=term.name, reason=reason)
    return SwitchEffect(**vars(effect), switches=term.switches, aliases=tuple(map(TIMES.join, term.aliases)))


def _column(layout: Layout, variants: Sequence[str], term: tuple[str, ...]) -> Floats:
    """Return ±1 for each variant: the product of the term's switches."""
    places = [layout.switches.index(name) for name in term]
    return np.array([np.prod([1.0 if layout.runs[variant][i] else -1.0 for i in places]) for variant in variants])


def _weights(layout: Layout, measured: Sequence[str], terms: Sequence[Contrast]) -> dict[str, Floats]:
    """Return the least-squares weights of a block's log values for each effect that these variants determine."""
    if not measured:
        return {}
    model = np.column_stack([np.ones(len(measured)), *(_column(layout, measured, term.switches) for term in terms)])
    inverse = np.linalg.pinv(model)
    # A coefficient is estimable if the fit reproduces a response that contains this coefficient alone.
    resolved = np.abs(inverse @ model - np.eye(model.shape[1])).max(axis=1) < 1e-9
    # On − off is twice the coefficient of a main effect; an interaction is four times its coefficient.
    scale = [2.0 ** len(term.switches) for term in terms]
    return {term.name: inverse[i] * scale[i - 1] for i, term in enumerate(terms, start=1) if resolved[i]}

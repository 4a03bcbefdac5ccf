"""Independent switches: what each does on the whole, and how two of them change each other's effect.

Effects are contrasts of the logarithms of a block's measurements: a switch's *main effect* is the ratio on / off,
averaged over the settings of the others; the *interaction* of two is the ratio of one's effect with the other on to its
effect with the other off. In a fraction of the full design some effects cannot be told apart; they are named together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schedlab.analysis import cells
from schedlab.analysis.cells import Failures
from schedlab.analysis.effects import Effect, judge_effects
from schedlab.analysis.rows import Layout as Layout  # noqa: PLC0414 - where judges look for it
from schedlab.analysis.verdicts import Options, Question

Floats = NDArray[np.float64]

TIMES = " × "


@dataclass(frozen=True)
class Contrast:
    """An effect of a layout: one switch or two, and the others that it cannot be told apart from."""

    switches: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...] = ()

    @property
    def name(self) -> str:
        """For people: ``slice``, or ``batch × slice``."""
        return TIMES.join(self.switches)


@dataclass(frozen=True, kw_only=True)
class SwitchEffect(Effect):
    """A main effect (one switch) or an interaction (two).

    ``aliases`` are the effects of which it holds just as much: a fraction of the design cannot tell them apart.
    """

    switches: tuple[str, ...]
    aliases: tuple[str, ...] = ()


def contrasts(layout: Layout) -> list[Contrast]:
    """Every effect that the layout can tell from the mean, main effects first, each with its aliases.

    Two effects are aliases when they are on and off in the same variants, or in opposite ones. A main effect stands
    for its group; of interactions, the first.
    """
    switches = layout.switches
    terms = [*((name,) for name in switches), *combinations(switches, 2)]
    columns = {term: _column(layout, list(layout.runs), term) for term in terms}
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for term, column in columns.items():
        if abs(column.sum()) == len(column):
            continue  # never changes: as good as the mean
        twin = next((other for other in found if abs(columns[other] @ column) == len(column)), None)
        if twin is None:
            found[term] = []
        else:
            found[twin].append(term)
    return [Contrast(term, tuple(aliases)) for term, aliases in found.items()]


def effects(
    samples: pl.DataFrame,
    questions: Sequence[Question],
    layout: Layout,
    options: Options,
    failures: Failures | None = None,
) -> list[SwitchEffect]:
    """The effects in each row, rows in their order, main effects first.

    Args:
        samples: columns workload, parameters, metric, variant, block, value.
        failures: a variant that lost more than 5 % of its trials in a row is left out of that row, as is one never
            measured; effects that the others cannot tell are named with the reason.

    Each row rests on the blocks in which all its variants were measured. Estimates are least-squares in each block,
    which in a whole design are plain differences of means. Intervals are simultaneous over the effects of a row; p
    values are adjusted over them, then over rows as the options say.
    """
    means = cells.block_means(samples)
    terms = contrasts(layout)
    drafts = [_draft(question, layout, terms, means, failures or {}) for question in questions]
    found = judge_effects(questions, [logs for logs, _ in drafts], options)
    return [
        _told(question, term, of_row, reason)
        for question, of_row, (_, reason) in zip(questions, found, drafts, strict=True)
        for term in terms
    ]


def _told(question: Question, term: Contrast, of_row: Mapping[str, Effect], reason: str) -> SwitchEffect:
    found = of_row.get(term.name) or Effect(question=question, name=term.name, reason=reason)
    return SwitchEffect(**vars(found), switches=term.switches, aliases=tuple(map(TIMES.join, term.aliases)))


def _column(layout: Layout, variants: Sequence[str], term: tuple[str, ...]) -> Floats:
    """±1 a variant: the product of the term's switches."""
    places = [layout.switches.index(name) for name in term]
    return np.array([np.prod([1.0 if layout.runs[variant][i] else -1.0 for i in places]) for variant in variants])


def _draft(
    question: Question,
    layout: Layout,
    terms: Sequence[Contrast],
    means: Mapping[cells.Key, Mapping[int, float]],
    failures: Failures,
) -> tuple[dict[str, Floats], str]:
    """One row's effects on the log scale by block, those that can be told; and why others cannot."""
    row = (question.workload, question.parameters, question.metric)
    held = {name: means.get((*row, name), {}) for name in layout.runs}
    faults = {name: cells.fault(question.workload, question.parameters, name, held[name], failures) for name in held}
    known = [name for name in layout.runs if not faults[name]]
    reason = "; ".join(fault for fault in faults.values() if fault) or "no block has every variant"
    blocks = sorted(set.intersection(*(set(held[name]) for name in known))) if known else []
    if not blocks:
        return {}, reason
    logs = np.log(np.array([[held[name][block] for name in known] for block in blocks]))
    return {name: logs @ weights for name, weights in _weights(layout, known, terms).items()}, reason


def _weights(layout: Layout, known: Sequence[str], terms: Sequence[Contrast]) -> dict[str, Floats]:
    """What to multiply a block's log values with for each effect that these variants can tell: least squares."""
    model = np.column_stack([np.ones(len(known)), *(_column(layout, known, term.switches) for term in terms)])
    inverse = np.linalg.pinv(model)
    # A coefficient can be told where the fit of a response made of it alone gives just that back.
    resolved = np.abs(inverse @ model - np.eye(model.shape[1])).max(axis=1) < 1e-9
    # From the mean to either side: on − off is twice the coefficient, a difference of such differences four times.
    scale = [2.0 ** len(term.switches) for term in terms]
    return {term.name: inverse[i] * scale[i - 1] for i, term in enumerate(terms, start=1) if resolved[i]}

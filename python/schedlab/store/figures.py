"""The single figures of a run's stretches: of a million of them the driver need not make a row for each.

SQLite can join a stretch's figures to one text. Decimals would lose digits on that way, whole numbers do not, and a
double is a whole number once it is multiplied by a large enough power of two. Which one is guessed from the stretch's
first trial, and SQLite says whether it was large enough for all. Where it was not, where not all trials have the same
metrics, and where a stretch is short, figures are read row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import frexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Integer, Select, and_, bindparam, case, cast, func, select

from schedlab.store import schema
from schedlab.store.stretches import LONG, Rows, Stretch, asked_often, rows_of

Samples = NDArray[np.float64]
Integers = NDArray[np.int64]

BITS = 57
"""Of the whole number that a stretch's first figure becomes. A double has 53 and SQLite's integers 63 beside the sign,
so that figures from 1/16 to 64 times as large find room as well."""


class Measured(NamedTuple):
    """What a metric is, beside its value."""

    name: str
    unit: str
    direction: str


class Figures(NamedTuple):
    """For each figure its trial's number, its metric as an index into ``kinds``, and its value; in no order."""

    kinds: Sequence[Measured]
    trial: Integers
    kind: Integers
    value: Samples


def figures(connection: Connection, held: Sequence[Stretch]) -> Figures:
    """All figures of the trials of these stretches; the metrics are those that there are, by name."""
    joined = list(_joined(connection, [one for one in held if one.last - one.first + 1 >= LONG]))
    done = {first for first, *_ in joined}
    single = _by_row(connection, [one for one in held if one.first not in done])
    kinds = sorted({*single.kinds, *chain.from_iterable(of for _, of, _ in joined)})
    place = {one: i for i, one in enumerate(kinds)}
    places = np.array([place[one] for one in single.kinds], np.int64)
    trial, kind, value = [single.trial], [places[single.kind]], [single.value]
    for first, of, values in joined:
        trial.append(np.repeat(np.arange(first, first + len(values)), len(of)))
        kind.append(np.tile([place[one] for one in of], len(values)))
        value.append(values.ravel())
    return Figures(kinds, np.concatenate(trial), np.concatenate(kind), np.concatenate(value))


def _joined(connection: Connection, held: Sequence[Stretch]) -> Iterator[tuple[int, list[Measured], Samples]]:
    """The stretches of which this can be read so: first trial's number, metrics, values (trials x metrics)."""
    m = schema.metric.c
    first_trial = select(m.name, m.unit, m.direction, m.value).where(m.trial_id == bindparam("first")).order_by(m.name)
    ask_first = asked_often(connection, first_trial)
    askers: dict[int, Callable[..., Rows]] = {}
    for one in held:
        lines = list(ask_first(first=one.first))
        kinds = [Measured(*line[:3]) for line in lines]
        shifts = [min(BITS - frexp(line[3])[1], 1023) for line in lines]
        if len(kinds) not in askers:
            askers[len(kinds)] = asked_often(connection, _whole_numbers(len(kinds)))
        given = {f"{name}{i}": told for i, kind in enumerate(kinds) for name, told in kind._asdict().items()}
        given |= {f"scale{i}": 2.0**shift for i, shift in enumerate(shifts)}
        count, exact, text = next(askers[len(kinds)](first=one.first, last=one.last, **given))
        trials = one.last - one.first + 1
        if count == exact == trials * len(kinds):
            whole = np.fromstring(text, np.int64, sep=",").reshape(trials, len(kinds))
            yield one.first, kinds, np.ldexp(whole.astype(np.float64), np.negative(shifts))


def _whole_numbers(kinds: int) -> Select[Any]:
    """Of the trials from ``first`` to ``last``: figures, how many are exact as whole numbers, these joined to a text.

    They are in the order of trials and then of names; figures of other metrics than the given ones are not exact.
    """
    m = schema.metric.c
    scales: list[tuple[Any, Any]] = [
        (and_(*(m[name] == bindparam(f"{name}{i}") for name in Measured._fields)), bindparam(f"scale{i}"))
        for i in range(kinds)
    ]
    scaled = (m.value * case(*scales)).label("scaled")
    span = m.trial_id.between(bindparam("first"), bindparam("last"))
    ordered = select(scaled).where(span).order_by(m.trial_id, m.name).subquery()
    whole = cast(ordered.c.scaled, Integer)
    return select(func.count(), func.sum(whole == ordered.c.scaled), func.group_concat(whole)).select_from(ordered)


def _by_row(connection: Connection, held: Sequence[Stretch]) -> Figures:
    """A number costs a row of the driver's far less than a text, so that the database says which metric it is."""
    kinds = _kinds(connection, _first_of_each(held))
    while True:
        found = _rows(connection, held, kinds)
        if not np.any(found.kind == len(kinds)):
            return found
        kinds = _kinds(connection, held)


def _first_of_each(held: Sequence[Stretch]) -> list[Stretch]:
    """A trial of each workload: the others have the same metrics, but for what could not be measured there."""
    first = {one.workload: one for one in reversed(held)}
    return sorted(one._replace(last=one.first) for one in first.values())


def _kinds(connection: Connection, held: Sequence[Stretch]) -> list[Measured]:
    m = schema.metric.c
    query = select(m.name, m.unit, m.direction).distinct()
    return sorted(Measured(*row) for row in rows_of(connection, query, m.trial_id, held))


def _rows(connection: Connection, held: Sequence[Stretch], kinds: Sequence[Measured]) -> Figures:
    """Those of other metrics than ``kinds`` have the index behind the last."""
    m = schema.metric.c
    known = [
        (and_(m.name == one.name, m.unit == one.unit, m.direction == one.direction), i) for i, one in enumerate(kinds)
    ]
    packed = m.trial_id * (len(kinds) + 1) + (case(*known, else_=len(kinds)) if known else 0)
    rows = rows_of(connection, select(packed, m.value), m.trial_id, held)
    # As doubles, which hold integers up to 2^53: pairs of one type become an array without an object for each.
    flat = np.fromiter(chain.from_iterable(rows), np.float64).reshape(-1, 2)
    trial, kind = np.divmod(flat[:, 0].astype(np.int64), len(kinds) + 1)
    return Figures(kinds, trial, kind, flat[:, 1].copy())

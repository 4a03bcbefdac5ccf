"""A run's trials as stretches: trials of one cell that follow each other, as the plan has a cell's iterations.

A million trials are some thousand stretches. What they share is read once for each, so that of the trials themselves
only figures need to leave the database; and what is summed over them needs no sorting.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast

from sqlalchemy import Column, Connection, Engine, Select, bindparam, func, or_, select

from schedlab.store import schema

OWN = ("run_id", "superseded")
"""Columns that say whether a trial is one of the run's, and was not measured again later."""

SHARED = ("phase", "block", "variant", "workload", "parameters", "state")
"""Columns of a trial that are the same in all of a stretch, as those of ``OWN`` are."""

COUNTED = ("position", "iteration")
"""Columns that rise by one from trial to trial of a stretch."""

LONG = 20
"""Trials of a stretch from which its figures are brought together in the database: a query for each stretch costs as
much as that many figures that are fetched."""

Rows = Iterator[tuple[Any, ...]]
"""As the driver has them: plain tuples."""


class Stretch(NamedTuple):
    """The trials of a run with the numbers (``trial.id``) from ``first`` to ``last``; some of these may not exist.

    ``position`` and ``iteration`` are those of ``first``; trial *n* has them *n* − ``first`` higher.
    """

    first: int
    last: int
    position: int
    iteration: int
    phase: str
    block: int
    variant: str
    workload: str
    parameters: str
    state: str

    @property
    def analysed(self) -> bool:
        """Whether its figures count: measured, not warm-up, and ended well."""
        return self.phase == "measure" and self.state == "ok"


def stretches(engine: Engine, run_id: int) -> list[Stretch]:
    """All trials of a run but those that were measured again later, in the order in which they were recorded."""
    t, before = schema.trial.c, schema.trial.alias("before")
    of_run = (t.run_id == run_id) & schema.current
    told = [t[name] for name in ("id", *COUNTED, *SHARED)]
    query = select(*told, of_run).join_from(schema.trial, before, before.c.id == t.id - 1, isouter=True)
    with engine.connect() as connection:
        low, high, count = connection.execute(select(func.min(t.id), func.max(t.id), func.count()).where(of_run)).one()
        if low is None:
            return []
        # Where only the run's own trials lie there, as they mostly do, they need not be told from others one by one.
        shared = SHARED if count == high - low + 1 else (*OWN, *SHARED)
        starts = or_(
            t.id == low,
            *(t[name].is_distinct_from(before.c[name]) for name in shared),
            *(t[name].is_distinct_from(before.c[name] + 1) for name in COUNTED),
        )
        lines = list(driver_rows(connection, query.where(t.id.between(low, high), starts).order_by(t.id)))
    lasts = [line[0] - 1 for line in lines[1:]] + [high]
    return [Stretch(line[0], last, *line[1:-1]) for line, last in zip(lines, lasts, strict=True) if line[-1]]


def rows_of(connection: Connection, query: Select[Any], key: Column[int], held: Iterable[Stretch]) -> Rows:
    """The rows of a query in which ``key`` is the number of a trial of the stretches, these one after the other."""
    spans: list[list[int]] = []
    for one in held:
        if spans and spans[-1][1] + 1 == one.first:
            spans[-1][1] = one.last
        else:
            spans.append([one.first, one.last])
    span = func.json_each(json.dumps(spans)).table_valued("value", name="span").c.value
    first, last = (func.json_extract(span, f"$[{i}]") for i in range(2))
    return driver_rows(connection, query.where(key.between(first, last)))


def rows_of_each(
    connection: Connection, query: Select[Any], key: Column[int], held: Iterable[Stretch]
) -> Iterator[tuple[Stretch, Rows]]:
    """The same by stretch, each of which is asked for alone."""
    ask = asked_often(connection, query.where(key.between(bindparam("first"), bindparam("last"))))
    for one in held:
        yield one, ask(first=one.first, last=one.last)


def asked_often(connection: Connection, query: Select[Any]) -> Callable[..., Rows]:
    """A query that takes its parameters by name; it is compiled once, and only its latest rows can be read."""
    made = query.compile(connection)
    text, cursor = str(made), cast("Any", connection.connection.cursor())

    def ask(**given: object) -> Rows:
        values = made.params | given
        return iter(cursor.execute(text, [values[name] for name in made.positiontup or ()]))

    return ask


def driver_rows(connection: Connection, query: Select[Any]) -> Rows:
    """A query's rows as the driver has them: a million Row objects would take longer than everything else."""
    made = query.compile(connection, compile_kwargs={"render_postcompile": True})
    cursor: Any = connection.connection.cursor()
    cursor.execute(str(made), [made.params[name] for name in made.positiontup or ()])
    return iter(cursor)

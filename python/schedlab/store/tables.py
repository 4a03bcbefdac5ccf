"""Reading printed tables back."""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter
from sqlalchemy import Engine, select

from schedlab.results import Table
from schedlab.store import schema


@cache
def _adapter() -> TypeAdapter[Table]:
    return TypeAdapter(Table)


def tables(engine: Engine, run_id: int) -> tuple[Table, ...]:
    """The printed tables of an imported run, in the order of their source; none for other runs."""
    p = schema.printed.c
    query = select(p.body).where(p.run_id == run_id).order_by(p.position)
    with engine.connect() as connection:
        return tuple(_adapter().validate_json(body) for body in connection.execute(query).scalars())

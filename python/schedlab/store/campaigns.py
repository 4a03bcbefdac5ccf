"""Campaigns of ``schedlab judge`` and their candidates. The blocks of a candidate are a run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from sqlalchemy import Engine, func, select, update
from sqlalchemy.exc import IntegrityError

from schedlab.errors import StoreError
from schedlab.store import schema
from schedlab.store.backends import snapshot, writing
from schedlab.store.checksums import checked, sealed

ATTEMPTS = 5
"""Attempts to number a candidate while other processes add candidates to the same campaign."""


@dataclass(frozen=True)
class Campaign:
    """A row of ``campaign``; see :data:`schedlab.store.tables.TABLES`. ``id`` is 0 before the row is stored."""

    name: str
    alpha: float
    delta: float
    blocks: int
    experiment_file: str
    experiment_path: str
    target: str = ""
    sysroot: str = ""
    opened: float = 0.0
    id: int = 0


@dataclass(frozen=True)
class Candidate:
    """A row of ``candidate``; see :data:`schedlab.store.tables.TABLES`."""

    id: int
    campaign_id: int
    position: int
    content: str
    name: str
    run_id: int | None
    holdout_id: int | None


def open_campaign(engine: Engine, campaign: Campaign) -> int:
    """Store a new campaign; return its number."""
    row = {field.name: getattr(campaign, field.name) for field in fields(campaign) if field.name != "id"}
    with writing(engine) as connection:
        return schema.insert_row(connection, schema.campaign, sealed("campaign", row | {"opened": time.time()}))


def campaign(engine: Engine, number: int | None) -> Campaign:
    """Return the campaign of this number, or the newest campaign; StoreError if the campaign does not exist."""
    c = schema.campaign.c
    query = select(schema.campaign).order_by(c.id.desc()).limit(1)
    with snapshot(engine) as connection:
        row = connection.execute(query if number is None else query.where(c.id == number)).mappings().first()
    if row is None:
        which = "no campaign" if number is None else f"no campaign {number}"
        todo = "'schedlab judge open --baseline FILE' opens a campaign"
        raise StoreError(f"the store contains {which}", where=str(engine.url.database), todo=todo)
    return Campaign(**_verified(engine, "campaign", row))


def candidates(engine: Engine, campaign: int) -> list[Candidate]:
    """Return the candidates of a campaign in the order of their first questions."""
    query = select(schema.candidate).where(schema.candidate.c.campaign_id == campaign)
    with snapshot(engine) as connection:
        rows = connection.execute(query.order_by(schema.candidate.c.position)).mappings().all()
    return [Candidate(**_verified(engine, "candidate", row)) for row in rows]


def candidate(engine: Engine, campaign: int, content: str, name: str) -> Candidate:
    """Return the candidate with this content. A new candidate gets the next position of the campaign.

    A known content keeps its first name.
    """
    c = schema.candidate.c
    number = select(func.coalesce(func.max(c.position), 0) + 1).where(c.campaign_id == campaign)
    for attempt in range(ATTEMPTS):
        stored = next((each for each in candidates(engine, campaign) if each.content == content), None)
        if stored is not None:
            return stored
        row: dict[str, Any] = {"campaign_id": campaign, "content": content, "name": name}
        try:
            with writing(engine) as connection:
                row["position"] = connection.execute(number).scalar_one()
                schema.insert_row(connection, schema.candidate, sealed("candidate", row))
        except IntegrityError:
            if attempt == ATTEMPTS - 1:
                raise
    return next(each for each in candidates(engine, campaign) if each.content == content)


def set_run(engine: Engine, candidate: int, run: int, which: Literal["run_id", "holdout_id"]) -> None:
    """Record the run with the candidate's blocks, or with its confirmation."""
    with writing(engine) as connection:
        connection.execute(update(schema.candidate).where(schema.candidate.c.id == candidate).values({which: run}))


def _verified(engine: Engine, table: str, row: Mapping[Any, Any]) -> dict[str, Any]:
    name = f"{table} {row['id']}"
    return {
        key: value for key, value in checked(str(engine.url.database), table, row, name).items() if key != "checksum"
    }

"""The row of a run, without its trials. This module loads no SQLAlchemy, because lists of runs are made often.

:mod:`schedlab.store.reader` has these functions for an engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args

from schedlab.errors import StoreError
from schedlab.results.kinds import IMPORTED
from schedlab.results.measurement import NOT_INHERITED, PARAMETERS, UNDOCUMENTED, UNMADE, UNSETTLED
from schedlab.store.checksums import Damaged, checked
from schedlab.store.tables import TABLES

if TYPE_CHECKING:
    from schedlab.store.design import StoredDesign

RunState = Literal["running", "complete", "interrupted", "refused"]

CHECKSUM_BYTES = 4
"""Size of a trial's checksum in ``cell``."""

LAST_SECOND = 253_402_300_800
"""Seconds from 1970 (UTC) to the year 10000, where Python's calendar ends."""

UNKNOWN_MACHINE = "-"
"""Hash of the fingerprint of a run whose machine is not described, such as an imported run."""

MOST_CHOSEN = 500
"""Numbers of runs that a query names; for more runs all are read."""


class Rows(Protocol):
    """A connection to a store, of its database's driver."""

    def read(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""

    def has_ended(self, run: int, process: str | None) -> bool:
        """Whether the process of a run in the state "running" has ended; ``process`` is the column of its row."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True)
class Run:
    """The row of a run; see :data:`schedlab.store.tables.TABLES` for the columns. ``recorded`` counts its trials.

    A run whose process has ended is ``interrupted``, even if the process could not record its end. ``store`` is the
    path or URL of the store, for messages.
    """

    id: int
    name: str
    target: str
    kind: str
    state: RunState
    seed: int
    quick: bool
    experiment_file: str
    experiment_path: str
    design_json: str = field(repr=False)
    planned: int
    recorded: int
    fingerprint: dict[str, Any]
    fingerprint_hash: str
    notes: list[str]
    changed: list[str]
    started: float
    finished: float | None
    version: str
    store: str

    @cached_property
    def design(self) -> StoredDesign:
        """The stored part of the plan; Damaged unless the row is valid."""
        from pydantic import ValidationError

        from schedlab.store.design import StoredDesign

        try:
            return StoredDesign.model_validate_json(self.design_json)
        except ValidationError as error:
            fault = error.errors()[0]
            reason = f"its {'.'.join(map(str, fault['loc'])) or 'design'}: {fault['msg']}"
            raise Damaged(f"run {self.id} is damaged: {reason}", self.store) from error

    def validated(self) -> Run:
        """Return the run after its design was validated; Damaged unless the design is valid."""
        _ = self.design
        return self

    @property
    def is_dated(self) -> bool:
        """Whether ``started`` is when the run was measured. Otherwise it is the time of the import of a source that
        states no date."""
        return self.kind != IMPORTED or self.finished is None

    @property
    def unsettled(self) -> list[str]:
        """The blocks that began before the machine had settled, with the reasons."""
        return [note.removeprefix(UNSETTLED) for note in self.notes if note.startswith(UNSETTLED)]

    @property
    def repeated(self) -> list[str]:
        """Notes that every report repeats: on knobs without an entry, tasks without the variant's policy, and changes
        of groups that did not come."""
        parts = (NOT_INHERITED, UNMADE)
        return [note for note in self.notes if note.startswith(UNDOCUMENTED) or any(part in note for part in parts)]

    @property
    def doubtful_parameters(self) -> list[str]:
        """Notes on boot parameters that may not have had an effect."""
        return [note.removeprefix(PARAMETERS) for note in self.notes if note.startswith(PARAMETERS)]


class DamagedRun(NamedTuple):
    """A run whose row is damaged, and the reason."""

    id: int
    reason: Damaged


def listing(rows: Rows, store: str) -> list[Run | DamagedRun]:
    """Return every run of a store, newest first; ``store`` is its path or URL."""
    return _listing(rows, store, "ORDER BY id DESC")


def _listing(rows: Rows, store: str, which: str) -> list[Run | DamagedRun]:
    listed: list[Run | DamagedRun] = []
    for row in _rows(rows, which):
        try:
            listed.append(_run(rows, row, store))
        except Damaged as error:
            listed.append(DamagedRun(row["id"], error))
    return listed


def marks(rows: Rows) -> dict[int, str]:
    """Return a text for each run, newest first, that changes when a complete run changes; empty for other runs."""
    query = "SELECT id, CASE WHEN state = 'complete' THEN checksum END, finished FROM run ORDER BY id DESC"
    return {number: "" if checksum is None else f"{checksum} {end}" for number, checksum, end in rows.read(query)}


def chosen(rows: Rows, store: str, numbers: Sequence[int]) -> list[Run | DamagedRun]:
    """Return the runs of these numbers that exist, newest first."""
    if len(numbers) > MOST_CHOSEN:
        wanted = set(numbers)
        return [run for run in listing(rows, store) if run.id in wanted]
    return _listing(rows, store, f"WHERE id IN ({', '.join(f'{number:d}' for number in numbers)}) ORDER BY id DESC")


def run(rows: Rows, store: str, run_id: int | None) -> Run:
    """Return the run of this number, or the newest run; StoreError when the run does not exist or is damaged.

    Unlike :func:`listing`, this function also validates the design.
    """
    which = "ORDER BY id DESC LIMIT 1" if run_id is None else f"WHERE id = {run_id:d}"
    for row in _rows(rows, which):
        return _run(rows, row, store).validated()
    if run_id is None:
        todo = "make a run with 'schedlab run FILE' or 'schedlab import PATH'"
        raise StoreError("the store contains no run yet", where=store, todo=todo)
    raise StoreError(f"the store contains no run {run_id}", where=store, todo="'schedlab store list' lists its runs")


def _rows(rows: Rows, which: str) -> Iterator[dict[str, Any]]:
    """Yield rows of ``run`` with ``recorded``, the number of trials that were not measured again, and ``declared``, the
    number of trials whose values the cells contain."""
    current = "WHERE run_id = run.id AND superseded = 0"
    recorded = f"SELECT count(*) FROM cell JOIN trial ON cell.id = trial.cell_id {current}"
    declared = f"SELECT coalesce(sum(length(checksums)), 0) / {CHECKSUM_BYTES} FROM cell {current}"
    columns = [column.name for column in TABLES["run"]]
    query = f"SELECT {', '.join(columns)}, ({recorded}), ({declared}) FROM run {which}"
    for values in rows.read(query):
        yield dict(zip((*columns, "recorded", "declared"), values, strict=True))


def _run(rows: Rows, row: Mapping[str, Any], store: str) -> Run:
    """Return a run from its row; Damaged unless the row is valid. The design of a run is validated when the design
    is read."""
    name = f"run {row['id']}"
    checked(store, "run", row, name)
    fields = {column: row[column] for column in row if column not in ("process", "checksum", "design", "declared")}
    if row["state"] == "running" and rows.has_ended(row["id"], row["process"]):
        fields["state"] = "interrupted"
    try:
        fields |= {"seed": int(row["seed"]), "quick": bool(row["quick"])}
        fields |= {column: json.loads(row[column]) for column in ("fingerprint", "notes", "changed")}
        fault = next((column for column, valid in _validity(fields) if not valid), None)
        reason = f"its {fault} is impossible" if fault else _missing_trials(row)
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error)
    if reason:
        raise Damaged(f"{name} is damaged: {reason}", store)
    return Run(**fields, design_json=row["design"], store=store)


def _missing_trials(row: Mapping[str, Any]) -> str:
    """The fault of a complete run whose trials do not have their number; empty without a fault, and while a run goes
    on.

    A checksum protects each row, but not against the deletion of the row.
    """
    if row["state"] != "complete":
        return ""
    # A sequential run may have ended at an interim analysis. Searches and candidates' runs end when they are decided.
    design = json.loads(row["design"])
    ends_early = not isinstance(design, dict) or any(map(design.get, ("looks", "bisection", "candidate", "tuning")))
    planned = row["recorded"] if ends_early else row["planned"]
    if row["recorded"] == row["declared"] == planned:
        return ""
    return f"{row['recorded']} trials of {planned} are stored, with the values of {row['declared']}"


def _validity(fields: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield each column that may contain an impossible value, and whether its value is possible."""
    yield "state", fields["state"] in get_args(RunState)
    yield "planned", fields["planned"] >= 0
    yield "seed", 0 <= fields["seed"] < 1 << 64
    yield "fingerprint", isinstance(fields["fingerprint"], dict)
    for column in ("notes", "changed"):
        texts = fields[column]
        yield column, isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    for column in ("started", "finished"):
        seconds = fields[column]
        # The checksum does not cover "finished".
        yield column, (column == "finished" and seconds is None) or 0 <= seconds < LAST_SECOND

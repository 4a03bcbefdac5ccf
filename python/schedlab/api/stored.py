"""``schedlab.open_store``: the runs of a store, their figures as polars frames, and their reports."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from schedlab.api import arguments
from schedlab.errors import StoreError
from schedlab.store import file, reader

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Engine

    from schedlab.execution.bisection import Bisection
    from schedlab.findings.run import Findings
    from schedlab.findings.sweep import SweepFindings
    from schedlab.findings.tuning import Tuned
    from schedlab.report.answer import Answer
    from schedlab.report.document import Report as Document


class Report:
    """A report. A notebook shows the report as the HTML page. ``document`` has every field of the JSON."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def verdicts(self) -> pl.DataFrame:
        """The rows of the JSON report, a line for each row and variant. Parameters are JSON."""
        import polars as pl

        rows = [row.model_dump() for row in self.document.rows]
        plain = [{key: json.dumps(x) if isinstance(x, dict | list) else x for key, x in row.items()} for row in rows]
        return pl.DataFrame(plain, infer_schema_length=None)

    @property
    def answer(self) -> Answer:
        """The document that every format renders."""
        from schedlab.report.answers.report import compose

        return compose(self.document)

    def to_text(self, width: int = 80) -> str:
        """Return the text that ``schedlab report`` prints."""
        from schedlab.report.render import text

        return text.to_text(self.answer, width)

    def to_html(self) -> str:
        """Return the report as one HTML page that needs no other file."""
        from schedlab.report.render import html

        return html.render(self.answer)

    def to_json(self) -> str:
        """Return the report as JSON; ``docs/schemas/report.schema.json`` is its schema."""
        from schedlab.report.render import json

        return json.render(self.answer)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        page = escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 45em; border: 0"></iframe>'


class StoredRun:
    """A run in a store. ``facts`` has its name, target, machine, state, random seed and notes."""

    def __init__(self, engine: Engine, facts: reader.Run) -> None:
        self._engine = engine
        self.facts = facts

    @property
    def number(self) -> int:
        """The number of the run in its store."""
        return self.facts.id

    @property
    def started(self) -> datetime:
        """When the run began (UTC)."""
        return datetime.fromtimestamp(self.facts.started, UTC)

    @property
    def finished(self) -> datetime | None:
        """When the run ended (UTC); None before its end."""
        return None if self.facts.finished is None else datetime.fromtimestamp(self.facts.finished, UTC)

    @cached_property
    def measurements(self) -> pl.DataFrame:
        """All samples of all metrics, one a line; the columns of ``schedlab report --format csv --samples``."""
        from schedlab.store.columns import sample_table, variants_of

        return sample_table(self._engine, variants_of(self.facts))

    @cached_property
    def counters(self) -> pl.DataFrame:
        """The kernel's counters: means over the trials of each block."""
        return reader.counters(self._engine, self.number)

    @cached_property
    def findings(self) -> Findings | SweepFindings | Tuned | Bisection:
        """What the run shows, computed from the stored samples: verdicts and warnings, or the result of a sweep, of a
        search for the best values, or of a bisection."""
        purpose = self.facts.design.purpose
        if purpose.sweep:
            from schedlab.findings.sweep import sweep_findings

            return sweep_findings(self._engine, self.number)
        if purpose.tuning:
            from schedlab.findings.tuning import tuned

            return tuned(self._engine, self.number)
        if purpose.bisection:
            from schedlab.execution.bisection import bisection

            return bisection(self._engine, self.facts)
        return self._judged()

    def _judged(self) -> Findings:
        from schedlab.findings.run import findings

        return findings(self._engine, self.facts)

    @cached_property
    def report(self) -> Report:
        """The report with the verdicts, and with plots for its HTML page."""
        from schedlab.report.build import build
        from schedlab.store.columns import columns, variants_of

        sampled = [column for column in variants_of(self.facts) if self.facts.design.questions]
        samples = columns(self._engine, sampled)
        return Report(build(self._judged(), samples=samples, plots=True))

    @property
    def verdicts(self) -> pl.DataFrame:
        """Return :attr:`Report.verdicts` of the report."""
        return self.report.verdicts

    def __repr__(self) -> str:
        return f"<run {self.number}: {self.facts.name} on {self.facts.target}, {self.facts.state}>"


class Store:
    """A store; ``store[3]`` is run 3, ``store[-1]`` the newest run, ``store["pg"]`` the newest run of this name."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def runs(self) -> pl.DataFrame:
        """The runs, newest first: number, name, state, target, kind, numbers of trials, size, times (UTC), version."""
        import polars as pl

        columns: dict[str, type[pl.DataType] | pl.DataType] = {
            "run": pl.Int64, "name": pl.String, "state": pl.String, "target": pl.String, "kind": pl.String,
            "planned": pl.Int64, "recorded": pl.Int64, "quick": pl.Boolean, "started": pl.Datetime("us", "UTC"),
            "finished": pl.Datetime("us", "UTC"), "version": pl.String,
        }  # fmt: skip
        rows = [
            (run.number, *(getattr(run.facts, name) for name in list(columns)[1:8]), run.started, run.finished,
             run.facts.version)
            for run in (StoredRun(self._engine, facts) for facts in reader.runs(self._engine))
        ]  # fmt: skip
        return pl.DataFrame(rows, schema=columns, orient="row")

    def __getitem__(self, key: int | str) -> StoredRun:
        if isinstance(key, int):
            return StoredRun(self._engine, reader.run(self._engine, None if key == -1 else key))
        for run in reader.runs(self._engine):
            if run.name == key:
                return StoredRun(self._engine, run)
        todo = "'runs' lists the runs"
        raise StoreError(f"the store contains no run {key!r}", where=str(self._engine.url.database), todo=todo)

    def __len__(self) -> int:
        return len(reader.runs(self._engine))


def open_store(store: arguments.Store = None) -> Store:
    """Open a store for reading.

    Args:
        store: a path, ``sqlite:///PATH``, or ``postgresql://HOST/DATABASE``; default ``$SCHEDLAB_STORE`` or the store
            of the command line.

    Raises:
        StoreError: there is no store, or it is damaged, or the URL contains a password or names another database.
    """
    return Store(file.open_store(arguments.store_of(store), create=False))

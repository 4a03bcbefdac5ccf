"""schedlab from Python: stores as polars frames, reports as objects, and runs of experiments.

``schedlab.open_store`` and ``schedlab.run`` are imported from here when they are first used.
"""

from __future__ import annotations

import json
import os
import secrets
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.files import folders
from schedlab.store import file, location, reader

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Engine

    from schedlab.experiment.model import Experiment
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
    """A run in a store. ``facts`` has its name, target, machine, state, random seed and times."""

    def __init__(self, engine: Engine, facts: reader.Run) -> None:
        self._engine = engine
        self.facts = facts

    @property
    def number(self) -> int:
        """The number of the run in its store."""
        return self.facts.id

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
    def report(self) -> Report:
        """The report, judged from the stored samples, with plots for its HTML page."""
        from schedlab.findings.run import findings
        from schedlab.report.build import build
        from schedlab.store.columns import columns, variants_of

        sampled = [column for column in variants_of(self.facts) if self.facts.design.questions]
        samples = columns(self._engine, sampled)
        return Report(build(findings(self._engine, self.facts), samples=samples, plots=True))

    @property
    def verdicts(self) -> pl.DataFrame:
        """Return :attr:`Report.verdicts` of the report."""
        return self.report.verdicts

    def __repr__(self) -> str:
        return f"<run {self.number}: {self.facts.name} on {self.facts.target}, {self.facts.state}>"


class Store:
    """A store; ``store[3]`` is run 3, ``store[-1]`` the newest run."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def runs(self) -> pl.DataFrame:
        """The runs, newest first: number, name, state, target, kind, random seed, times (seconds since 1970, UTC)."""
        import polars as pl

        names = (
            "id",
            "name",
            "state",
            "target",
            "kind",
            "planned",
            "recorded",
            "quick",
            "started",
            "finished",
            "version",
        )
        rows = [{name: getattr(run, name) for name in names} for run in reader.runs(self._engine)]
        return pl.DataFrame(rows, infer_schema_length=None).rename({"id": "run"} if rows else {})

    def __getitem__(self, number: int) -> StoredRun:
        return StoredRun(self._engine, reader.run(self._engine, None if number == -1 else number))

    def __len__(self) -> int:
        return len(reader.runs(self._engine))


def open_store(url: str | os.PathLike[str] | None = None) -> Store:
    """Open a store for reading.

    Args:
        url: a path, ``sqlite:///PATH``, or ``postgresql://HOST/DATABASE``; default ``$SCHEDLAB_STORE`` or the store
            of the command line.

    Raises:
        StoreError: there is no store, or it is damaged, or the URL contains a password or names another database.
    """
    return Store(file.open_store(_location(url), create=False))


def run(
    experiment: Experiment | str | os.PathLike[str],
    *,
    store: str | os.PathLike[str] | None = None,
    target: str | None = None,
    quick: bool = False,
    seed: int | None = None,
) -> StoredRun:
    """Run an experiment, store its trials, and return the run. Call this function in the main thread, because the
    function handles signals.

    Args:
        experiment: the path of an experiment file, its TOML text (with a newline), or an ``Experiment``.
        store: as for :func:`open_store`; a missing store is made.
        target: as ``--target``; default the target of the file.
        quick: the smallest useful size.
        seed: random seed; default the seed of the file, or a new seed.

    Raises:
        ExperimentError: the experiment has mistakes.
        CannotRunHere: a requirement is missing; nothing was changed.
    """
    from schedlab.execution.design_size import quick as smallest
    from schedlab.execution.loop import execute, require_runnable
    from schedlab.experiment import load
    from schedlab.experiment.plan import plan
    from schedlab.store import writer
    from schedlab.targets.selection import choose, table_of
    from schedlab.tunables import recover, restore_on_signals

    if isinstance(experiment, str) and "\n" in experiment:
        parsed, text, path = load.parse(experiment, "experiment"), experiment, "experiment"
    elif isinstance(experiment, str | os.PathLike):
        (parsed, text), path = load.load(Path(experiment)), os.fspath(experiment)
    else:
        parsed, text, path = experiment, experiment.model_dump_json(exclude_defaults=True), "experiment"
    parsed = smallest(parsed, table_of(target, parsed)) if quick else parsed
    seed = parsed.design.seed if seed is None else seed
    trials = plan(parsed, secrets.randbits(32) if seed is None else seed, quick=quick)
    chosen = choose(target, parsed, None)
    recover(folders.journals())
    require_runnable(trials, chosen)
    engine = file.open_store(_location(store), create=True)
    fingerprint = chosen.fingerprint()
    machine = chosen.fingerprint_hash(fingerprint)
    new = writer.NewRun(trials, chosen.name, chosen.kind, quick, text, path, fingerprint, machine)
    number = writer.begin(engine, new)
    with restore_on_signals():
        execute(trials, chosen, engine, number, lambda trial, measurement: None)
    return StoredRun(engine, reader.run(engine, number))


def _location(url: str | os.PathLike[str] | None) -> location.Location:
    return location.default() if url is None else location.location(url)

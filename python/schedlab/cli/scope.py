"""What a report is about: the words of a command as columns, judged when a format asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from schedlab.analysis.columns import Columns
    from schedlab.findings import Findings
    from schedlab.store.columns import Chosen
    from schedlab.store.gathering import Gathered
    from schedlab.store.reading import Run


class Judge(Protocol):
    """Makes findings; ``gathered`` are the figures of its only run where they have been read."""

    def __call__(self, gathered: Gathered | None = None) -> Findings:
        """Judge, once."""


@dataclass
class Scope:
    """What a report is about: columns of a store, and how their findings are made. ``store`` is named in commands."""

    engine: Engine
    chosen: Sequence[Chosen]
    judge: Judge
    store: Path | None
    _gathered: Gathered | None = field(default=None, init=False)

    @cached_property
    def findings(self) -> Findings:
        """Judged once, and only if the format shows verdicts."""
        return self.judge(self._gathered)

    @cached_property
    def samples(self) -> Columns:
        """The samples side by side. Whoever shows them and verdicts asks for them first: one pass reads for both."""
        from schedlab.store.columns import columns
        from schedlab.store.gathering import gather

        held = [column for column in self.chosen if column.run.design.questions]
        runs = {column.run.id for column in held if column.store is None and column.run.design.paired}
        if len(runs) != 1 or len(runs) != len({(column.store, column.run.id) for column in held}):
            return columns(self.engine, held)
        gathered = {run_id: gather(self.engine, run_id) for run_id in runs}
        self._gathered = next(iter(gathered.values()))
        return columns(self.engine, held, gathered=gathered)


def scope_of(engine: Engine, words: list[str], baseline: str | None, store: Path | None, *, ranks: bool) -> Scope:
    """What the words of a report mean: one run as a whole, or columns of several."""
    from schedlab.comparison.refusing import refuse
    from schedlab.store import reading, selection
    from schedlab.store.columns import variants_of

    def together(chosen: Sequence[Chosen]) -> Scope:
        named = selection.named_apart(chosen)
        named = selection.with_baseline(named, baseline) if baseline else named
        refuse(named)
        return Scope(engine, named, lambda gathered=None: compared(engine, named, ranks=ranks), store)

    if len(words) > 1:
        return together([column for word in words for column in selection.select(engine, word)])
    run = selection.one_run(engine, words[0]) if words else reading.run(engine, None)
    if not words and run.design.questions and not run.design.paired:
        beside = selection.imported_beside(engine, run)
        if len(beside) > 1:
            return together(beside)
    columns = variants_of(run)
    if baseline and baseline != columns[0].name:
        # The control is the first variant once more: it is none for another baseline.
        return together([column for column in columns if column.variant != run.design.control])
    return Scope(engine, columns, lambda gathered=None: judged(engine, run, gathered), store)


def compared(engine: Engine, chosen: Sequence[Chosen], *, ranks: bool) -> Findings:
    """Findings over columns; what judges is loaded only when a format asks for verdicts."""
    from schedlab.comparison.comparing import compare

    return compare(engine, chosen, ranks=ranks)


def judged(engine: Engine, run: Run, gathered: Gathered | None) -> Findings:
    """Findings of one run, loaded as late; ``gathered`` are its figures where those were read already."""
    from schedlab.store.stretches import stretches

    with loading("schedlab.findings"):
        trials = gathered.all if gathered else stretches(engine, run.id)
    from schedlab.findings import findings

    return findings(engine, run, gathered, trials)


@contextmanager
def loading(*modules: str) -> Iterator[None]:
    """Load modules while the block waits for the database, which works without Python's lock."""
    with ThreadPoolExecutor(1) as aside:
        loaded = [aside.submit(import_module, name) for name in modules]
        yield
    for one in loaded:
        one.result()

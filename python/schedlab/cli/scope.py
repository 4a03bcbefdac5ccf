"""What a report is about: the words of a command as columns, judged when a format asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from schedlab.analysis.distributions import Columns
    from schedlab.findings import Findings
    from schedlab.store.columns import Chosen
    from schedlab.store.reading import Run


@dataclass
class Scope:
    """What a report is about: columns of a store, and how their findings are made. ``store`` is named in commands."""

    engine: Engine
    chosen: Sequence[Chosen]
    judge: Callable[[], Findings]
    store: Path | None

    @cached_property
    def findings(self) -> Findings:
        """Judged once, and only if the format shows verdicts."""
        return self.judge()

    @cached_property
    def samples(self) -> Columns:
        """The samples side by side."""
        from schedlab.store.columns import columns

        return columns(self.engine, [column for column in self.chosen if column.run.design.questions])


def scope_of(engine: Engine, words: list[str], baseline: str | None, store: Path | None, *, ranks: bool) -> Scope:
    """What the words of a report mean: one run as a whole, or columns of several."""
    from schedlab.comparison.refusing import refuse
    from schedlab.store import reading, selection
    from schedlab.store.columns import variants_of

    def together(chosen: Sequence[Chosen]) -> Scope:
        named = selection.named_apart(chosen)
        named = selection.with_baseline(named, baseline) if baseline else named
        refuse(named)
        return Scope(engine, named, lambda: compared(engine, named, ranks=ranks), store)

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
    return Scope(engine, columns, lambda: judged(engine, run), store)


def compared(engine: Engine, chosen: Sequence[Chosen], *, ranks: bool) -> Findings:
    """Findings over columns; what judges is loaded only when a format asks for verdicts."""
    from schedlab.comparison.comparing import compare

    return compare(engine, chosen, ranks=ranks)


def judged(engine: Engine, run: Run) -> Findings:
    """Return the findings of one run; the modules that judge are loaded only when a format asks for verdicts."""
    from schedlab.findings import findings

    return findings(engine, run)

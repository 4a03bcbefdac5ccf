"""The subject of a report: the words of a command as columns, judged when a format needs verdicts."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Columns of a store, or a whole run. Modules that judge are loaded only if a format needs verdicts.

    Attributes:
        engine: the store of the columns that name no other.
        chosen: the columns, the baseline first.
        store: path of the store, for commands in the report.
        ranks: whether verdicts on unpaired columns include a rank test.
        run: the run, if the report is on a single run and all of its variants.
    """

    engine: Engine
    chosen: Sequence[Chosen]
    store: Path | None
    ranks: bool = True
    run: Run | None = None

    @cached_property
    def findings(self) -> Findings:
        """The verdicts and warnings."""
        if self.run is not None:
            from schedlab.findings import findings

            return findings(self.engine, self.run)
        from schedlab.comparison.judging import compare

        return compare(self.engine, self.chosen, ranks=self.ranks)

    @cached_property
    def samples(self) -> Columns:
        """The samples of the columns."""
        from schedlab.store.columns import columns

        return columns(self.engine, [column for column in self.chosen if column.run.design.questions])


def scope_of(engine: Engine, words: list[str], baseline: str | None, store: Path | None, *, ranks: bool) -> Scope:
    """Return the scope of a report's arguments: one run, or columns of several."""
    from schedlab.comparison.columns import refuse
    from schedlab.store import reading, selection
    from schedlab.store.columns import variants_of

    def several(chosen: Sequence[Chosen]) -> Scope:
        named = selection.named_apart(chosen)
        named = selection.with_baseline(named, baseline) if baseline else named
        refuse(named)
        return Scope(engine, named, store, ranks)

    if len(words) > 1:
        return several([column for word in words for column in selection.select(engine, word)])
    run = selection.one_run(engine, words[0]) if words else reading.run(engine, None)
    if not words and run.design.questions and not run.design.paired:
        imported = selection.imported_beside(engine, run)
        if len(imported) > 1:
            return several(imported)
    columns = variants_of(run)
    if baseline and baseline != columns[0].name:
        # The control repeats variant 1; it is no control of another baseline.
        return several([column for column in columns if column.variant != run.design.control])
    return Scope(engine, columns, store, ranks, run)

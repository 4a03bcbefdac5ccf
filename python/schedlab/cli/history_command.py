"""``schedlab history``: the levels of rows over many runs."""

from __future__ import annotations

from typing import Annotated

import typer

from schedlab.cli.answering import AnswerForm, AnswerFormat, present
from schedlab.cli.options import Output, Store, store_path


def history(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD...",
            help="Words of workload, parameters, metric, variant, experiment or machine; a row must contain all.",
        ),
    ] = None,
    store: Store = None,
    form: AnswerForm = AnswerFormat.TEXT,
    output: Output = None,
) -> None:
    """Show how rows of a machine changed over the runs of a store: means, intervals, and the runs of changes.

    A list of all rows that contain the words; if only one row contains them, all its runs. Complete runs of full size
    are counted, but not quick runs, imports, sweeps and searches.
    """
    from schedlab.errors import SchedlabError
    from schedlab.findings.history import histories
    from schedlab.report.answers.history import compose
    from schedlab.store import reader
    from schedlab.store.file import open_store

    engine = open_store(store_path(store), create=False)
    found = histories(engine, reader.runs(engine), words or [])
    if not found:
        what = f"no row contains {' and '.join(map(repr, words))}" if words else "no run of the store has a history"
        todo = "without words, 'schedlab history' lists all rows" if words else "runs count when they are complete"
        raise SchedlabError(what, where=str(engine.url.database), todo=todo)
    present(compose(found), form, output)

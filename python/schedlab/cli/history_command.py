"""``schedlab history``: the levels of rows over many runs."""

from __future__ import annotations

from typing import Annotated

import typer

from schedlab.cli.answering import AnswerForm, AnswerFormat, present
from schedlab.cli.gate import FailOn, history_code
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
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            help="Exit with status 1 if the newest change of a row is for the worse, and with 2 if no row has enough "
            "runs to show a change.",
        ),
    ] = None,
) -> None:
    """Show how rows of a machine changed over the runs of a store: means, intervals, and the runs of changes.

    A list of all rows that contain the words; if only one row contains them, all its runs. Complete runs of full size
    and imported samples are counted, but not quick runs, sweeps and searches.
    """
    from schedlab.api import reading
    from schedlab.report.answers.history import compose

    found = reading.history(*words or (), store=store_path(store))
    present(compose(found), form, output)
    if fail_on is not None:
        raise typer.Exit(history_code(found))

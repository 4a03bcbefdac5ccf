"""``schedlab sim reproduce``: five published reports, simulated and scored."""

from __future__ import annotations

from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.answering import AnswerForm, AnswerFormat, present
from schedlab.cli.options import NoStore, Output, Store, lasting, measured_path


def reproduce(
    reports: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REPORT...",
            autocompletion=complete.reports,
            help="Names or numbers of reports (000 to 004); default all.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few rows of each table, in about a minute.")] = False,
    scores: Annotated[bool, typer.Option("--scores", help="Print the scores without the reports' tables.")] = False,
    guest: Annotated[
        bool, typer.Option("--guest", help="Also count on a real kernel in deterministic guests, which takes minutes.")
    ] = False,
    store: Store = None,
    no_store: NoStore = False,
    form: AnswerForm = AnswerFormat.TEXT,
    output: Output = None,
) -> None:
    """Simulate five published reports, and score the predictions against the published figures.

    Skill is 1 - mean error / mean error of predicting no change. Simulations in the store are not repeated.
    """
    from schedlab.api import modelling
    from schedlab.cli.console import make
    from schedlab.cli.watching import Shown
    from schedlab.report.answers.reproduction import compose

    where = measured_path(store, no_store=no_store)
    message = "\ninterrupted" if where.temporary else "\ninterrupted; the same command goes on"
    watch = Shown(make(stderr=True), interrupted=message)
    results = modelling.reproduce(*reports or (), quick=quick, guest=guest, store=where, watch=watch)
    present(compose(results, lasting(where), tables=not scores), form, output)

"""``schedlab sim predict``: an experiment on a model, with intervals from the model's earlier errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.answering import AnswerForm, AnswerFormat, present
from schedlab.cli.options import Output, Store, lasting, store_path


def predict(
    file: Annotated[Path, typer.Argument(help="The experiment file (TOML).")],
    machine: Annotated[
        str,
        typer.Option("--on", metavar="MACHINE", autocompletion=complete.machines, help="The model: a name or a file."),
    ],
    kernel: Annotated[
        str | None,
        typer.Option(autocompletion=complete.kernels, help="The kernel model; default the model of the comparisons."),
    ] = None,
    blocks: Annotated[int | None, typer.Option(metavar="N", help="Number of blocks instead of the file's.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed; default the file's, or a new seed.")] = None,
    store: Store = None,
    form: AnswerForm = AnswerFormat.TEXT,
    output: Output = None,
) -> None:
    """Predict an experiment's figures on a machine by its model, with intervals.

    The intervals contain the errors of earlier comparisons ('schedlab sim twin') of this model with its machine, in the
    store. Without comparisons, or if the model predicted no better than "nothing changes", nothing is predicted.
    """
    from schedlab.api import modelling
    from schedlab.cli.console import make
    from schedlab.cli.interruption import INTERRUPTED
    from schedlab.cli.watching import Shown
    from schedlab.report.answers.prediction import compose

    where, watch = store_path(store), Shown(make(stderr=True), interrupted=INTERRUPTED)
    predicted = modelling.predict(file, machine, kernel=kernel, blocks=blocks, seed=seed, store=where, watch=watch)
    present(compose(predicted, machine, lasting(where)), form, output)

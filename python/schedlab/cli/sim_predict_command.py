"""``schedlab sim predict``: an experiment on a model, with intervals from the model's earlier errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.options import GivenFormat, OutputFormat, Store, store_path


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
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Predict an experiment's figures on a machine by its model, with intervals.

    The intervals contain the errors of earlier comparisons ('schedlab sim twin') of this model with its machine, in the
    store. Without comparisons, or if the model predicted no better than "nothing changes", nothing is predicted.
    """
    from schedlab.cli import prediction_run
    from schedlab.cli.console import make
    from schedlab.cli.json_output import print_json
    from schedlab.cli.report_output import present_text
    from schedlab.experiment.changes import Changes
    from schedlab.report import prediction

    wanted = prediction_run.Wanted(file, Changes(blocks, None, None, (), ()), machine, kernel, seed)
    results = prediction_run.predict(wanted, store_path(store), make(stderr=True))
    if form is OutputFormat.JSON:
        print_json(prediction.to_json(*results))
    else:
        present_text(prediction.render(*results), None)

"""``schedlab sim twin``: an experiment on a machine and on the machine's model, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.answering import AnswerForm, AnswerFormat, present
from schedlab.cli.options import NoStore, Output, SshConfig, Store, lasting, measured_path, store_path


def twin(
    file: Annotated[Path | None, typer.Argument(help="The experiment file (TOML).")] = None,
    runs: Annotated[
        str | None,
        typer.Option(metavar="MEASURED,PREDICTED", help="Compare two runs of the store instead of running a file."),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete.machines,
            help="The model: a shipped machine or a TOML file; default: this machine's costs are measured between the "
            "trials.",
        ),
    ] = None,
    calibrated: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Without --machine: write the machine file with the measured costs here."),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete.kernels, help="The kernel model; default the nearest to the running kernel."
        ),
    ] = None,
    target: Annotated[
        str, typer.Option("--target", metavar="TARGET", help="The machine: host or ssh:[USER@]HOST[:PORT].")
    ] = "host",
    quick: Annotated[bool, typer.Option("--quick", help="As many blocks as a verdict needs.")] = False,
    blocks: Annotated[int | None, typer.Option(metavar="N", help="Number of blocks instead of the file's.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed; default the file's, or a new seed.")] = None,
    store: Store = None,
    no_store: NoStore = False,
    ssh_config: SshConfig = None,
    form: AnswerForm = AnswerFormat.TEXT,
    output: Output = None,
) -> None:
    """Run an experiment on this machine and on a model of it, and compare measured with predicted figures.

    Says how well the model predicts the directions and sizes of the variants' effects, and the levels, and where the
    model spends the CPU time of the largest misses.
    """
    import os

    from schedlab.api import modelling
    from schedlab.cli.console import make
    from schedlab.cli.watching import Shown
    from schedlab.report.answers.twin import compose

    if ssh_config is not None:
        os.environ["SCHEDLAB_SSH_CONFIG"] = str(ssh_config)
    where = store_path(store) if runs is not None else measured_path(store, no_store=no_store)
    compared = modelling.twin(
        file, runs=None if runs is None else _pair(runs), machine=machine, calibrated=calibrated, kernel=kernel,
        target=target, quick=quick, blocks=blocks, seed=seed, store=where, watch=Shown(make(stderr=True)),
    )  # fmt: skip
    present(compose(compared, lasting(where)), form, output)


def _pair(runs: str) -> tuple[int, int]:
    """Return the numbers of two runs."""
    from schedlab.errors import SchedlabError

    numbers = runs.split(",")
    if len(numbers) != 2 or not all(number.strip().isdecimal() for number in numbers):
        raise SchedlabError(f"{runs!r} are not two runs", where="--runs", todo="write the numbers: --runs 3,4")
    return int(numbers[0]), int(numbers[1])

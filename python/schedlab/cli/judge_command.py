"""``schedlab judge``: a judge for programs that search, however many candidates the program tries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.api.defaults import HOLDOUT
from schedlab.cli.answering import AnswerForm, AnswerFormat
from schedlab.cli.commands import Commands
from schedlab.cli.options import GivenTarget, Output, Store, Sysroot, store_path

app = Commands(help="Judge the candidates of a program that searches; the chance of any false verdict is bounded.")

GivenCampaign = Annotated[
    int | None, typer.Option("--campaign", metavar="N", help="Number of the campaign; default the newest.")
]


@app.command("open")
def open_(
    baseline: Annotated[
        Path, typer.Option("--baseline", metavar="FILE", help="Experiment file with the baseline as its one variant.")
    ],
    alpha: Annotated[
        float, typer.Option(min=1e-6, max=0.5, help="Chance of any false verdict over the whole campaign.")
    ] = 0.05,
    delta: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Margin of equivalence; default the file's, or 1%.")
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Fresh blocks of a question; default the file's.")
    ] = None,
    store: Store = None,
    target: GivenTarget = None,
    sysroot: Sysroot = None,
    form: AnswerForm = AnswerFormat.JSON,
    output: Output = None,
) -> None:
    """Open a campaign: its baseline, its workload, and the chance of any false verdict."""
    from schedlab.cli import judge_run

    judge_run.open_campaign(baseline, alpha, delta, blocks, store_path(store), target, sysroot, form, output)


@app.command()
def ask(
    candidate: Annotated[Path, typer.Argument(help="A TOML file with the keys of one variant at the top level.")],
    campaign: GivenCampaign = None,
    blocks: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Fresh blocks; default the campaign's. 0 measures nothing.")
    ] = None,
    store: Store = None,
    form: AnswerForm = AnswerFormat.JSON,
    output: Output = None,
) -> None:
    """Measure a candidate against the baseline in fresh blocks, and print what all its blocks show.

    A candidate with the same content continues its earlier evidence. A candidate with a verdict is not measured again.
    """
    from schedlab.cli import judge_run

    raise typer.Exit(judge_run.ask_and_print(store_path(store), campaign, candidate, blocks, form, output))


@app.command()
def confirm(
    campaign: GivenCampaign = None,
    name: Annotated[
        str | None, typer.Option("--candidate", metavar="NAME", help="Default the best of the better candidates.")
    ] = None,
    blocks: Annotated[
        int, typer.Option(metavar="N", min=6, help="Held-out blocks of the first confirmation.")
    ] = HOLDOUT,
    store: Store = None,
    form: AnswerForm = AnswerFormat.JSON,
    output: Output = None,
) -> None:
    """Measure the winner once more in held-out blocks, for a change that no selection has made larger.

    A campaign has one confirmation. The same command continues an interrupted confirmation.
    """
    from schedlab.cli import judge_run

    raise typer.Exit(judge_run.confirm_and_print(store_path(store), campaign, name, blocks, form, output))


@app.command()
def status(
    campaign: GivenCampaign = None, store: Store = None, form: AnswerForm = AnswerFormat.TEXT, output: Output = None
) -> None:
    """Print the candidates of a campaign with their verdicts, and the share of alpha that is spent."""
    from schedlab.cli import judge_run

    judge_run.show_status(store_path(store), campaign, form, output)

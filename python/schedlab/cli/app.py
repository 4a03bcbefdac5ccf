"""The command line's table of contents. Subcommands import what they need when they run, so that start-up is quick."""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.markup import escape

from schedlab.cli import doctor, report, run_command, runs, tunables, workloads
from schedlab.errors import SchedlabError

app = typer.Typer(
    name="schedlab",
    help="The laboratory for Linux scheduler changes: does it help, where, by how much, and which part does it?",
    epilog="Exit codes: 0 fine, 1 a regression (with --fail-on worse), 2 usage, 3 cannot run here, 4 trials failed, "
    "130 or 143 interrupted.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command("run")(run_command.run)
app.command("runs")(runs.runs)
app.command("report")(report.report)
app.command("doctor")(doctor.doctor)
app.command("workloads")(workloads.workloads)
app.add_typer(tunables.app, name="tunables")


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"schedlab {version_of('schedlab')}")
        raise typer.Exit


def run() -> None:
    """Run the command line; errors meant for people end it with their own exit code."""
    try:
        app()
    except SchedlabError as error:
        Console(stderr=True, soft_wrap=True).print(f"[red]error:[/] {escape(str(error))}", highlight=False)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of a pipe has gone (``| head``): nothing is left to say, and nobody to say it to.
        sys.stderr.close()
        sys.exit(0)

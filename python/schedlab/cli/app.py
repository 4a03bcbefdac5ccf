"""The list of subcommands. A subcommand imports its modules when it runs, so that start-up is quick."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from schedlab.cli import (
    bisect_command,
    compare_command,
    doctor,
    examples_command,
    import_command,
    init_command,
    kernel_boot_command,
    kernel_build_command,
    merge_command,
    models_command,
    plan_command,
    report,
    run_command,
    runs,
    simulate_command,
    try_command,
    tunables,
    workloads,
)
from schedlab.cli.appearance import appearance
from schedlab.cli.commands import Commands, usage_error
from schedlab.cli.console import make, make_streams_safe
from schedlab.cli.gate import bisect_code, is_bisect
from schedlab.cli.recovery import recover_at_start
from schedlab.errors import Exit, SchedlabError

app = Commands(
    name="schedlab",
    help="The laboratory for Linux scheduler changes: does a change help, where, by how much, and through which part?",
    epilog="Exit codes: 0 fine, 1 a regression (with --fail-on worse), 2 usage, 3 cannot run here, 4 trials failed, "
    "70 a bug in schedlab, 129, 130 or 143 ended by a signal.",
)
app.command("run")(run_command.run)
app.command("try")(try_command.try_)
app.command("init")(init_command.init)
app.command("examples")(examples_command.examples)
app.command("plan")(plan_command.plan)
app.command("report")(report.report)
app.command("compare")(compare_command.compare)
app.command("import")(import_command.import_)
app.command("bisect")(bisect_command.bisect)
app.command("merge")(merge_command.merge)
app.command("doctor")(doctor.doctor)
app.command("simulate")(simulate_command.simulate)
app.add_typer(runs.app, name="runs")
app.add_typer(workloads.app, name="workloads")
app.add_typer(models_command.machines, name="machines")
models_command.kernels.command("build")(kernel_build_command.build)
models_command.kernels.command("boot")(kernel_boot_command.boot)
app.add_typer(models_command.kernels, name="kernels")
app.add_typer(tunables.app, name="tunables")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"schedlab {version('schedlab')}")
        raise typer.Exit


_VERSION = typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit.")


@app.callback()
def _options(version: Annotated[bool, _VERSION] = False) -> None:
    """Declare the options of ``schedlab`` itself."""


def run() -> None:
    """Run the command line. Every error ends in a message and a documented exit code."""
    try:
        _run()
    except SystemExit as end:
        if is_bisect(sys.argv[1:]) and isinstance(end.code, int):
            end.code = bisect_code(end.code)
        raise


def _run() -> None:
    make_streams_safe()
    appearance.reset()
    try:
        recover_at_start(sys.argv[1:])
        sys.exit(typer.main.get_command(app).main(prog_name="schedlab", standalone_mode=False))
    except BrokenPipeError:
        # The reader of the pipe has ended (``| head``), so no more output is wanted.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except SchedlabError as error:
        _fail(error)
    except typer.Abort:
        _fail(SchedlabError("the input ended before the last answer", todo="give the answers as options"))
    except TyperException as error:
        _fail(usage_error(error))
    except OSError as error:
        todo = "free space, or check your rights"
        _fail(SchedlabError(error.strerror or str(error), where=error.filename or "", todo=todo))
    except Exception as error:
        if "sqlalchemy" in sys.modules and (explained := _store_error(error)) is not None:
            _fail(explained)
        traceback.print_exc()
        make(stderr=True).say("error:", "this is a bug in schedlab; please report the lines above", "red")
        sys.exit(Exit.BUG)


def _store_error(error: Exception) -> SchedlabError | None:
    from sqlalchemy.exc import DatabaseError

    from schedlab.store.file import explain

    return explain(error, "the store") if isinstance(error, DatabaseError) else None


def _fail(error: SchedlabError) -> NoReturn:
    if appearance.verbose:
        traceback.print_exception(error)
    make(stderr=True).say("error:", str(error), "red")
    sys.exit(error.exit_code)

"""The list of subcommands, and the outcome of a command line as an exit code.

Start-up is quick: a subcommand's module is imported when the subcommand is used, and its modules when it runs.
"""

from __future__ import annotations

import os
import sys
import traceback
from errno import EIO
from select import POLLHUP, poll
from signal import SIGHUP, SIGINT
from typing import Annotated, ClassVar, NoReturn, TextIO

import typer
from typer.exceptions import TyperException

from schedlab.cli import memory
from schedlab.cli.appearance import appearance
from schedlab.cli.commands import Commands, Group, usage_error
from schedlab.cli.echo import echo
from schedlab.cli.gate import bisect_code, is_bisect
from schedlab.cli.recovery import recover_at_start
from schedlab.cli.version import version
from schedlab.errors import Exit, RunStopped, SchedlabError


class _Schedlab(Group):
    places: ClassVar = {
        "Measure": {
            "run": "run_command:run",
            "try": "try_command:try_",
            "init": "init_command:init",
            "noise": "noise_command:noise",
            "cost": "cost_command:cost",
            "doctor": "doctor:doctor",
        },
        "Results": {
            "report": "report:report",
            "compare": "compare_command:compare",
            "import": "import_command:import_",
            "history": "history_command:history",
            "attribute": "attribute_command:attribute",
            "site": "site_command:app",
        },
        "Kernels": {
            "kernels": "kernels_command:app",
            "tunables": "tunables:app",
            "workloads": "workloads:app",
        },
        "Search": {
            "sweep": "sweep_command:sweep",
            "tune": "tune_command:tune",
            "bisect": "bisect_command:bisect",
            "judge": "judge_command:app",
        },
        "Simulator": {"sim": "sim_command:app"},
        "Store": {"store": "store_command:app"},
    }


app = Commands(
    name="schedlab",
    group=_Schedlab,
    help="The laboratory for Linux scheduler changes: does a change help, where, by how much, and through which part?",
    epilog="Exit codes: 0 fine, 1 a regression (with --fail-on worse), 2 usage, 3 cannot run here, 4 trials failed, "
    "70 a bug in schedlab, 129, 130 or 143 ended by a signal, 141 by a closed pipe.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"schedlab {version()}")
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
    except OSError as error:
        if not _is_hung_up(error):
            raise
        _discard(sys.stdout)
        _discard(sys.stderr)
        sys.exit(128 + SIGHUP)  # the signal may be ignored, or arrive a moment later


def _run() -> None:
    _make_streams_safe()
    appearance.reset()
    memory.watch_limit()
    try:
        recover_at_start(sys.argv[1:])
        code = typer.main.get_command(app).main(prog_name="schedlab", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except BrokenPipeError as error:
        # The reader of the pipe has ended (``| head``), so that further output has no reader.
        _discard(sys.stdout)
        sys.exit(Exit.BROKEN_PIPE if isinstance(error, RunStopped) else Exit.FINE)
    except SchedlabError as error:
        _fail(error)
    except typer.Abort as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # typer's replacement of a signal's exception
            sys.exit(128 + (_signal() or SIGINT))
        _fail(SchedlabError("the input ended before the last answer", todo="give the answers as options"))
    except TyperException as error:
        _fail(usage_error(error))
    except OSError as error:
        if _is_hung_up(error):
            raise
        todo = "free space, or check your rights"
        if isinstance(error, NotADirectoryError):
            todo = "give a path in a folder: a part of this path is a file"
        _fail(SchedlabError(error.strerror or str(error), where=error.filename or "", todo=todo))
    except MemoryError:
        _fail(memory.not_enough())
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # also the panics of polars
        _fail_unexpectedly(error)


def _fail_unexpectedly(error: BaseException) -> NoReturn:
    if number := _signal():
        sys.exit(128 + number)
    if sys.modules.keys() & {"sqlite3", "psycopg"} and (explained := _store_error(error)) is not None:
        _fail(explained)
    from schedlab.cli.console import make

    _print_traceback(error)
    make(stderr=True).say("error:", "this is a bug in schedlab; please report the lines above", "red")
    sys.exit(Exit.BUG)


def _make_streams_safe() -> None:
    """Make streams print a replacement for characters that they cannot encode. A closed stream discards its output."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _store_error(error: BaseException) -> SchedlabError | None:
    from schedlab.store import backends

    cause = getattr(error, "orig", error)  # SQLAlchemy's error contains the error of the driver
    return backends.explain(cause, "the store") if isinstance(cause, Exception) else None


def _fail(error: SchedlabError) -> NoReturn:
    from schedlab.cli.console import make

    if appearance.verbose:
        _print_traceback(error)
    try:
        make(stderr=True).say("error:", str(error), "red")
    except BrokenPipeError:
        _discard(sys.stderr)
    sys.exit(error.exit_code)


def _print_traceback(error: BaseException) -> None:
    echo("".join(traceback.format_exception(error)), nl=False, err=True)


def _signal() -> int | None:
    """Return the signal that has ended the command, also when a library has replaced the signal's exception."""
    signals = sys.modules.get("schedlab.tunables.signals")
    return signals.received() if signals else None


def _is_hung_up(error: OSError) -> bool:
    """Whether the error is that the terminal of an output stream has been closed."""
    if error.errno != EIO:
        return False
    streams = poll()
    for stream in (sys.stdout, sys.stderr):
        streams.register(stream.fileno(), 0)
    return any(event & POLLHUP for _, event in streams.poll(0))


def _discard(stream: TextIO) -> None:
    """Discard further output of the stream, so that the end of the process does not report the broken pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

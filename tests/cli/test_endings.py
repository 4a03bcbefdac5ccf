"""How commands end that a signal, a closed terminal or a fault interrupts."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.cli.echo import echo
from tests.cli.in_process import runner

pytestmark = pytest.mark.slow

SIGNALLED = """
import os, signal, sys
from schedlab.cli import main

class Finder:
    def find_spec(self, name, *_):
        if name == MODULE:
            sys.meta_path.remove(self)
            for number in NUMBERS:
                os.kill(os.getpid(), number)

MODULE, NUMBERS, sys.argv = sys.argv[1], map(int, sys.argv[2].split(",")), ["schedlab", *sys.argv[3:]]
sys.meta_path.insert(0, Finder())
main()
"""
"""A command that gets signals in the middle of the import of a module."""


def signalled(module: str, numbers: list[signal.Signals], *words: object) -> subprocess.CompletedProcess[str]:
    listed = ",".join(str(int(number)) for number in numbers)
    argv = [sys.executable, "-c", SIGNALLED, module, listed, *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


SILENT = [
    ("schedlab.cli.app", ["sim", "machines", "list"], signal.SIGINT),
    ("typer", ["sim", "machines", "list"], signal.SIGINT),
    ("schedlab.cli.recovery", ["sim", "machines", "list"], signal.SIGTERM),
    ("polars", ["site", "publish", "site", "--store", "none"], signal.SIGINT),
    ("numpy", ["site", "publish", "site", "--store", "none"], signal.SIGHUP),
    ("sqlalchemy", ["site", "serve", "--store", "none"], signal.SIGINT),
]


@pytest.mark.parametrize(("module", "words", "number"), SILENT, ids=str)
def test_a_signal_in_an_import_ends_a_command_in_silence(module: str, words: list[str], number: signal.Signals) -> None:
    done = signalled(module, [number], *words)
    assert (done.returncode, done.stdout, done.stderr) == (-number, "", "")


def test_polars_does_not_make_a_command_ignore_ctrl_c() -> None:
    text = (
        "import os, signal, schedlab.cli as c; c.end_in_silence(); import polars; os.kill(os.getpid(), signal.SIGINT)"
    )
    assert subprocess.run([sys.executable, "-c", f"{text}; print()"], check=False).returncode == -signal.SIGINT


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_storm_in_an_import_of_a_command_that_measures_prints_no_traceback(first: signal.Signals) -> None:
    storm = [first, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
    done = signalled("schedlab.simulation.interruptions", storm, "noise", "--target", "sim:laptop-4", "--cpus", "0")
    assert (done.returncode, done.stderr) == (128 + first, "\ninterrupted\n")


def test_a_library_that_replaces_the_exception_of_a_signal_does_not_make_it_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(*_: object) -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("numpy._core.multiarray failed to import") from None

    monkeypatch.setattr("schedlab.api.noise.measured", measured)
    done = runner(monkeypatch, capsys)("noise", "--cpus", "0")
    assert (done.code, done.err) == (143, "")


HUNG_UP = """
import os, signal, sys
from schedlab.cli import main
signal.signal(signal.SIGHUP, signal.SIG_IGN)
sys.stdin.readline()
sys.argv = ["schedlab", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    "words", [["workloads", "list"], ["run", "missing.toml"], ["workloads", "--verbose", "nothing"]]
)
def test_a_closed_terminal_ends_a_command_as_sighup_does(words: list[str]) -> None:
    master, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", HUNG_UP, *words], stdin=subprocess.PIPE, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        os.close(master)
        process.communicate(b"\n")
        assert process.returncode == 128 + signal.SIGHUP


def test_verbose_output_and_reports_of_bugs_contain_no_escape_sequences(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab = runner(monkeypatch, capsys)
    done = schedlab("run", "--verbose", "\x1b]0;title\x07.toml")
    assert "Traceback" in done.err
    assert "\x1b" not in done.err

    def fails(*_: object) -> None:
        raise RuntimeError("\x1b]0;title\x07")

    monkeypatch.setattr("schedlab.api.noise.measured", fails)
    done = schedlab("noise", "--cpus", "0")
    assert done.code == 70
    assert "\x1b" not in done.err


@pytest.mark.parametrize("mebibytes", [200, 700])
@pytest.mark.parametrize("words", ["site publish site --store none", "run examples/first.toml --dry-run"])
def test_a_limit_of_the_address_space_is_a_sentence_with_the_memory_that_is_needed(words: str, mebibytes: int) -> None:
    limited = f"ulimit -v {mebibytes << 10}; exec {sys.executable} -m schedlab {words}"
    done = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert re.match(r"error: ulimit -v: the command needs at least [\d,]+ MiB of address space", done.stderr)
    assert "Traceback" not in done.stderr


class PanicException(BaseException):
    """As the panics of Rust's libraries, which are not Exceptions."""


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [(MemoryError(), 3, "the memory of this machine does not suffice"), (PanicException("worker"), 70, "is a bug")],
)
def test_exhausted_memory_and_a_panic_have_their_exit_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, text: str
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("schedlab.api.noise.measured", fails)
    done = runner(monkeypatch, capsys)("noise", "--cpus", "0")
    assert done.code == code
    assert text in done.words


def test_plain_output_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    echo("a\x1b[2Jb\tc")
    assert capsys.readouterr().out == "a\\u001b[2Jb\tc\n"


def test_every_module_of_the_command_line_prints_with_escapes() -> None:
    folder = Path(sys.modules["schedlab.cli.app"].__file__ or "").parent
    # Parts of an answer are escaped where they are styled (report/render/layout.py).
    allowed = {
        "__init__.py": "print(",
        "answering.py": ("sys.stdout.write(escaped(", 'sys.stdout.write("".join(f"{shown('),
        "commands.py": "typer.echo(ctx.get_help()",
        "echo.py": "typer.echo(",
    }
    raw = [
        f"{path.name}: {line.strip()}"
        for path in sorted(folder.glob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith(("print(", "typer.echo(", "typer.secho(", "sys.stdout.write("))
        and not line.strip().startswith(allowed.get(path.name, "sys.stdout.write(escaped("))
    ]
    assert not raw

"""Write docs/man/schedlab.1 from the commands, as make_reference.py does for the reference pages.

    .venv/bin/python docs/make_man.py

A test fails if the page and the code differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from schedlab.cli.app import app
from schedlab.cli.examples import examples

PAGE = Path(__file__).parent / "man" / "schedlab.1"
COMMON = {"quiet", "verbose", "color", "help"}
"""Options of every command; the page lists them once."""
END = r""".SH EXIT STATUS
0 success; 1 a row is worse, under \-\-fail\-on worse; 2 wrong usage; 3 the experiment cannot run here; 4 trials failed;
70 a fault of schedlab; 129, 130, 143 ended by a signal. \-\-exit bisect uses the codes of git bisect run instead.
.SH ENVIRONMENT
.TP
.B SCHEDLAB_STATE
Folder of the store and of the journals of tunables.
.TP
.B NO_COLOR, FORCE_COLOR
Never and always print colours.
"""


def page() -> str:
    """Return the man page."""
    root: Any = typer.main.get_command(app)
    lines = [
        '.TH SCHEDLAB 1 "" schedlab schedlab',
        ".SH NAME",
        "schedlab \\- a laboratory for Linux scheduler changes",
        ".SH SYNOPSIS",
        ".B schedlab",
        "COMMAND [ARGUMENT ...]",
        ".SH DESCRIPTION",
        escaped(root.help),
        ".SH OPTIONS",
        *options(root, set()),
        ".SH COMMANDS",
        *(line for name, command in root.commands.items() for line in commands(f"schedlab {name}", command)),
    ]
    return "\n".join(lines) + "\n" + END


def commands(name: str, command: Any) -> Iterator[str]:
    """Yield the section of a command, and the sections of its subcommands."""
    if command.hidden:
        return
    yield f".SS {escaped(name)}"
    yield escaped(command.help)
    yield from options(command, COMMON)
    if not hasattr(command, "commands"):
        yield from (".PP", ".nf", *map(escaped, examples(name)), ".fi")
    for sub, inner in getattr(command, "commands", {}).items():
        yield from commands(f"{name} {sub}", inner)


def options(command: Any, left_out: set[str]) -> Iterator[str]:
    """Yield a paragraph for each argument and option."""
    context = typer.Context(command, **command.context_settings)
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or "completion" in parameter.name or parameter.name in left_out:
            continue
        yield from (".TP", f".B {escaped(record[0])}", escaped(record[1]))


def escaped(text: str | None) -> str:
    """Return a text as one line of roff."""
    line = " ".join((text or "").split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line[:1] in {".", "'"} else line


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")

"""The shipped experiment files of ``schedlab init --example``."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path

from schedlab.cli.console import make
from schedlab.cli.echo import echo, print_table
from schedlab.errors import SchedlabError
from schedlab.files import shipped
from schedlab.files.output_file import write_new

LIST = "list"
"""Word that stands for no example: the names are printed."""


def write_example(name: str, path: Path | None) -> None:
    """Write an example to a new file or into a folder, or print it; for :data:`LIST` print all names and questions."""
    files = {file.stem: file for file in sorted(shipped.examples().glob("*.toml"))}
    if name == LIST:
        parsed = {stem: tomllib.loads(file.read_text(encoding="utf-8")) for stem, file in files.items()}
        rows = [(stem, example["experiment"].get("question", "")) for stem, example in parsed.items()]
        print_table(("example", "question"), rows)
        return
    stem = name.removesuffix(".toml")
    if stem not in files:
        close = get_close_matches(stem, files, n=1)
        todo = f"did you mean {close[0]!r}?" if close else "'schedlab init --example list' lists the examples"
        raise SchedlabError(f"there is no example {name!r}", todo=todo)
    text = files[stem].read_text(encoding="utf-8")
    if path is None:
        echo(text, nl=False)
        return
    path = path / f"{stem}.toml" if path.is_dir() else path
    write_new(path, text, "schedlab init FILE")
    make().hint("wrote", str(path))

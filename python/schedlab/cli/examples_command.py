"""``schedlab examples``: the shipped experiment files."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.echo import echo


def examples(
    name: Annotated[str | None, typer.Argument(help="Print this example.")] = None,
    copy: Annotated[
        Path | None, typer.Option("--copy", metavar="PATH", help="Copy the example to a new file, or into a folder.")
    ] = None,
) -> None:
    """List the shipped experiment files, print a file, or copy a file."""
    import tomllib

    from schedlab.cli.console import make, table
    from schedlab.cli.output_file import write_new
    from schedlab.errors import SchedlabError
    from schedlab.files import shipped

    files = {file.stem: file for file in sorted(shipped.examples().glob("*.toml"))}
    if name is None:
        if copy is not None:
            raise SchedlabError(
                "needs the name of an example", where="--copy", todo="schedlab examples NAME --copy PATH"
            )
        listed = table("example", "question", no_wrap=("example",))
        for stem, file in files.items():
            listed.add_row(stem, tomllib.loads(file.read_text(encoding="utf-8"))["experiment"].get("question", ""))
        make().print(listed)
        return
    stem = name.removesuffix(".toml")
    if stem not in files:
        close = get_close_matches(stem, files, n=1)
        todo = f"did you mean {close[0]!r}?" if close else "'schedlab examples' lists the examples"
        raise SchedlabError(f"there is no example {name!r}", todo=todo)
    text = files[stem].read_text(encoding="utf-8")
    if copy is None:
        echo(text, nl=False)
        return
    path = copy / f"{stem}.toml" if copy.is_dir() else copy
    write_new(path, text, "--copy")
    make().hint("copied to", str(path))

"""``schedlab attribute``: which change of a stack did it, in tables that others have printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.answering import AnswerForm, AnswerFormat, present
from schedlab.cli.options import Output, Tables


def attribute(
    file: Annotated[Path, typer.Argument(help="A mail or another text with printed tables; see 'schedlab import'.")],
    prefix: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=RUN,RUN",
            help="A prefix of the stack: the name of its last change, and the columns that are its runs. Once for each "
            "prefix, in order, the base first.",
        ),
    ],
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only rows of this operation, such as Elapsed; repeatable.")
    ] = None,
    alpha: Annotated[float, typer.Option(min=1e-6, max=0.5, help="Error rate over the steps of all rows.")] = 0.05,
    delta: Annotated[str, typer.Option(metavar="SHARE", help="Margin of equivalence.")] = "1%",
    table: Tables = None,
    form: AnswerForm = AnswerFormat.TEXT,
    output: Output = None,
) -> None:
    """Attribute the effect of a stack of changes to its steps, from printed figures with a few runs of each prefix.

    Runs of own experiments with [attribution] are attributed by 'schedlab report', from paired blocks.
    """
    from schedlab.api import reading
    from schedlab.errors import SchedlabError
    from schedlab.report.answers.attribute import compose

    stack: dict[str, list[str]] = {}
    for words in prefix:
        name, equals, runs = words.partition("=")
        if not (name and equals and runs) or name in stack:
            todo = "write NAME=RUN,RUN with a new name: --prefix base=v1 --prefix fix=v1-fix-a,v1-fix-b"
            raise SchedlabError(f"{words!r} is not a prefix", where="--prefix", todo=todo)
        stack[name] = runs.split(",")
    found = reading.attribute(file, stack, metric=metric or (), alpha=alpha, delta=delta, table=table or ())
    present(compose(found), form, output)

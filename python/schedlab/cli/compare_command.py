"""``schedlab compare``: runs, their variants, and results on disk side by side."""

from __future__ import annotations

from functools import cache
from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.formats import (
    Baseline,
    Form,
    Format,
    GivenLayout,
    GivenStars,
    RawP,
    Samples,
    Wanted,
    Width,
)
from schedlab.cli.gate import ExitAs, GivenExit, GivenFailOn, verdict_code
from schedlab.cli.options import Output, Store, Tables, store_path


def compare(
    columns: Annotated[
        list[str],
        typer.Argument(
            metavar="A B...",
            autocompletion=complete.runs,
            help="Run numbers or names, latest, RUN:VARIANT, or paths of results (a path with several runs adds all "
            "runs). The first is the baseline.",
        ),
    ],
    store: Store = None,
    form: Form = Format.TEXT,
    output: Output = None,
    baseline: Baseline = None,
    stars: GivenStars = None,
    layout: GivenLayout = None,
    width: Width = None,
    samples: Samples = False,
    raw_p: RawP = False,
    table: Tables = None,
    fail_on: GivenFailOn = None,
    exit_as: GivenExit = ExitAs.CODES,
) -> None:
    """Compare measured or imported runs in their common rows.

    Variants of one run are paired by block. Variants of different runs were not measured in turn: the report warns of
    the consequences for its verdicts.
    """
    import gc

    gc.disable()
    from schedlab.cli.report_output import Scope, present
    from schedlab.findings.columns import choose, refuse
    from schedlab.store.file import open_store
    from schedlab.store.selection import named_apart, with_baseline

    opened = cache(lambda: open_store(store_path(store), create=False))
    layouts = []
    if table:
        from schedlab.importers.printed.layout import layouts as parsed

        layouts = [layout for text in table for layout in parsed(text)]
    chosen = named_apart(choose(columns, opened, layouts))
    chosen = with_baseline(chosen, baseline) if baseline else chosen
    refuse(chosen)
    engine = next((column.store for column in chosen if column.store), None)
    engine = opened() if engine is None or any(column.store is None for column in chosen) else engine
    scope = Scope(engine, chosen, store, ranks=form is not Format.MMTESTS)
    present(scope, Wanted(form, output, stars, layout, width, samples, raw_p=raw_p))
    if fail_on or exit_as is ExitAs.BISECT:
        raise typer.Exit(verdict_code(scope.findings, fail_on, exit_as))

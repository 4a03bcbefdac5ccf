"""``schedlab compare``: runs, their variants, and results on disk side by side."""

from __future__ import annotations

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
    from schedlab.findings.columns import side_by_side

    engine, chosen = side_by_side(columns, store_path(store), baseline, table or ())
    scope = Scope(engine, chosen, store, ranks=form not in (Format.MMTESTS, Format.PCT_IMP))
    present(scope, Wanted(form, output, stars, layout, width, samples, raw_p=raw_p))
    if fail_on or exit_as is ExitAs.BISECT:
        raise typer.Exit(verdict_code(scope.findings, fail_on, exit_as))

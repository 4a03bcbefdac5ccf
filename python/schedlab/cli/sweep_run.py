"""The steps of ``schedlab sweep``."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.console import make
from schedlab.cli.interruption import INTERRUPTED
from schedlab.cli.options import SweepFormat, lasting, resuming
from schedlab.cli.report_output import write
from schedlab.cli.watching import Shown
from schedlab.errors import Exit, ExperimentError
from schedlab.execution.cells import target_of
from schedlab.execution.runs import Request
from schedlab.execution.sweep import sweep
from schedlab.execution.workers import Place
from schedlab.experiment.sweep import sweep as expand
from schedlab.findings.sweep import sweep_findings
from schedlab.notation.units import counted
from schedlab.report.answers.sweep import compose, size
from schedlab.store.file import open_store
from schedlab.store.location import Location

SHOWN_POINTS = 20
"""Most points that ``--dry-run`` prints."""


def named(file: Path | None) -> Path:
    """Return the file; ExperimentError when the command line names none."""
    if file is None:
        raise ExperimentError(
            "no file is named", where="sweep", todo="name an experiment file with [sweep], or --show RUN"
        )
    return file


def show_points(request: Request) -> None:
    """``--dry-run``: print the size of the sweep and its first points."""
    experiment = request.source.experiment
    seed = experiment.design.seed if request.seed is None else request.seed
    whole, console = expand(experiment, seed or 0), make()
    console.print(f"{experiment.experiment.name}: {size(whole)}, {len(whole.plan.trials):,} cells")
    for point in whole.points[:SHOWN_POINTS]:
        values = (f"{factor.label} {factor.shown(point.values[factor.name])}" for factor in whole.factors)
        console.print(f"  {point.variant.name}  {', '.join(values)}", soft_wrap=True)
    if len(whole.points) > SHOWN_POINTS:
        console.print(f"  and {len(whole.points) - SHOWN_POINTS:,} more")
    if not whole.simulated:
        for requirement in target_of(whole).missing_requirements(whole.plan):
            console.say("cannot run here:", str(requirement))


def sweep_and_print(request: Request, place: Place, form: SweepFormat, output: Path | None) -> int:
    """Measure or simulate the cells, and print the report; return the exit code."""
    aside = make(stderr=True)
    repeating = resuming(request.store)
    _, run_id, given_up = sweep(request, place, Shown(aside, repeating, INTERRUPTED))
    failed = print_report(request.store, run_id, form, output)
    if given_up:
        names = ", ".join(given_up[:10])
        aside.say("given up:", f"{counted(len(given_up), 'cell')} ended their workers: {names}", "red")
        aside.hint("repeat them:", shlex.join(repeating))
    return Exit.TRIALS_FAILED if failed or given_up else Exit.FINE


def print_report(store: Location, run_id: int, form: SweepFormat, output: Path | None) -> int:
    """Print the report of a stored sweep, or write the report to a file; return the number of failed cells."""
    found = sweep_findings(open_store(store, create=False), run_id)
    if form is SweepFormat.CSV:
        write(found.table.write_csv(), output)
    elif form is SweepFormat.PARQUET:
        content = io.BytesIO()
        found.table.write_parquet(content)
        write(content.getvalue(), output)
    else:
        present(compose(found, lasting(store)), AnswerFormat(form.value), output)
    return len(found.failures)

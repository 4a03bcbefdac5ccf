"""The steps of ``schedlab bisect``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine

from schedlab.analysis.changepoint import simulated_blocks
from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.console import Console, make
from schedlab.cli.options import again, lasting, resuming, store_words, this_command
from schedlab.cli.watching import Shown
from schedlab.errors import Exit
from schedlab.execution.bisection import bisection, pilot_noise, times
from schedlab.execution.runs import Request, target_of
from schedlab.execution.search import Budget, bisect
from schedlab.execution.states import States
from schedlab.experiment.plan import of_one_row
from schedlab.notation.units import counted
from schedlab.report.answers.bisect import compose
from schedlab.store.file import open_store
from schedlab.store.location import Location

EFFECTS = (0.03, 0.1, 0.3)
"""Relative changes for which ``--dry-run`` simulates searches."""

LEAST_NOISE = 1e-4
"""Least noise of simulated searches. Counted figures have no noise."""


def search_and_print(
    request: Request, states: States, budget: Budget, aside: Console, form: AnswerFormat, output: Path | None
) -> int:
    """Search, and print the result; return the exit code. ``aside`` is the console of progress and hints."""
    engine, run_id = bisect(request, states, budget, Shown(aside, resuming(request.store)))
    print_result(engine, run_id, form, output, request.store, this_command())
    shown = ["schedlab", "bisect", "--show", str(run_id), *store_words(request.store)]
    aside.hint("again:", shlex.join(again(request.store, shown)))
    return Exit.FINE


def show_plan(request: Request, budget: Budget, pilot: int | None, *, builds: bool) -> int:
    """``--dry-run``: print the states, the reasons why the search cannot run here, and the blocks that a search
    takes; with ``builds``, the states are kernels that do not exist yet."""
    console = make()
    experiment = request.source.experiment
    plan = of_one_row(experiment, request.seed)
    (row,) = plan.rows
    console.print(
        f"{counted(len(plan.variants), 'state')}, {row} {row.judged[0]}, at most {counted(budget.blocks, 'block')}"
    )
    for index, variant in enumerate(plan.variants):
        console.print(
            f"  {index}  {variant.name}{f'  {variant.description}' if variant.description else ''}", soft_wrap=True
        )
    if pilot is not None:
        noise = pilot_noise(open_store(request.store, create=False), pilot, row.judged[0])
        console.print(f"\nnoise of a block in run {pilot}: {100 * noise:.2g} %; blocks of a search, simulated:")
        for effect in EFFECTS:
            delta = experiment.analysis.delta
            blocks = simulated_blocks(len(plan.variants), delta, effect, max(noise, LEAST_NOISE), budget.blocks)
            console.print(
                f"  a change of {100 * effect:.0f} %: {blocks[len(blocks) // 2]} (median), {blocks[-1]} at most"
            )
    if builds:
        console.say("note:", "the kernels are built when the search measures them; then the target is checked")
        return Exit.FINE
    missing = target_of(request, experiment).missing_requirements(plan)
    for requirement in missing:
        console.say("cannot run here:", str(requirement))
    return Exit.CANNOT_RUN if missing else Exit.FINE


def print_result(
    engine: Engine, run: int, form: AnswerFormat, output: Path | None, store: Location, words: Sequence[str] = ()
) -> None:
    """Print the result of a stored search, or write the result into a file. ``words`` are the command line of the
    search, if known."""
    result = bisection(engine, run)
    present(compose(result, times(engine, result.run), lasting(store), words), form, output)

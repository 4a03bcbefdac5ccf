"""The text of ``--dry-run``: every trial of a plan."""

from __future__ import annotations

from itertools import groupby

from schedlab.analysis.resolution import blocks_for_a_verdict
from schedlab.cli.console import Console
from schedlab.execution.estimate import Estimate
from schedlab.experiment.plan import Plan
from schedlab.units import counted, format_time

LONG = 40
"""Length of a row's name above which its parameters are printed once, and its label stands for it."""


def show(console: Console, plan: Plan, estimate: Estimate) -> None:
    """Print every trial in order, one line for each variant that is put in place."""
    design = plan.experiment.design
    sizes = (
        (len(plan.trials), "trial"),
        (design.blocks, "block"),
        (len(plan.variants), "variant"),
        (len(plan.rows), "row"),
        (design.iterations, "iteration"),
    )
    console.say(
        f"{plan.experiment.experiment.name}:",
        f"{', '.join(counted(number, what) for number, what in sizes)}; seed {plan.seed}",
        "bold",
    )
    console.print(f"estimated time: {format_time(estimate.seconds)} ({estimate.basis})")
    _show_resolution(console, plan)
    names = {row.key: str(row) for row in plan.rows}
    labels = [row.label for row in plan.rows]
    if max(map(len, names.values())) > LONG and len(set(labels)) == len(labels):
        console.print("\nrows", style="bold")
        for row in plan.rows:
            console.say(f"  {row.label}:", str(row).removeprefix(row.label).strip(), "")
            names[row.key] = row.label
    for block, in_block in groupby(plan.trials, key=lambda trial: trial.block):
        console.print(f"\n{'warm-up' if block == 0 else f'block {block}'}", style="bold")
        for variant, in_place in groupby(in_block, key=lambda trial: trial.variant.name):
            trials = [f"{trial.index}:{names[trial.row.key]}" for trial in in_place]
            console.say(f"  {variant}:", ", ".join(trials), "")


def _show_resolution(console: Console, plan: Plan) -> None:
    judging, blocks = plan.experiment.analysis, plan.experiment.design.blocks
    needed = blocks_for_a_verdict(judging.alpha, plan.tests)
    if blocks < needed and judging.correction != "benjamini-hochberg":
        what = f"{counted(blocks, 'block')} cannot show any difference in {counted(plan.tests, 'row')}"
        console.say("!", f"{what}, however large: use {needed} or more")

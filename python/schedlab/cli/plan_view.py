"""How ``--dry-run`` shows a plan."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console

from schedlab.analysis.resolution import blocks_for_a_verdict
from schedlab.execution.estimate import Estimate
from schedlab.experiment.plan import Plan
from schedlab.units import format_time


def show(console: Console, plan: Plan, estimate: Estimate) -> None:
    """Every trial in order, one line for each variant that is put in place."""
    design = plan.experiment.design
    console.print(
        f"[bold]{plan.experiment.experiment.name}[/]: {len(plan.trials)} trials, {design.blocks} blocks, "
        f"{len(plan.variants)} variants, {len(plan.rows)} rows, {design.iterations} iterations; seed {plan.seed}"
    )
    console.print(f"estimated time: {format_time(estimate.seconds)} ({estimate.basis})")
    _show_resolution(console, plan)
    for block, in_block in groupby(plan.trials, key=lambda trial: trial.block):
        console.print(f"\n[bold]{'warm-up' if block == 0 else f'block {block}'}[/]")
        for variant, in_place in groupby(in_block, key=lambda trial: trial.variant.name):
            trials = [f"{trial.index}:{trial.row}" for trial in in_place]
            console.print(f"  {variant}: [dim]{', '.join(trials)}[/]", soft_wrap=True)


def _show_resolution(console: Console, plan: Plan) -> None:
    judging, blocks = plan.experiment.analysis, plan.experiment.design.blocks
    tests = plan.comparisons if judging.correction != "none" else 1
    needed = blocks_for_a_verdict(judging.alpha, tests)
    if blocks < needed:
        console.print(
            f"[yellow]{blocks} blocks cannot call any difference over {plan.comparisons} rows one, however large: "
            f"use {needed} or more[/]"
        )

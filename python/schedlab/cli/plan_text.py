"""The text of ``--dry-run``: what would run, and with the noise of a stored run the size that the experiment needs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import isfinite

from rich.text import Text

from schedlab.analysis.factorial import TIMES, contrasts
from schedlab.analysis.planning import RowPlan, Size
from schedlab.analysis.verdicts import Question
from schedlab.cli.console import Console, table
from schedlab.execution.design_size import blocks_at_least, interim_analyses, number_of_tests
from schedlab.execution.estimate import Estimate
from schedlab.execution.sample_size import Sizing
from schedlab.experiment.factorial import resolution
from schedlab.experiment.plan import Plan, doubts
from schedlab.notation.units import counted, format_time
from schedlab.report.words import correction
from schedlab.store.writer import describe
from schedlab.targets.protocol import Download, MissingRequirement


def show(
    console: Console,
    plan: Plan,
    target: str,
    estimate: Estimate,
    downloads: Sequence[Download],
    missing: Sequence[MissingRequirement],
    sizing: Sizing | None,
) -> None:
    """Print what would run in five lines. Lines of warnings follow where the experiment has any."""
    design, warmup = plan.experiment.design, sum(trial.phase == "warmup" for trial in plan.trials)
    factors = [(len(plan.variants), "variant"), (len(plan.rows), "row"), (design.blocks, "block")]
    factors += [(design.iterations, "iteration")] if design.iterations > 1 else []
    product = " × ".join(counted(number, noun) for number, noun in factors)
    name, measured = plan.experiment.experiment.name, len(plan.trials) - warmup
    console.say(f"{name}:", f"{product} = {counted(measured, 'trial')}", "bold")
    time = estimate.text if sizing is None else f"{format_time(sizing.planned)} (by run {sizing.run.id})"
    warm = f", with {counted(warmup, 'trial')} to warm up" if warmup else ""
    console.say("time:", f"{time}{warm}", "bold")
    console.say("target:", target, "bold")
    console.say("changes:", _changes(plan), "bold")
    lines = [str(requirement) for requirement in missing]
    console.say("missing:", "nothing" if not lines else f"{len(lines)} of the requirements", "bold")
    for line in lines:
        console.say("cannot run here:", line)
    for download in downloads:
        console.say("to be downloaded:", download.what)
    if downloads:
        console.print("known only after the download: whether a kernel has the tunables and options of the experiment")
    _warn(console, plan)


def show_details(console: Console, plan: Plan, estimate: Estimate) -> None:
    """Print the fewest blocks with a verdict, the layout, the interim analyses, and the trials in their order."""
    needed, tests = blocks_at_least(plan), number_of_tests(plan.experiment, plan.rows)
    how = correction(plan.experiment.analysis.correction, f"{tests} comparisons") if tests > 1 else "in one comparison"
    console.print(f"\nShowing any difference takes at least {needed} blocks, {how}. Seed {plan.seed}.")
    _show_factorial(console, plan)
    _show_interim_analyses(console, plan)
    _show_trials(console, plan, estimate)


def show_sizing(console: Console, plan: Plan, sizing: Sizing) -> None:
    """Print the effects that the plan can find by the noise of a stored run, and the blocks that it needs."""
    _show_rows(console, plan, sizing)
    _show_proposals(console, plan, sizing)


def _changes(plan: Plan) -> str:
    """Return what the variants after the baseline set, as names of attributes and tunables."""
    names: dict[str, None] = {}
    for variant in plan.variants[1:]:
        set_ = variant.model_dump(exclude={"name", "description"}, exclude_defaults=True)
        names |= dict.fromkeys([*set_.pop("tunables", {}), *set_.pop("environment", {}), *set_])
    return ", ".join(names) or "nothing"


def row_name(question: Question) -> str:
    """Workload, parameters and metric in one line."""
    parameters = (f"{name}={value}" for name, value in json.loads(question.parameters).items())
    return " ".join([question.workload, *parameters, question.metric])


def _show_factorial(console: Console, plan: Plan) -> None:
    factorial, stack = plan.experiment.factorial, plan.experiment.attribution
    if stack is not None:
        console.print(f"Stack: {' → '.join(stack.stack)}; each step has a separate verdict.")
    if factorial is None:
        return
    layout, length = describe(plan).factorial, resolution(factorial)
    assert layout is not None
    combinations = 2 ** len(factorial.switches)
    if length is None:
        console.print(f"Factorial: all {combinations} combinations of {len(factorial.switches)} switches.")
        return
    share = f"{len(layout.runs)} of {combinations} combinations"
    console.print(f"Factorial: {share} of {len(factorial.switches)} switches, resolution {length}.")
    for term in contrasts(layout):
        if term.aliases:
            console.print(f"  {term.name} is confounded with {', '.join(map(TIMES.join, term.aliases))}.")


def _show_interim_analyses(console: Console, plan: Plan) -> None:
    analyses = interim_analyses(plan)
    if not analyses:
        return
    console.print(f"\nThe run stops early when every row is decided at one of {len(analyses)} interim analyses:\n")
    figures = ("after block", "level, first row", "level, last row", "smallest p", "can find a difference")
    listed = table("analysis", *figures, right=figures)
    for i, each in enumerate(analyses, start=1):
        able = "yes" if each.can_decide else "the last rows only" if each.smallest <= each.last else "no"
        listed.add_row(str(i), str(each.blocks), *(f"{p:.2g}" for p in (each.first, each.last, each.smallest)), able)
    console.print(listed)


def _show_rows(console: Console, plan: Plan, sizing: Sizing) -> None:
    run, design = sizing.run, plan.experiment.design
    console.print(f"\nNoise of run {run.id} ({_size(run.design.blocks, run.design.iterations)}, {run.state}):\n")
    figures = ("within", "between", "of ratio", "MDE", "blocks", "best")
    listed = table("row", *figures, right=figures)
    for row in sizing.rows:
        cells = (row.noise.within, row.noise.between, row.noise.of_ratio(design.iterations), row.detectable)
        best = "-" if row.best_iterations is None else str(row.best_iterations)
        listed.add_row(row_name(row.question), *map(_percent, cells), _blocks(row), best)
    console.print(listed)
    effect = _percent(sizing.wanted.effect)
    words = (
        "\nStandard deviations: within a block, between blocks, and of ratio: of a "
        f"block's variant / baseline with {counted(design.iterations, 'iteration')}. MDE: the smallest change that "
        f"{design.blocks} blocks find with power {sizing.wanted.power:g}. blocks: for a change of {effect}. best: "
        "the iterations a block that cost the least time (Kalibera & Jones)."
    )
    console.print(Text(words, style="dim"))
    _show_doubts(console, sizing)


def _show_doubts(console: Console, sizing: Sizing) -> None:
    error = max(row.noise.error for row in sizing.rows)
    fewest = min(row.noise.blocks for row in sizing.rows)
    console.print(f"With {fewest} blocks, the relative error of a standard deviation is about ±{100 * error:.0f} %.")
    _show_price(console, sizing)
    if any(row.noise.clamped for row in sizing.rows):
        console.print("A negative estimate of the variance between blocks counts as 0.")
    if any(row.best_iterations is None for row in sizing.rows):
        console.print(
            "One iteration per block cannot separate the noise within from the noise between blocks: measure a pilot "
            "with two or more."
        )
    for question, reason in sizing.unknown:
        _say(console, "not known:", f"{row_name(question)}: {reason}")


def _show_price(console: Console, sizing: Sizing) -> None:
    """Print how many more blocks the plan has because the pilot was small."""
    needed = [(row.blocks, row.blocks_if_known) for row in sizing.rows]
    most = max((blocks for blocks, _ in needed if blocks is not None), default=0)
    known = max((blocks for _, blocks in needed if blocks is not None), default=0)
    if most > known > 0 and all(blocks is not None for blocks, _ in needed):
        console.print(
            f"MDE and blocks allow for this error, so that the power is {sizing.wanted.power:g} on average over such "
            f"pilots: {counted(most, 'block')} instead of {known} with known noise. A larger pilot lowers the price."
        )


def _show_proposals(console: Console, plan: Plan, sizing: Sizing) -> None:
    wanted, iterations = sizing.wanted, plan.experiment.design.iterations
    console.print(f"\nTo detect {_percent(wanted.effect)} in each of these rows with power {wanted.power:g}:")
    if sizing.at_planned_iterations is None and sizing.best is None:
        console.print("  no practical number of blocks is enough; look for a larger effect, or reduce the noise")
        return
    _show_proposal(console, f"with {counted(iterations, 'iteration')} as in the file", sizing.at_planned_iterations)
    if sizing.best is not None and sizing.best != sizing.at_planned_iterations:
        _show_proposal(console, "in the least time", sizing.best)


def _show_proposal(console: Console, how: str, size: Size | None) -> None:
    if size is None:
        console.print(f"  {how}: not known, or more blocks than is practical")
        return
    console.print(f"  {how}: {_size(size.blocks, size.iterations)}, {format_time(size.seconds)}")


def _say(console: Console, label: str, text: str, style: str = "yellow") -> None:
    """Print a line with a coloured label, folded to the width of the console."""
    console.print(Text.assemble((label, style), " ", text))


def _percent(share: float) -> str:
    """``1.2 %``; ``-`` for an unknown share, ``none`` where no effect is large enough."""
    if not isfinite(share):
        return "none" if share > 0 else "-"
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _size(blocks: int, iterations: int) -> str:
    return f"{counted(blocks, 'block')} × {counted(iterations, 'iteration')}"


def _blocks(row: RowPlan) -> str:
    return "-" if row.blocks is None else str(row.blocks)


LONG = 40
"""Length of a row's name above which its parameters are printed once, and a label replaces the name."""


def _show_trials(console: Console, plan: Plan, estimate: Estimate) -> None:
    """Print the trials in order, one line for each variant that is put in place."""
    names = {row.key: str(row) for row in plan.rows}
    labels = [row.label for row in plan.rows]
    if max(map(len, names.values())) > LONG and len(set(labels)) == len(labels):
        console.print("\nrows", style="bold")
        for row in plan.rows:
            console.say(f"  {row.label}:", str(row).removeprefix(row.label).strip(), "")
            names[row.key] = row.label
    # All lines in one call, because each call of the console takes a third of a millisecond.
    console.out("\n".join(_trial_lines(plan, names, estimate.boot)), highlight=False)


def _trial_lines(plan: Plan, names: Mapping[tuple[str, str], str], boots: Mapping[str, float]) -> Iterator[str]:
    """Yield each line of the plan. ``boots`` are the seconds of the variants' boots."""
    for block, in_block in groupby(plan.trials, key=lambda trial: trial.block):
        yield f"\n{'warm-up' if block == 0 else f'block {block}'}"
        for variant, in_place in groupby(in_block, key=lambda trial: trial.variant.name):
            texts = [f"{trial.index}:{names[trial.row.key]}" for trial in in_place]
            boot = f" (boot, {format_time(boots[variant])})" if variant in boots else ""
            yield f"  {variant}{boot}: {', '.join(texts)}"


def _warn(console: Console, plan: Plan) -> None:
    """Print a line for each reason why the experiment cannot answer its question."""
    for warning in doubts(plan):
        _say(console, "!", warning)
    blocks, needed = plan.experiment.design.blocks, blocks_at_least(plan)
    if blocks < needed and plan.experiment.analysis.correction != "benjamini-hochberg":
        tests = counted(number_of_tests(plan.experiment, plan.rows), "row")
        warning = f"{counted(blocks, 'block')} cannot show any difference in {tests}"
        _say(console, "!", f"{warning}, however large: use {needed} or more")

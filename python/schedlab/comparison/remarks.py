"""What a comparison of runs has to say of itself beside its verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from schedlab.analysis.cells import average_blocks
from schedlab.analysis.diagnostics import RunFacts, diagnose
from schedlab.analysis.verdicts import Options, Question, judge
from schedlab.analysis.warnings import Kind, Warning
from schedlab.comparison.sides import Side, one_of_each_run, variants_taken
from schedlab.store import reading
from schedlab.store.columns import read_cells

FIRST_TO_TELL = ("cpu.model", "topology.cpus", "memory_kib", "kernel.release", "kernel.command_line", "frequency")
"""Parts of the fingerprint by which two machines are told apart before all others."""

MOST_TOLD = 5
"""Differences between two machines that a warning names."""

LONGEST_TOLD = 80
"""Characters up to which a difference is told with its values."""


def between(sides: Sequence[Side]) -> Iterator[Warning]:
    """What keeps runs apart: how their figures came to be, and on which machines."""
    baseline, *others = one_of_each_run(sides)
    kinds: dict[str, str] = {}
    for side in (baseline, *others):
        kinds.setdefault(side.run.kind, side.name)
    if len(kinds) > 1:
        told = ", ".join(f"{kind} ({name})" for kind, name in kinds.items())
        yield Kind.ORIGIN.warning(kinds=told)
    for side in others:
        if differing := _machines(baseline, side):
            more = f" and {len(differing) - MOST_TOLD} more" if len(differing) > MOST_TOLD else ""
            told = f"{', '.join(differing[:MOST_TOLD])}{more}"
            yield Kind.MACHINES.warning(column=side.name, baseline=baseline.name, differences=told)


def within(sides: Sequence[Side], questions: Sequence[Question], options: Options) -> Iterator[Warning]:
    """The warnings of each measured run for itself, that of its A/A control among them."""
    runs = one_of_each_run(sides)
    for side in runs:
        if side.run.design.paired:
            head = f"run {side.run.id}: " if len(runs) > 1 else ""
            for warning in _of_run(side, variants_taken(sides, side), questions, options):
                yield replace(warning, seen=f"{head}{warning.seen}")


def notes(sides: Sequence[Side]) -> Iterator[str]:
    """What was left aside, and what the readers of imported results left out."""
    for side in one_of_each_run(sides):
        design, taken = side.run.design, variants_taken(sides, side)
        left = [name for name in design.variants if name not in taken and name != design.control]
        if design.paired and left:
            yield f"not compared: {', '.join(f'{side.run.id}:{name}' for name in left)}"
        if not design.paired:
            yield from side.run.notes


def _of_run(side: Side, variants: set[str], questions: Sequence[Question], options: Options) -> Iterator[Warning]:
    run, control = side.run, side.run.design.control
    everything = average_blocks(read_cells(side.engine, side.run))
    pair = [run.design.variants[0], *([control] if control else [])]
    of_control = judge(everything, questions, pair, control, options)
    values, conditions, failures = (
        frame.filter(pl.col("variant").is_in(variants))
        for frame in (everything, reading.conditions(*side.of), reading.failures(*side.of))
    )
    # A sequential run may be complete before all that was planned has run.
    planned = run.recorded if run.state == "complete" else run.planned
    facts = RunFacts(planned, run.recorded, conditions, failures, run.changed, run.kind, run.doubtful_parameters)
    yield from diagnose(facts, values, questions, of_control, options)


def _machines(baseline: Side, side: Side) -> list[str]:
    """What differs between the machines of two runs, the most telling first; nothing where one is not known."""
    from schedlab.observe.fingerprint import differences

    before, after = baseline.run.fingerprint, side.run.fingerprint
    if not before or not after or baseline.run.fingerprint_hash == side.run.fingerprint_hash:
        return []

    def rank(told: str) -> int:
        return next((i for i, part in enumerate(FIRST_TO_TELL) if told.startswith(part)), len(FIRST_TO_TELL))

    return [_brief(told) for told in sorted(differences(before, after), key=rank)]


def _brief(told: str) -> str:
    """``kernel.command_line (… → …)`` by its name alone where the values are long."""
    return told if len(told) <= LONGEST_TOLD else told.partition(" ")[0]

"""Warnings and notes about a comparison of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from schedlab.analysis.diagnostics import RunFacts, diagnose
from schedlab.analysis.judging import judge
from schedlab.analysis.verdicts import Options, Question
from schedlab.analysis.warnings import Kind, Warning
from schedlab.findings.columns import RunKey, first_columns, run_key
from schedlab.store import reader
from schedlab.store.columns import Chosen
from schedlab.store.run_rows import UNKNOWN_MACHINE

MAIN_FACTS = ("cpu.model", "topology.cpus", "memory_kib", "kernel.release", "kernel.command_line", "frequency")
"""Fields of a fingerprint that a warning names before other fields."""

MOST_NAMED = 5
"""Most differences between two machines in a warning."""

LONGEST = 80
"""Characters up to which a difference is named with its values."""


def between_runs(columns: Sequence[Chosen]) -> Iterator[Warning]:
    """Yield warnings about runs with figures of different kinds or from different machines."""
    baseline, *others = first_columns(columns).values()
    kinds: dict[str, str] = {}
    for column in (baseline, *others):
        kinds.setdefault(column.run.kind, column.name)
    if len(kinds) > 1:
        yield Kind.ORIGIN.warning(kinds=", ".join(f"{kind} ({name})" for kind, name in kinds.items()))
    for column in others:
        if differences := _differences(baseline, column):
            more = f" and {len(differences) - MOST_NAMED} more" if len(differences) > MOST_NAMED else ""
            text = f"{', '.join(differences[:MOST_NAMED])}{more}"
            yield Kind.MACHINES.warning(column=column.name, baseline=baseline.name, differences=text)


def within_runs(
    columns: Sequence[Chosen],
    means: Mapping[RunKey, pl.DataFrame],
    failures: Mapping[RunKey, pl.DataFrame],
    questions: Sequence[Question],
    options: Options,
) -> Iterator[Warning]:
    """Yield the warnings of each measured run, including the warning about its A/A control.

    ``means`` and ``failures`` are the block means and failed trials of all variants of each run.
    """
    runs = first_columns(columns)
    for key, column in runs.items():
        run, control = column.run, column.run.design.control
        if not run.design.paired:
            continue
        pair = [run.design.variants[0], *([control] if control else [])]
        of_control = judge(means[key], questions, pair, control, options)
        compared = _compared_variants(columns, key)
        values, conditions, failed = (
            frame.filter(pl.col("variant").is_in(compared))
            for frame in (means[key], reader.conditions(*key), failures[key])
        )
        # A sequential run may be complete before all planned trials have run.
        planned = run.recorded if run.state == "complete" else run.planned
        facts = RunFacts(
            planned, run.recorded, conditions, failed, run.changed, run.kind, run.doubtful_parameters, run.unsettled
        )
        head = f"run {run.id}: " if len(runs) > 1 else ""
        for warning in diagnose(facts, values, questions, of_control, options):
            yield replace(warning, seen=f"{head}{warning.seen}")


def notes(columns: Sequence[Chosen]) -> Iterator[str]:
    """Yield notes about variants that are not compared, and the notes of imports."""
    for key, column in first_columns(columns).items():
        run, compared = column.run, _compared_variants(columns, key)
        others = [name for name in run.design.variants if name not in compared and name != run.design.control]
        if not run.design.paired:
            yield from run.notes
            continue
        yield from run.repeated
        if others:
            yield f"not compared: {', '.join(f'{run.id}:{name}' for name in others)}"


def _compared_variants(columns: Sequence[Chosen], key: RunKey) -> set[str]:
    return {column.variant for column in columns if run_key(column) == key}


def _differences(baseline: Chosen, column: Chosen) -> list[str]:
    """Return the differences between the machines of two runs, main facts first; empty if one machine is unknown."""
    from schedlab.observe.fingerprint import differences

    before, after = baseline.run.fingerprint, column.run.fingerprint
    if UNKNOWN_MACHINE in (baseline.run.fingerprint_hash, column.run.fingerprint_hash):
        return []
    if not before or not after or baseline.run.fingerprint_hash == column.run.fingerprint_hash:
        return []

    def rank(difference: str) -> int:
        return next((i for i, fact in enumerate(MAIN_FACTS) if difference.startswith(fact)), len(MAIN_FACTS))

    # ``kernel.command_line (… → …)`` is shortened to its name if the change is long.
    ordered = sorted(differences(before, after), key=rank)
    return [text if len(text) <= LONGEST else text.partition(" ")[0] for text in ordered]

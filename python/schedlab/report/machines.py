"""The summary over the machines of a fleet as text and as JSON (documented in ``docs/real-machines.md``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.analysis.verdicts import Word
from schedlab.findings.machines import Fleet, Machine, Row
from schedlab.notation.units import counted
from schedlab.report.numbers import UNKNOWN, change, interval, p_value
from schedlab.report.render.columns import Column, Columns
from schedlab.report.words import CONTROL, SYMBOLS, listed, measure, parameters, rare_event
from schedlab.results.metrics import finite

SCHEMA = 1
"""Version of the JSON. The version rises when a field is removed or changes its meaning, not for a new field."""


def to_json(fleet: Fleet) -> dict[str, Any]:
    """Return the fields of the JSON object; null stands for an unknown number."""
    return {
        "schema": SCHEMA,
        "machines": [
            {
                "name": machine.name,
                "run": machine.run.id if machine.run else None,
                "state": machine.run.state if machine.run else None,
                "kernel": _kernel(machine),
                "fault": machine.fault,
            }
            for machine in fleet.machines
        ],
        "rows": [_row(row) for row in fleet.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    combined = row.combined
    names = ("ratio", "low", "high", "p", "p_equivalent", "tau", "i_squared", "q", "p_equal")
    figures = {name: finite(getattr(combined, name)) if combined else None for name in names}
    return {
        "workload": row.question.workload,
        "parameters": json.loads(row.question.parameters),
        "metric": row.question.metric,
        "unit": row.question.unit,
        "direction": row.question.direction,
        "variant": row.variant,
        "control": row.control,
        "verdict": row.word,
        "event_share": finite(row.event_share),
        **figures,
        "apart": list(row.apart),
        "machines": [
            {
                "name": name,
                "ratio": finite(verdict.ratio),
                "low": finite(verdict.low),
                "high": finite(verdict.high),
                "blocks": verdict.n,
                "verdict": verdict.word,
                "event_share": finite(verdict.event_share),
            }
            for name, verdict in row.verdicts.items()
        ],
    }


def _kernel(machine: Machine) -> str | None:
    kernel: str | None = machine.run.fingerprint.get("kernel", {}).get("release") if machine.run else None
    return kernel


def render(fleet: Fleet) -> RenderableType:
    """Return the machines, a line for each row with its figures over machines, and the verdicts of each machine."""
    complete = [machine for machine in fleet.machines if machine.complete]
    shown = [row for row in fleet.rows if not row.control]
    names = [_name(row) for row in shown]
    summary = Columns(
        [
            Column("over machines", names, "name"),
            Column("variant", [Text(row.variant) for row in shown], "name"),
            Column("change", [Text(change(row.combined.ratio) if row.combined else UNKNOWN) for row in shown]),
            Column(
                f"{100 * (1 - fleet.options.alpha):.0f} % interval",
                [Text(interval(row.combined.low, row.combined.high) if row.combined else UNKNOWN) for row in shown],
            ),
            Column("verdict", [_word(row) for row in shown], "remark"),
            Column("I²", [Text(f"{100 * row.combined.i_squared:.0f} %" if row.combined else UNKNOWN) for row in shown]),
            Column("tau", [Text(f"{100 * row.combined.tau:.1f} %" if row.combined else UNKNOWN) for row in shown]),
            Column("p equal", [Text(p_value(row.combined.p_equal) if row.combined else UNKNOWN) for row in shown]),
        ]
    )
    by_machine = Columns(
        [
            Column("by machine", names, "name"),
            Column("variant", [Text(row.variant) for row in shown], "name"),
            *(Column(machine.name, [_on_machine(row, machine.name) for row in shown]) for machine in complete),
        ]
    )
    return Group(*_machines(fleet), Text(), summary, Text(), by_machine, Text(), *map(Text, _notes(fleet)))


def _name(row: Row) -> Text:
    question = row.question
    metric = f"{measure(question.metric, question.unit)}, {question.direction} is better"
    words = [question.workload, parameters(json.loads(question.parameters)), metric]
    return Text(" ".join(word for word in words if word))


def _word(row: Row) -> Text:
    if row.word is None:
        return Text(UNKNOWN, style="dim")
    remark = f" ({rare_event(row.event_share)})" if row.word is Word.EQUIVALENT else ""
    return Text(f"{SYMBOLS[row.word]} {row.word}{remark}")


def _on_machine(row: Row, machine: str) -> Text:
    """Return the change and the verdict of one machine; ``!`` marks a machine that is apart."""
    verdict = row.verdicts.get(machine)
    if verdict is None:
        return Text(UNKNOWN, style="dim")
    mark = "!" if machine in row.apart else " "
    return Text(f"{change(verdict.ratio)} {SYMBOLS[verdict.word]}{mark}")


def _machines(fleet: Fleet) -> Iterator[Text]:
    yield Text(f"{counted(len(fleet.machines), 'machine')}, each with a separate run and separate verdicts")
    for machine in fleet.machines:
        parts = [f"run {machine.run.id}", machine.run.state, _kernel(machine) or ""] if machine.run else ["no run"]
        line = Text(f"  {machine.name}: {', '.join(part for part in [*parts, machine.fault] if part)}")
        if not machine.complete:
            line.stylize("yellow")
        yield line


def _notes(fleet: Fleet) -> Iterator[str]:
    absent = [machine.name for machine in fleet.machines if not machine.complete]
    if absent:
        yield f"Left out without a complete run: {listed(absent)}."
    alone = [each.event_share for row in fleet.rows if not row.control for each in row.verdicts.values()]
    if shares := [share for share in alone if isfinite(share)]:
        yield f"{SYMBOLS[Word.EQUIVALENT]}: on a single machine, {rare_event(max(shares))}."
    if any(row.apart for row in fleet.rows):
        yield "!: the machine's ratio differs from the ratios of the other machines."
    if any(row.combined is None for row in fleet.rows):
        yield "-: fewer than two machines have two blocks with values above 0 in the row."
    control = [row for row in fleet.rows if row.control and row.word in (Word.BETTER, Word.WORSE)]
    if control:
        yield f"The {CONTROL} DIFFERS over machines in {listed([_name(row).plain for row in control])}."
    yield (
        "The geometric mean of the machines' ratios, with the interval of Student's t: for machines like these. "
        "I² and tau: how much the machines differ; p equal: Welch's test of equal ratios."
    )

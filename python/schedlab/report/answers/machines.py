"""The summary over the machines of a fleet: ``run`` on several machines, and ``report --machines``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from schedlab.findings.machines import Fleet, Machine, Row
from schedlab.notation.units import counted
from schedlab.report.answer import QUIET, Answer, Cell, Column, Line, Paragraph, Section, Sentence, Span, Table, Warning
from schedlab.report.fields.machines import fields, kernel_of
from schedlab.report.numbers import UNKNOWN, change, interval, p_value, percent, sizes
from schedlab.report.words import CONTROL, listed, measure, parameters, rare_event
from schedlab.results.words import DIFFERENT, Word

METHOD = (
    "change: geometric mean of the machines' ratios of means, with the interval of Student's t, for machines like "
    "these. "
    "I² and tau: how much the machines differ; p equal: Welch's test of equal ratios."
)


OWN = (
    "A machine's change is the pseudo-median of its report; the change of all is a mean over the machines' ratios of "
    "means, and may lie elsewhere."
)


def compose(fleet: Fleet) -> Answer:
    """Return the answer of all machines together."""
    shown = [row for row in fleet.rows if not row.control]
    complete = [machine for machine in fleet.machines if machine.complete]
    return Answer(
        kind="machines",
        title=f"{counted(len(fleet.machines), 'machine')}, each with a separate run and separate verdicts",
        data=fields(fleet),
        facts=[(machine.name, _state(machine)) for machine in fleet.machines],
        sentences=[_sentence(name, [row for row in shown if row.variant == name], complete)
                   for name in dict.fromkeys(row.variant for row in shown)],
        warnings=list(_warnings(fleet)),
        parts=[
            _by_machine(fleet, shown, complete), Section("Over machines", [_combined(fleet, shown)]), *_notes(fleet)
        ],
    )  # fmt: skip


def _state(machine: Machine) -> str:
    parts = [f"run {machine.run.id}", machine.run.state, kernel_of(machine) or ""] if machine.run else ["no run"]
    return ", ".join(part for part in [*parts, machine.fault] if part)


def _sentence(variant: str, rows: Sequence[Row], machines: Sequence[Machine]) -> Sentence:
    clauses = []
    for word in (*DIFFERENT, Word.UNCONFIRMED, Word.EQUIVALENT, Word.INCONCLUSIVE):
        if of_word := [row for row in rows if row.word is word]:
            ratios = [row.combined.ratio for row in of_word if row.combined]
            size = f" by {sizes(ratios)}" if word in DIFFERENT else ""
            known = [row.combined for row in of_word if row.combined]
            if word is Word.INCONCLUSIVE and known:
                size = f" (between {interval(min(mean.low for mean in known), max(mean.high for mean in known))} %)"
            clauses.append(f"{word}{size} in {len(of_word)} of {counted(len(rows), 'row')}")
    if apart := listed(list(dict.fromkeys(name for row in rows for name in row.apart))):
        clauses.append(f"not alike on all machines: {apart} apart")
    text = "; ".join(clauses) or "no row has figures on two machines"
    words = {row.word for row in rows}
    tone = next((word for word in (Word.WORSE, Word.BETTER, Word.EQUIVALENT) if word in words), Word.INCONCLUSIVE)
    return Sentence(variant, f"{text}, over {counted(len(machines), 'machine')}.", tone)


def _warnings(fleet: Fleet) -> Iterator[Warning]:
    if absent := [machine.name for machine in fleet.machines if not machine.complete]:
        yield Warning("incomplete", f"left out without a complete run: {listed(absent)}", "continue with --resume")
    if control := [_name(row) for row in fleet.rows if row.control and row.word in DIFFERENT]:
        yield Warning("control", f"the {CONTROL} differs over machines in {listed(control)}",
                      "do not trust these verdicts: find what disturbs the machines")  # fmt: skip


def _name(row: Row) -> str:
    question = row.question
    names = (question.workload, parameters(json.loads(question.parameters)), measure(question.metric, question.unit))
    return f"{' '.join(name for name in names if name)}, {question.direction} is better"


def _by_machine(fleet: Fleet, rows: Sequence[Row], machines: Sequence[Machine]) -> Table:
    columns = [Column("row", "name"), Column("variant", "name"), Column("all", "remark"),
               *(Column(machine.name, "remark") for machine in machines)]  # fmt: skip
    lines = [
        Line([Cell(_name(row)), Cell(row.variant), _word(row), *(_on_machine(row, each.name) for each in machines)])
        for row in rows
    ]
    return Table(columns, lines, notes=[OWN])


def _word(row: Row) -> Cell:
    if row.word is None or row.combined is None:
        return Cell(UNKNOWN, tone=QUIET)
    return Cell(f"{change(row.combined.ratio)} {row.word}", tone=row.word)


def _on_machine(row: Row, machine: str) -> Cell:
    verdict = row.verdicts.get(machine)
    if verdict is None:
        return Cell(UNKNOWN, tone=QUIET)
    remark = "(apart)" if machine in row.apart else ""
    return Cell(f"{change(verdict.ratio)} {verdict.word}", tone=verdict.word, remark=remark)


def _combined(fleet: Fleet, rows: Sequence[Row]) -> Table:
    level = percent(100 * (1 - fleet.options.alpha), 0)
    columns = [Column("row", "name"), Column("variant", "name"), Column("change"), Column(f"{level} interval"),
               Column("change", "bar", axis="ratio"), Column("I²"), Column("tau"), Column("p equal")]  # fmt: skip
    lines = []
    for row in rows:
        mean = row.combined
        figures = [change(mean.ratio), interval(mean.low, mean.high)] if mean else [UNKNOWN] * 2
        spread = ([percent(100 * mean.i_squared, 0), percent(100 * mean.tau), p_value(mean.p_equal)]
                  if mean else [UNKNOWN] * 3)  # fmt: skip
        bar = Cell("", span=Span(mean.low, mean.high, mean.ratio) if mean else None, tone=row.word or "")
        lines.append(Line([Cell(_name(row)), Cell(row.variant), *map(Cell, figures), bar, *map(Cell, spread)]))
    return Table(columns, lines, delta=fleet.options.delta, notes=[METHOD])


def _notes(fleet: Fleet) -> Iterator[Paragraph]:
    shares = [each.event_share for row in fleet.rows if not row.control for each in row.verdicts.values()
              if each.word is Word.EQUIVALENT]  # fmt: skip
    if shares:
        yield Paragraph(f"{Word.EQUIVALENT}: on a single machine, {rare_event(max(shares))}.", "quiet")
    if any(row.combined is None for row in fleet.rows):
        yield Paragraph("-: fewer than two machines have two blocks with values above 0 in the row.", "quiet")

"""Which change of a stack did it, in tables that others have printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schedlab.analysis.machines import Combined
from schedlab.analysis.printed_stack import AttributedRow, Step
from schedlab.findings.printed_stack import PrintedStack, label, strength
from schedlab.notation.units import counted
from schedlab.report.answer import (
    QUIET,
    Answer,
    Cell,
    Column,
    Line,
    Listing,
    Next,
    Paragraph,
    Part,
    Section,
    Sentence,
    Span,
    Table,
    Warning,
)
from schedlab.report.fields.attribute import fields
from schedlab.report.numbers import change, interval, p_value, percent
from schedlab.report.words import listed, rare_event
from schedlab.results.words import DIFFERENT, UNDECIDED, Word

ORDER = Warning(
    "unpaired",
    "the runs were not measured alternately: an effect of their order (another boot, a warmer machine) looks like an "
    "effect of a change",
    "measure the stack with [attribution] in an experiment, block by block",
)


def compose(stack: PrintedStack) -> Answer:
    """Return the answer: what each change of the stack did over all rows, and in each row."""
    names = [*stack.stack][1:]
    return Answer(
        kind="attribute",
        title=f"{stack.source}: {counted(len(stack.rows), 'row')}, printed figures",
        data=fields(stack),
        badges=["imported"],
        sentences=[_sentence(stack, name) for name in names],
        warnings=[ORDER],
        parts=[_heat_map(stack, names), *_details(stack)],
        commands=[Next("schedlab init --example d7-patches", "measure such a stack on your machine, patch by patch")],
    )


def _sentence(stack: PrintedStack, name: str) -> Sentence:
    mean = stack.summary.get(name)
    steps = [step for row in stack.rows if (step := step_of(row, name))]
    verdicts = [f"{word} in {counted(len(of), 'row')}" for word in (*DIFFERENT, Word.EQUIVALENT)
                if (of := [step for step in steps if step.word is word])]  # fmt: skip
    if undecided := [step for step in steps if step.word in UNDECIDED]:
        verdicts.append(f"{Word.INCONCLUSIVE} in {len(undecided)} of {counted(len(steps), 'row')}")
    over = f"; over all rows: {_on_average(mean)}" if mean else ""
    words = {step.word for step in steps}
    tone = next((word for word in (*reversed(DIFFERENT), Word.EQUIVALENT) if word in words), Word.INCONCLUSIVE)
    return Sentence(f"change {name}", f"{', '.join(verdicts) or 'not measured alone'}{over}.", tone)


def _on_average(mean: Combined) -> str:
    word = "a gain" if mean.low > 1 else "a loss" if mean.high < 1 else "no change shown"
    return f"{word}, weighted mean {change(mean.ratio)} ({interval(mean.low, mean.high)} %)"


def step_of(row: AttributedRow, name: str) -> Step | None:
    """Return the row's step that is this change alone."""
    return next((step for step in row.steps if step.name == name), None)


def _heat_map(stack: PrintedStack, names: list[str]) -> Table:
    lines = [
        Line([Cell(label(row), remark=_outlying(row)), *(_square(row, name) for name in names)]) for row in stack.rows
    ]
    notes = ["gain: + is better. ?: inconclusive."]
    equivalent = [step.event_share for row in stack.rows for step in row.steps if step.word is Word.EQUIVALENT]
    if equivalent:
        notes.append(f"{Word.EQUIVALENT}: {rare_event(max(equivalent), 'runs')}.")
    return Table([Column("row", "name"), *(Column(name) for name in names)], lines, notes=notes)


def _outlying(row: AttributedRow) -> str:
    runs = listed([f"{run.name}: {run.value:g} ± {run.spread:g} %" for run in row.outlying])
    return f"(outlying run {runs})" if runs else ""


def _square(row: AttributedRow, name: str) -> Cell:
    step = step_of(row, name)
    if step is None:
        return Cell("-", tone=QUIET, tip="the change was not measured alone")
    word = "?" if step.word in UNDECIDED else step.word
    tip = f"change {change(step.ratio)}, interval {interval(step.low, step.high)}, p {p_value(step.p)}"
    tone = Word.BETTER if step.gain > 0 else Word.WORSE
    return Cell(f"{change(step.gain_ratio)} {word}", value=step.gain, tone=tone, depth=strength(step), tip=tip)


def _details(stack: PrintedStack) -> Iterator[Part]:
    yield Section("Mean over all rows", [_summary(stack, stack.summary)])
    if stack.trimmed:
        yield Section("Without the outlying runs", [_summary(stack, stack.trimmed_summary), _trimmed(stack)])
    yield Section("What the figures can show", [Paragraph(text) for text in can_show(stack)], folded=True)


def _summary(stack: PrintedStack, summary: Mapping[str, Combined | None]) -> Table:
    columns = [Column("change", "name"), Column("mean gain"), Column("95 % interval")]
    columns += [Column("gain", "bar", axis="ratio"), *map(Column, ("p", "τ", "I²", "p of equal rows"))]
    lines = [
        Line([Cell(name), Cell(change(mean.ratio)), Cell(interval(mean.low, mean.high)),
              Cell("", span=Span(mean.low, mean.high, mean.ratio)), Cell(p_value(mean.p)), Cell(change(1 + mean.tau)),
              Cell(percent(100 * mean.i_squared, 0)), Cell(p_value(mean.p_equal))])
        for name, mean in summary.items() if mean is not None
    ]  # fmt: skip
    note = (
        "Rows with less noise weigh more; interval and p are of the change alone, not corrected for several. "
        "τ: standard deviation of the rows' true gains; I²: share of the spread that differences of rows explain."
    )
    return Table(columns, lines, notes=[note], delta=stack.delta)


def _trimmed(stack: PrintedStack) -> Listing:
    """Return the steps of each row with and without its outlying runs."""
    by_name = {label(row): row for row in stack.rows}
    return Listing([
        f"{name}, {words}: " + "; ".join(
            f"{step.name} {change(step.ratio)} ({interval(step.low, step.high)}) {step.word}" for step in row.steps)
        for name, trimmed in stack.trimmed.items() for words, row in (("with", by_name[name]), ("without", trimmed))
    ])  # fmt: skip


def can_show(stack: PrintedStack) -> Iterator[str]:
    """Yield what the figures can show and cannot show."""
    runs = sorted({len(of) for row in stack.rows for of in row.row.prefixes.values()} - {0})
    freedom = list(dict.fromkeys(str(row.freedom) for row in sorted(stack.rows, key=lambda row: row.freedom)))
    found = sorted(row.detectable for row in stack.rows if row.detectable == row.detectable)
    yield (
        f"A prefix has {' or '.join(map(str, runs))} run{'s' if runs[-1] > 1 else ''} in a row. Two runs alone cannot "
        "show a change: the spread of two runs has one degree of freedom, so that only differences above 12.7 standard "
        f"errors count. The spread is therefore pooled over the prefixes of a row ({listed(freedom)} degrees of "
        "freedom), which assumes that all prefixes scatter alike."
    )
    if found:
        yield (
            f"A single test at {100 * stack.alpha:g} % finds changes of {change(1 + found[0])} (steadiest row) to "
            f"{change(1 + found[-1])} (most scattered row) in four of five cases; the correction for "
            f"{counted(sum(len(row.steps) for row in stack.rows), 'step')} needs more."
        )
    if single := dict.fromkeys(name for row in stack.rows for name in row.single):
        yield f"One run, in some rows or in all rows: {listed(list(single))}. Missing runs stay missing."

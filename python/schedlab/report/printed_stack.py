"""A stack in printed tables as text and as JSON: a heat map of changes and rows, a summary, and its waterfall."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.analysis.machines import Combined
from schedlab.analysis.printed_stack import AttributedRow, Step
from schedlab.analysis.verdicts import Word
from schedlab.findings.printed_stack import PrintedStack, label
from schedlab.notation.units import counted
from schedlab.report.numbers import change, interval, p_value, percent
from schedlab.report.render.columns import Column, Columns
from schedlab.report.words import listed, rare_event
from schedlab.results.metrics import finite

STYLES = {
    Word.BETTER: "green",
    Word.WORSE: "red",
    Word.EQUIVALENT: "",
    Word.INCONCLUSIVE: "dim",
    Word.UNCONFIRMED: "dim",
}
MARKS = {
    Word.BETTER: " better",
    Word.WORSE: " worse",
    Word.EQUIVALENT: " equivalent",
    Word.INCONCLUSIVE: " ?",
    Word.UNCONFIRMED: " ?",
}

BAR = 30
"""Characters of the longest bar of a waterfall."""


def to_json(stack: PrintedStack) -> dict[str, Any]:
    """Return the fields of the JSON object."""
    return {
        "source": stack.source,
        "alpha": stack.alpha,
        "delta": stack.delta,
        "stack": {name: list(runs) for name, runs in stack.stack.items()},
        "rows": [_row(row) | {"without_outlying": _trimmed(stack, row)} for row in stack.rows],
        "summary": _summary(stack.summary),
        "summary_without_outlying": _summary(stack.trimmed_summary),
    }


def _trimmed(stack: PrintedStack, row: AttributedRow) -> dict[str, Any] | None:
    trimmed = stack.trimmed.get(label(row))
    return None if trimmed is None else _row(trimmed)


def _row(row: AttributedRow) -> dict[str, Any]:
    question = row.row.question
    return {
        "workload": question.workload,
        "parameters": question.parameters,
        "metric": question.metric,
        "direction": question.direction,
        "degrees_of_freedom": row.freedom,
        "detectable": finite(row.detectable),
        "outlying": [run.name for run in row.outlying],
        "single_runs": list(row.single),
        "missing": list(row.missing),
        "steps": [_step(step) for step in row.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    numbers = {name: finite(getattr(step, name)) for name in ("ratio", "low", "high", "p", "p_adjusted")}
    return {"name": step.name, **numbers, "verdict": str(step.word), "event_share": finite(step.event_share)}


def _summary(summary: Mapping[str, Combined | None]) -> dict[str, Any]:
    names = ("ratio", "low", "high", "p", "tau", "i_squared", "q", "p_equal")
    return {
        change: None if mean is None else {name: finite(getattr(mean, name)) for name in names}
        for change, mean in summary.items()
    }


def render(stack: PrintedStack) -> RenderableType:
    """Return the attribution for a terminal."""
    return Group(
        Text(f"{stack.source}: {counted(len(stack.rows), 'row')}, printed figures", style="bold"),
        Text(),
        *(Text(line) for line in can_show(stack)),
        Text(),
        _heat_map(stack),
        Text(),
        *(line for name in stack.trimmed for line in _with_and_without(stack, name)),
        Text("mean over all rows, as a gain: + is better", style="bold"),
        _summary_table(stack.summary),
        *_waterfall(stack.summary),
        *_trimmed_summary(stack),
    )


def can_show(stack: PrintedStack) -> Iterator[str]:
    """Yield what the figures can show and cannot show."""
    runs = sorted({len(of) for row in stack.rows for of in row.row.prefixes.values()} - {0})
    freedom = sorted({row.freedom for row in stack.rows})
    found = sorted(row.detectable for row in stack.rows if row.detectable == row.detectable)
    yield (
        f"A prefix has {' or '.join(map(str, runs))} run{'s' if runs[-1] > 1 else ''} in a row. Two runs alone cannot "
        "show a change: the spread of two runs has one degree of freedom, so that only differences above 12.7 standard "
        "errors count. The spread is therefore pooled over the prefixes of a row "
        f"({_range(freedom)} degrees of freedom), which assumes that all prefixes scatter alike."
    )
    if found:
        yield (
            f"A single test at {100 * stack.alpha:g} % finds changes of {change(1 + found[0])} (steadiest row) to "
            f"{change(1 + found[-1])} (most scattered row) in four of five cases; the correction for "
            f"{counted(sum(len(row.steps) for row in stack.rows), 'step')} needs more."
        )
    yield (
        "The runs were not measured alternately: an effect of their order (another boot, a warmer machine) looks like "
        "an effect of a change."
    )
    if single := dict.fromkeys(name for row in stack.rows for name in row.single):
        yield f"One run, in some rows or in all rows: {listed(list(single))}. Missing runs stay missing."


def _range(numbers: list[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _heat_map(stack: PrintedStack) -> RenderableType:
    names = [*stack.stack][1:]
    cells = {name: [_cell(row, name) for row in stack.rows] for name in names}
    columns = [Column("row", [Text(label(row) + ("*" if row.outlying else "")) for row in stack.rows], "name")]
    columns += [Column(f"{name}: gain, verdict", of_name, "remark") for name, of_name in cells.items()]
    note = "gain: + is better. ?: inconclusive. *: has an outlying run."
    return Group(Columns(columns), Text(note, style="dim"), *(Text(line, style="dim") for line in rare_events(stack)))


def rare_events(stack: PrintedStack) -> Iterator[str]:
    """Yield the remark on the equivalent steps, if there are any."""
    shares = [
        step.event_share
        for row in (*stack.rows, *stack.trimmed.values())
        for step in row.steps
        if step.word is Word.EQUIVALENT
    ]
    if shares:
        yield f"{Word.EQUIVALENT}: {rare_event(max(shares), 'runs')}."


def step_of(row: AttributedRow, name: str) -> Step | None:
    """Return the row's step that is this change alone."""
    return next((step for step in row.steps if step.name == name), None)


def gain_text(step: Step | None, row: AttributedRow) -> str:
    """Format a step as a gain with its verdict."""
    if step is None:
        return "-"
    ratio = step.ratio if row.row.question.direction == "higher" else 1 / step.ratio
    return change(ratio) + MARKS[step.word]


def _cell(row: AttributedRow, name: str) -> Text:
    step = step_of(row, name)
    return Text(gain_text(step, row), style=STYLES[step.word] if step else "dim")


def outlying_text(row: AttributedRow) -> str:
    """Describe the outlying runs of a row."""
    return listed([f"{run.name}: {run.value:g} ± {run.spread:g} %" for run in row.outlying])


def _with_and_without(stack: PrintedStack, name: str) -> Iterator[RenderableType]:
    row, trimmed = next(row for row in stack.rows if label(row) == name), stack.trimmed[name]
    yield Text(f"{name}: outlying run {outlying_text(row)}", style="yellow")
    for words, each in (("with", row), ("without", trimmed)):
        steps = [
            f"{step.name} {change(step.ratio)} ({interval(step.low, step.high)}) {step.word}" for step in each.steps
        ]
        yield Text(f"  {words}: {'; '.join(steps)}")
    yield Text()


def _summary_table(summary: Mapping[str, Combined | None]) -> RenderableType:
    known = {name: mean for name, mean in summary.items() if mean is not None}
    texts = [
        (name, change(mean.ratio), interval(mean.low, mean.high), p_value(mean.p), change(1 + mean.tau),
         f"{100 * mean.i_squared:.0f} %", p_value(mean.p_equal))
        for name, mean in known.items()
    ]  # fmt: skip
    headings = ("change", "mean", "95 % interval", "p", "τ", "I²", "p of equal rows")
    columns = [
        Column(heading, [Text(text[place]) for text in texts], "number" if place else "name")
        for place, heading in enumerate(headings)
    ]
    return Columns(columns)


def _waterfall(summary: Mapping[str, Combined | None]) -> Iterator[Text]:
    """Yield a line for each change: a bar from the level before the change to the level after the change."""
    known = {name: 100 * (mean.ratio - 1) for name, mean in summary.items() if mean is not None}
    levels = [0.0]
    for gain in known.values():
        levels.append(levels[-1] + gain)
    low, high = min(levels), max(levels)
    scale = BAR / (high - low or 1.0)
    width = max(map(len, known), default=0)
    yield Text()
    for (name, gain), before, after in zip(known.items(), levels, levels[1:], strict=False):
        start, end = (round((each - low) * scale) for each in sorted((before, after)))
        bar = " " * start + ("█" if gain >= 0 else "▒") * max(end - start, 1)
        line = Text(f"{name:{width}} ")
        line.append(f"{bar:{BAR + 1}}", style="green" if gain >= 0 else "red")
        line.append(f" {percent(gain, signed=True)} → {percent(after, signed=True)}")
        yield line


def _trimmed_summary(stack: PrintedStack) -> Iterator[RenderableType]:
    if stack.trimmed:
        yield Text()
        yield Text("without the outlying runs", style="bold")
        yield _summary_table(stack.trimmed_summary)
    text = "τ: standard deviation of the rows' true changes; I²: share of the spread that differences of rows explain."
    yield Text(text, style="dim")

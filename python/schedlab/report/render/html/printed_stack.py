"""A stack in printed tables as one HTML page: a heat map of changes and rows, and waterfalls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from markupsafe import Markup

from schedlab.analysis.printed_stack import AttributedRow
from schedlab.analysis.verdicts import Word
from schedlab.findings.printed_stack import PrintedStack, label
from schedlab.report.numbers import change, interval, p_value, percent
from schedlab.report.printed_stack import can_show, gain_text, outlying_text, rare_events, step_of
from schedlab.report.render.html.legacy import environment, policy, text

FULL = 0.1
"""Gain with the strongest colour; larger gains look the same."""


@dataclass(frozen=True)
class Square:
    """A cell of the heat map: its text, the class of its colour, the strength from 0 to 1, and its interval and p."""

    text: str
    word: str
    strength: float
    details: str


@dataclass(frozen=True)
class Bar:
    """A bar of a waterfall, in per cent of the picture's width; ``word`` is the class of its colour."""

    name: str
    left: float
    width: float
    word: str
    text: str


def render(stack: PrintedStack) -> str:
    """Return the page; it needs no other file, no network and no script."""
    names = list(stack.stack)[1:]
    means = {name: mean.ratio - 1 for name, mean in stack.summary.items() if mean is not None}
    return (
        environment()
        .get_template("printed_stack.html.j2")
        .render(
            stack=stack,
            names=names,
            label=label,
            squares={label(row): [_square(row, name) for name in names] for row in stack.rows},
            outlying={label(row): outlying_text(row) for row in stack.rows if row.outlying},
            summaries=[("all runs", stack.summary), ("without the outlying runs", stack.trimmed_summary)],
            waterfalls={"mean over rows": bars(means)} | {label(row): bars(_gains(row)) for row in stack.rows},
            remarks=list(can_show(stack)),
            rare_events=list(rare_events(stack)),
            interval_of=lambda each: interval(each.low, each.high),
            full=FULL,
            style=Markup(text("report.css")),
            policy=policy(),
        )
    )


def _gains(row: AttributedRow) -> dict[str, float]:
    return {step.name: exp(step.gain) - 1 for step in row.steps}


def _square(row: AttributedRow, name: str) -> Square:
    step = step_of(row, name)
    if step is None:
        return Square("-", "", 0.0, "the change was not measured alone")
    details = f"change {change(step.ratio)}, interval {interval(step.low, step.high)}, p {p_value(step.p)}"
    word = str(Word.BETTER if step.gain > 0 else Word.WORSE)
    return Square(gain_text(step, row), word, min(abs(step.gain) / FULL, 1.0), details)


def bars(gains: dict[str, float]) -> Sequence[Bar]:
    """Return a bar for each change, from the level before the change to the level after the change."""
    levels = [0.0]
    for gain in gains.values():
        levels.append(levels[-1] + gain)
    low, span = min(levels), (max(levels) - min(levels)) or 1.0
    return [
        Bar(
            name,
            100 * (min(before, before + gain) - low) / span,
            max(100 * abs(gain) / span, 0.5),
            str(Word.BETTER if gain > 0 else Word.WORSE),
            percent(100 * gain, signed=True),
        )
        for (name, gain), before in zip(gains.items(), levels, strict=False)
    ]

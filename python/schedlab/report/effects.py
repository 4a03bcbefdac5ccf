"""Which part does it: a stack's steps and a factorial's effects as tables that text and Markdown show alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from schedlab import kinds
from schedlab.analysis.attribution import Attribution
from schedlab.analysis.factorial import SwitchEffect
from schedlab.analysis.together import Effect
from schedlab.analysis.verdicts import Question
from schedlab.findings import Findings
from schedlab.report.numbers import change, interval, p_value

STEPS = "Steps of the stack"
EFFECTS = "Effects of the switches"


@dataclass(frozen=True)
class Section:
    """One row's table: a line for each effect, each with a cell for every heading; ``words`` are the verdicts' own.

    ``remarks`` say what could not be told.
    """

    title: str
    question: Question
    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def sections(findings: Findings) -> list[Section]:
    """All tables: those of a stack first, row by row."""
    level = f"{100 * (1 - findings.options.alpha):g} % interval"
    emulated = any(kinds.emulated(column.run.kind) for column in findings.columns)
    stack = [_stack(attribution, level, emulated=emulated) for attribution in findings.attribution]
    return [*stack, *_switches(findings.effects, level, emulated=emulated)]


def explanation(findings: Findings) -> str:
    """What the intervals and p values of these tables are; empty where there are none."""
    if not findings.attribution and not findings.effects:
        return ""
    whole = "Steps multiply to the whole. " if findings.attribution else ""
    return f"{whole}Intervals hold for all lines of a table together; p is adjusted over them, verdicts over rows too."


def _stack(found: Attribution, level: str, *, emulated: bool) -> Section:
    mark = _mark(found.question, emulated=emulated)
    lines = [_line(step.name, f"{step.since} → {step.until}", step, mark) for step in found.steps]
    whole = ("whole", f"{found.stack[0]} → {found.stack[-1]}", change(found.ratio), interval(found.low, found.high))
    return Section(
        title=STEPS,
        question=found.question,
        headings=("step", "between", "change", level, "p", "verdict"),
        lines=(*lines, (*whole, "", "")),
        words=(*(step.word for step in found.steps), ""),
        remarks=found.gaps,
    )


def _switches(found: Sequence[SwitchEffect], level: str, *, emulated: bool) -> Iterator[Section]:
    for question in dict.fromkeys(effect.question for effect in found):
        of_row = [effect for effect in found if effect.question == question]
        aliased = [
            f"{effect.name} cannot be told apart from {', '.join(effect.aliases)}"
            for effect in of_row
            if effect.aliases
        ]
        yield Section(
            title=EFFECTS,
            question=question,
            headings=("switch", "kind", "change", level, "p", "verdict"),
            lines=tuple(
                _line(effect.name, _kind(effect), effect, _mark(question, emulated=emulated)) for effect in of_row
            ),
            words=tuple(effect.word for effect in of_row),
            remarks=tuple(aliased),
        )


def _kind(effect: SwitchEffect) -> str:
    return "main" if len(effect.switches) == 1 else "interaction"


def _mark(question: Question, *, emulated: bool) -> str:
    """What a verdict on a time or a rate of an emulator must have said with it."""
    return " (emulated)" if emulated and kinds.tells_speed(question.unit) else ""


def _line(name: str, beside: str, effect: Effect, mark: str) -> tuple[str, ...]:
    numbers = (change(effect.ratio), interval(effect.low, effect.high), p_value(effect.p))
    return (name, beside, *numbers, _word(effect, mark))


def _word(effect: Effect, mark: str) -> str:
    if effect.word != "inconclusive":
        return f"{effect.word}{mark}"
    if effect.reason:
        return f"inconclusive{mark} ({effect.reason})"
    seen = f"sees {100 * effect.detectable:.1f} %" if isfinite(effect.detectable) else "too few to see anything"
    return f"inconclusive{mark} ({seen})"

"""Tables of a change's parts: steps of a stack and effects of switches, with the same cells in every format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.report import words
from schedlab.report.document import Effect, EffectsRow, Factorial, Report, Stack, Switch
from schedlab.report.numbers import change, interval, p_value
from schedlab.results.words import Word

STEPS = "Steps of the stack"
EFFECTS = "Effects of the switches"
WHOLE = "whole"


@dataclass(frozen=True)
class Line:
    """One effect, or the total of a stack, which has no verdict; ``detail`` is the kind of effect or the pair of
    variants."""

    name: str
    detail: str
    effect: Effect | Stack
    word: Word | None
    p: str
    remark: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts below the section's headings, without the verdict."""
        size = change(self.effect.ratio), interval(self.effect.low, self.effect.high)
        return self.name, self.detail, *size, self.p


@dataclass(frozen=True)
class Section:
    """The table of one row; ``remarks`` name gaps and aliases."""

    title: str
    row: EffectsRow
    headings: tuple[str, ...]
    lines: tuple[Line, ...]
    remarks: tuple[str, ...]

    def line(self, name: str) -> Line | None:
        """Return the line of this name. A gap in a stack removes a step from a row."""
        return next((line for line in self.lines if line.name == name), None)


def sections(report: Report) -> list[Section]:
    """Return the tables of all rows, stacks first."""
    return [_stack(stack, report) for stack in report.stacks] + [_switches(row, report) for row in report.factorials]


def explanation(report: Report) -> str:
    """Explain the intervals and p values of these tables; empty without such a table."""
    if not report.stacks and not report.factorials:
        return ""
    total = "The product of the steps is the total. " if report.stacks else ""
    return (
        f"change: of geometric means, {words.CHANGE_SIGN}. {total}Intervals hold for all lines of a table together; "
        f"p is corrected over the lines of all tables, and decides the verdicts."
    )


def _stack(stack: Stack, report: Report) -> Section:
    lines = [_line(step, f"{step.since} → {step.until}", stack, report) for step in stack.steps]
    whole = Line(WHOLE, f"{stack.stack[0]} → {stack.stack[-1]}", stack, None, "", "")
    return Section(STEPS, stack, _headings("step", "between", report), (*lines, whole), tuple(stack.gaps))


def _switches(factorial: Factorial, report: Report) -> Section:
    def kind(effect: Switch) -> str:
        return "main" if len(effect.switches) == 1 else "interaction"

    lines = tuple(_line(effect, kind(effect), factorial, report) for effect in factorial.effects)
    aliases = tuple(
        f"{effect.name} is indistinguishable from {', '.join(effect.aliases)}"
        for effect in factorial.effects
        if effect.aliases
    )
    return Section(EFFECTS, factorial, _headings("switch", "kind", report), lines, aliases)


def _headings(name: str, detail: str, report: Report) -> tuple[str, ...]:
    return name, detail, "change", f"{100 * (1 - report.judging.alpha):g} % interval", "p", "verdict"


def _line(effect: Effect, detail: str, row: EffectsRow, report: Report) -> Line:
    remarks = [words.EMULATED] if words.emulated_speed([run.kind for run in report.runs], row.unit) else []
    if effect.verdict is Word.INCONCLUSIVE:
        remarks.append(effect.reason or words.mde(effect.detectable))
    if effect.verdict is Word.EQUIVALENT:
        remarks.append(words.rare_event(effect.event_share))
    shown = words.in_parentheses(remarks)
    return Line(effect.name, detail, effect, effect.verdict, p_value(effect.p_adjusted), shown)


def names(of_title: Sequence[Section]) -> list[str]:
    """Return the names of all lines of several rows, the total last."""
    lines = [line for section in of_title for line in section.lines]
    return list(dict.fromkeys(line.name for line in sorted(lines, key=lambda line: line.word is None)))

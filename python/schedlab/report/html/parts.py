"""Which part does it: a stack's steps and a factorial's effects, as tables with a forest plot of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.findings import Findings
from schedlab.report.effects import Section, sections
from schedlab.report.html.forest import Bounded


@dataclass(frozen=True)
class Line:
    """One part: its texts below the section's headings, its verdict's word (empty for the whole), and its ratio."""

    texts: tuple[str, ...]
    word: str
    bounds: Bounded

    @property
    def name(self) -> str:
        """The step, the switch, or ``whole``."""
        return self.texts[0]

    @property
    def whole(self) -> bool:
        """Whether it is all steps of a stack together, which have no verdict of their own here."""
        return not self.word


@dataclass(frozen=True)
class Part:
    """One row's parts."""

    section: Section
    lines: tuple[Line, ...]

    def line(self, name: str) -> Line | None:
        """The line of this name; a gap in a stack leaves a step out of some rows."""
        return next((line for line in self.lines if line.name == name), None)


@dataclass(frozen=True)
class Parts:
    """All rows of one kind: steps of a stack, or effects of switches; ``names`` are the parts that any row has."""

    title: str
    names: tuple[str, ...]
    parts: tuple[Part, ...]


def parts(findings: Findings) -> list[Parts]:
    """The stack's steps first; nothing where the experiment names neither stack nor switches."""
    bounds: list[Sequence[Bounded]] = [[*found.steps, found] for found in findings.attribution]
    questions = dict.fromkeys(effect.question for effect in findings.effects)
    bounds += [[effect for effect in findings.effects if effect.question == question] for question in questions]
    found = [_part(*pair) for pair in zip(sections(findings), bounds, strict=True)]
    return [_of_kind(title, found) for title in dict.fromkeys(part.section.title for part in found)]


def _part(section: Section, bounds: Sequence[Bounded]) -> Part:
    return Part(section, tuple(Line(*each) for each in zip(section.lines, section.words, bounds, strict=True)))


def _of_kind(title: str, found: Sequence[Part]) -> Parts:
    """The whole comes last, whatever gaps a later row brings."""
    of_kind = tuple(part for part in found if part.section.title == title)
    names = dict.fromkeys(
        line.name for whole in (False, True) for part in of_kind for line in part.lines if line.whole is whole
    )
    return Parts(title, tuple(names), of_kind)

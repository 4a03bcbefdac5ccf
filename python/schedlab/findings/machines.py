"""Findings of a fleet: runs of one experiment on several machines, and each row over these machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlalchemy import Engine

from schedlab.analysis.cells import block_means, smallest_step
from schedlab.analysis.machines import Combined, Effect, combine
from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.paired import log_ratios
from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import Options, Verdict, event_share, word
from schedlab.errors import StoreError
from schedlab.findings.run import Findings, findings
from schedlab.results.words import DIFFERENT, Word
from schedlab.store import reader


@dataclass(frozen=True)
class Machine:
    """A machine of a fleet: its name, and its run; without a run, the reason ``fault``."""

    name: str
    run: reader.Run | None
    fault: str = ""

    @property
    def complete(self) -> bool:
        """Whether the machine's figures belong to the summary."""
        return self.run is not None and self.run.state == "complete"


@dataclass(frozen=True)
class Row:
    """A variant in a row over machines.

    Attributes:
        question, variant, control: the row; whether the variant is the A/A control.
        verdicts: the machines' own verdicts by the machine's name.
        combined: the figures over machines; None if fewer than two machines have two blocks with values above 0.
        word: the verdict on the mean ratio, with p adjusted for the variant's rows; None without ``combined``.
        apart: machines whose ratio differs from the ratios of the other machines.
    """

    question: Question
    variant: str
    control: bool
    verdicts: Mapping[str, Verdict]
    combined: Combined | None
    word: Word | None
    apart: tuple[str, ...]

    @property
    def event_share(self) -> float:
        """The share of all machines' blocks in which a rare event cannot be excluded, see :func:`event_share`."""
        return event_share(self.word, sum(verdict.n for verdict in self.verdicts.values()))


@dataclass(frozen=True)
class Fleet:
    """A fleet's machines and rows, and the options of the analysis."""

    machines: tuple[Machine, ...]
    rows: tuple[Row, ...]
    options: Options
    failed: int

    @cached_property
    def has_regression(self) -> bool:
        """Whether a variant is worse over the machines, or on a single machine."""
        words = (
            (row.word, *(verdict.word for verdict in row.verdicts.values())) for row in self.rows if not row.control
        )
        return any(Word.WORSE in each for each in words)


def fleet(engine: Engine, machines: Sequence[Machine]) -> Fleet:
    """Judge the runs of machines, and combine their rows. StoreError without a complete run."""
    judged = {
        machine.name: findings(engine, machine.run)
        for machine in machines
        if machine.run is not None and machine.run.state == "complete"
    }
    if not judged:
        raise StoreError(
            "no machine has a complete run", where=str(engine.url.database), todo="continue the runs with --resume"
        )
    options = next(iter(judged.values())).options
    keys = dict.fromkeys((v.question, v.variant, v.control) for each in judged.values() for v in each.verdicts)
    effects = {name: _effects(each) for name, each in judged.items()}
    rows = [_row(key, judged, effects, options) for key in keys]
    failed = sum(len(each.failures) for each in judged.values())
    return Fleet(tuple(machines), tuple(_with_words(rows, options)), options, failed)


RowKey = tuple[Question, str, bool]


def _effects(judged: Findings) -> dict[RowKey, Effect]:
    """Return the effects of one machine. A row without a verdict for lost trials, or with a 0, has no effect."""
    means = block_means(judged.values)
    effects = {}
    for verdict in judged.verdicts:
        question = verdict.question
        key = question.row
        cells = [means.get((*key, name), {}) for name in (judged.baseline, verdict.variant)]
        if verdict.n < 2 or not all(cells) or verdict.p != verdict.p:
            continue
        try:
            ratios = log_ratios(*cells)
        except ValueError:
            continue
        effect = Effect.of(ratios, smallest_step([value for cell in cells for value in cell.values()]))
        if effect is not None:
            effects[question, verdict.variant, verdict.control] = effect
    return effects


def _row(
    key: RowKey, judged: Mapping[str, Findings], effects: Mapping[str, Mapping[RowKey, Effect]], options: Options
) -> Row:
    verdicts = {
        name: verdict
        for name, each in judged.items()
        for verdict in each.verdicts
        if (verdict.question, verdict.variant, verdict.control) == key
    }
    of_row = {name: of_machine[key] for name, of_machine in effects.items() if key in of_machine}
    combined = combine(of_row, options.delta, 1 - options.alpha)
    apart = tuple(name for name, p in combined.p_apart.items() if p <= options.alpha) if combined else ()
    return Row(*key, verdicts, combined, None, apart)


def _with_words(rows: Sequence[Row], options: Options) -> list[Row]:
    """Return the rows with their words; p values are adjusted over the rows of each variant (Holm).

    A difference is unconfirmed if it is unconfirmed on one of the machines.
    """
    words: dict[tuple[Question, str], Word] = {}
    for variant in dict.fromkeys(row.variant for row in rows):
        family = [(row, row.combined) for row in rows if row.variant == variant and row.combined is not None]
        different = adjust([combined.p for _, combined in family], "holm")
        same = adjust([combined.p_equivalent for _, combined in family], "holm")
        for (row, combined), p, q in zip(family, different, same, strict=True):
            judged = word(row.question, combined.ratio, p, q, options.alpha)
            is_doubtful = any(verdict.word is Word.UNCONFIRMED for verdict in row.verdicts.values())
            words[row.question, variant] = Word.UNCONFIRMED if is_doubtful and judged in DIFFERENT else judged
    return [replace(row, word=words.get((row.question, row.variant))) for row in rows]

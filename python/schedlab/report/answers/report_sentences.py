"""The sentences of a report: for each variant, what its rows show together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedlab.notation.units import counted
from schedlab.report import summaries, words
from schedlab.report.answer import Sentence, Tone
from schedlab.report.document import Report, Row
from schedlab.report.numbers import sizes
from schedlab.results.words import DIFFERENT, Word

NAMED = 2
"""Rows up to which a sentence names its rows."""


def sentences(report: Report) -> list[Sentence]:
    """Return a sentence for each variant, or a sentence on why nothing is compared."""
    of_variants = [
        Sentence(column.name, _text(rows, report), _tone(rows))
        for column in report.columns[1:]
        if (rows := [row for row in report.rows if row.variant == column.name and not row.control and not row.tied_to])
    ]
    return of_variants or [Sentence("", words.alone(report))]


def worse(report: Report, column: str) -> tuple[str, str]:
    """Return the size of a column's changes for the worse and their rows in words; empty without such a change."""
    rows = [row for row in report.rows if row.variant == column and not row.control and not row.tied_to]
    of_word = [row for row in rows if row.verdict is Word.WORSE]
    return (_size(Word.WORSE, of_word), _where(of_word, rows)) if of_word else ("", "")


def _tone(rows: Sequence[Row]) -> Tone:
    """Return the most important word of all rows; of both directions, the worse."""
    verdicts = {row.verdict for row in rows}
    order = (Word.WORSE, Word.BETTER, Word.UNCONFIRMED, Word.INCONCLUSIVE, Word.EQUIVALENT)
    return next(word for word in order if word in verdicts)


def _text(rows: Sequence[Row], report: Report) -> str:
    order = (*DIFFERENT, Word.UNCONFIRMED, Word.EQUIVALENT, Word.INCONCLUSIVE)
    by_word = [(word, [row for row in rows if row.verdict is word]) for word in order]
    clauses = [_clause(word, of_word, rows, report) for word, of_word in by_word if of_word]
    return f"{'; '.join(clauses)}{_emulated(rows, report)}."


def _clause(word: Word, of_word: Sequence[Row], rows: Sequence[Row], report: Report) -> str:
    where = _where(of_word, rows)
    if word in DIFFERENT:
        return f"{_size(word, of_word)}{where}"
    if word is Word.UNCONFIRMED:
        reasons = words.listed(list(dict.fromkeys(row.reason for row in of_word)), NAMED)
        return f"{word}{where} ({', '.join(_directions(of_word))}), because {reasons}"
    if word is Word.EQUIVALENT:
        return f"{word} within ±{100 * report.judging.delta:g} %{where}"
    known = words.mde_range([row for row in of_word if not row.reason])
    others = list(dict.fromkeys(row.reason for row in of_word if row.reason))
    why = f"a change of {known} would have been found" if known else words.listed(others, 1)
    return f"{word}{where}: {why}"


def _directions(rows: Sequence[Row]) -> Iterator[str]:
    for word in DIFFERENT:
        if of_word := [row for row in rows if summaries.direction_of(row) is word]:
            yield _size(word, of_word)


def _size(word: Word, rows: Sequence[Row]) -> str:
    """Return the word with the range of the changes: ``better by 15 to 68 %``."""
    known = [row.ratio for row in rows if row.ratio is not None]
    return f"{word} by {sizes(known)}" if known else f"{word}, {words.FROM_0}"


def _where(of_word: Sequence[Row], rows: Sequence[Row]) -> str:
    """Name the rows if they are few, count them otherwise."""
    if len(of_word) == len(rows) > NAMED:
        return f" in all {counted(len(rows), 'row')}"
    if len(of_word) > NAMED:
        return f" in {len(of_word)} of {counted(len(rows), 'row')}"
    shared = summaries.shared_parameters(rows)
    largest = sorted(of_word, key=words.extent, reverse=True)
    return f" in {' and '.join(summaries.short_name(row, shared) for row in largest)}"


def _emulated(rows: Sequence[Row], report: Report) -> str:
    if any(words.emulated_speed(row.kind.split("/"), row.unit) for row in rows):
        return "; times of an emulated machine, which mean nothing"
    return ""

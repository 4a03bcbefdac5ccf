"""The answer of ``schedlab cost``: instructions of kernel paths, by function, and cache lines on a machine model."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from schedlab.findings.cache import Cache
from schedlab.findings.cost import Cell, Cost, disagreeing
from schedlab.findings.functions import Functions, Line
from schedlab.notation.units import counted
from schedlab.report import answer as document
from schedlab.report.answer import QUIET, Answer, Column, Next, Section, Sentence, Setting, Table, Warning
from schedlab.report.fields.cost import fields
from schedlab.report.numbers import UNKNOWN, change, percent
from schedlab.report.words import CONTROL, listed
from schedlab.results.words import DIFFERENT, UNDECIDED, Word

SHOWN = 12
"""Functions of a path in a table; JSON and folded stacks have all functions."""

_MEANING = {Word.WORSE: "more instructions in", Word.BETTER: "fewer in", Word.EQUIVALENT: "equivalent in",
            Word.UNCONFIRMED: "unconfirmed in", Word.INCONCLUSIVE: "inconclusive, with so few seeds, in"}  # fmt: skip


MOST_NAMED = 4
"""Paths up to which a sentence names each path with its change."""

EMPTY = "the empty path (none)"
"""Name of the path ``none`` in a sentence."""


def compose(
    cost: Cost,
    functions: Functions | None = None,
    cache: Cache | None = None,
    repeat: Sequence[str] = (),
    report: Sequence[str] = (),
) -> Answer:
    """Return the answer. ``repeat`` are the words of this command without its seeds; ``report`` the words of the
    report, empty if the store is temporary."""
    run, seeds = cost.run, counted(cost.run.design.blocks, "random seed")
    sections = [
        *([_functions("Kernel functions", functions, _function_notes(functions))] if functions else []),
        *([_lines(cache)] if cache else []),
    ]
    return Answer(
        kind="cost",
        title=f"run {run.id}: instructions of kernel paths",
        data=fields(cost, functions, cache),
        question=run.design.question,
        badges=["counted"],
        facts=[
            ("figures", f"median of {counted(cost.loops, 'operation')}, mean of {seeds}"),
            ("measured", f"{run.kind}, on {run.target}, random seed {run.seed}"),
        ],
        sentences=[_sentence(cost, column) for column in cost.columns if column in cost.against],
        warnings=[*_warnings(cost)],
        settings=[Setting(column, _sets(cost, column)) for column in cost.columns],
        parts=[_summary(cost, cache), *sections],
        commands=[*_commands(cost, functions, repeat, report)],
    )


def _sentence(cost: Cost, column: str) -> Sentence:
    """Say in which paths a column differs from the column that it is compared with, and by how much."""
    by_word = cost.by_word(column)
    parts = []
    for word, meaning in _MEANING.items():
        if cells := by_word.get(word):
            names = f"all {counted(len(cells), 'path')}" if len(cells) == len(cost.paths) > 1 else _names(cells)
            if word is not Word.EQUIVALENT:
                names = _sized(cells) if len(cells) <= MOST_NAMED else f"{names}{_size(cells)}"
            parts.append(f"{meaning} {names}")
    different = [word for word in DIFFERENT if word in by_word]
    others = [word for word in (*UNDECIDED, Word.EQUIVALENT) if word in by_word]
    tone = different[0] if len(different) == 1 else "" if different else next(iter(others), "")
    return Sentence(column, "; ".join(parts) or "no figure", tone)


def _names(cells: Sequence[Cell]) -> str:
    *others, last = (EMPTY if cell.path == "none" else cell.path for cell in cells)
    return listed([*others, last]) if len(cells) > MOST_NAMED else f"{', '.join(others)} and {last}" if others else last


def _sized(cells: Sequence[Cell]) -> str:
    """Name each path with its change: ``pipe (+0.5 %) and tcp (+14.0 %)``."""
    *others, last = (f"{cell.path} ({percent(100 * (cell.share or 0.0), signed=True)})" for cell in cells)
    return f"{', '.join(others)} and {last}" if others else last


def _size(cells: Sequence[Cell]) -> str:
    """Return the smallest and the largest change: `` (+0.5 to +1.4 %)``."""
    low, high = (percent(100 * (cell.share or 0.0), signed=True) for cell in (cells[0], cells[-1]))
    return f" ({high})" if low == high else f" ({low.removesuffix(' %')} to {high})"


def _warnings(cost: Cost) -> Iterator[Warning]:
    if bad := disagreeing(cost.control):
        paths = listed([cell.path for cell in bad])
        yield Warning("control", f"The {CONTROL} differs in {paths}: do not trust these lines.", "measure again")
    if any(len(cell.differences) == 1 for cell in cost.cells.values()):
        seen = "Some differences have the figures of a single random seed, as trials of the others failed."
        yield Warning("failed", seen, "'schedlab report --failures' shows why trials failed")


def _sets(cost: Cost, column: str) -> str:
    other, title = cost.against.get(column), cost.titles.get(column)
    sets = "; ".join(filter(None, (cost.settings.get(column), title)))
    return f"{sets}, compared with {other}" if sets and other else f"compared with {other}" if other else sets


def _summary(cost: Cost, cache: Cache | None) -> Table:
    lines = [
        document.Line([document.Cell(path), *(_cell(cost.cells[path, name], cost) for name in cost.columns)])
        for path in cost.paths
    ]
    columns = [Column("path", "name"), *(Column(name) for name in cost.columns)]
    return Table(columns, lines, "instructions of one operation", [*_notes(cost, cache)])


def _cell(cell: Cell, cost: Cost) -> document.Cell:
    seeds = ", ".join(f"{seed.instructions:,.10g}" for seed in cell.by_seed)
    depth = cell.depth if cell.column in cost.against else None
    tip = f"by seed: {seeds or 'no figure'}"
    return document.Cell(text_of(cell, cost), cell.share, cell.word or ("" if cell.values else QUIET), depth, tip=tip)


def text_of(cell: Cell, cost: Cost) -> str:
    """Return a figure, or for a compared column the difference: ``+240 (+1.7 %)``.

    ``~`` precedes means that depend on the random seed, ``?`` undecided differences.
    """
    if cell.mean is None:
        return UNKNOWN
    if cell.column not in cost.against or cell.share is None:
        return f"{'' if cell.is_constant else '~'}{cell.mean:,.0f}"
    low, high = cell.range
    if low == high:
        size = f"{low:+,.10g}" if low else "0"
    else:
        # The seeds differ by more than a fraction of an instruction, so whole instructions are enough.
        size = " … ".join(dict.fromkeys(f"{round(bound):+,}" for bound in (low, high)))
    mark = "? " if cell.word in UNDECIDED else ""
    return mark + size if size == "0" else f"{mark}{size} ({change(1 + cell.share)})"


def _notes(cost: Cost, cache: Cache | None) -> Iterator[str]:
    if undecided := cost.undecided:
        needed = undecided[0].seeds_needed
        seeds = counted(cost.run.design.blocks, "seed")
        can = f"; {needed} or more can" if needed else ""
        yield f"?: inconclusive, as in the report: {seeds} cannot decide a difference that a seed can change{can}."
    if cost.against:
        equal = f"Differences up to {percent(100 * cost.delta, 1)} are equivalent."
        one = "One number: the same with every seed that was counted"
        yield f"{equal} {one}. A range: the least and the greatest over the seeds."
    if any(not cell.is_constant for cell in cost.cells.values() if cell.column not in cost.against):
        yield "~: the random seed changes the figure, and the mean is shown."
    if "none" in cost.paths:
        yield "Each path contains the path none: the two readings of the clock and the program's step."
    if cost.control and not disagreeing(cost.control):
        yield f"The {CONTROL} repeats {cost.columns[0]}: equal in all {counted(len(cost.control), 'path')}."
    if cache is None:
        yield "Caches, stalls and remote memory are not counted (--cache MACHINE counts cache lines)."


def _functions(title: str, functions: Functions, notes: Sequence[str]) -> Section:
    columns = [Column("function", "remark"), *(Column(name) for name in functions.columns)]
    tables = [
        Table(columns, [document.Line([document.Cell(line.name), *(_part(line, name, functions)
                                                                   for name in functions.columns)])
                        for line in functions.table(path, SHOWN)], path)
        for path in functions.paths
    ]  # fmt: skip
    return Section(title, [*(document.Paragraph(note, "quiet") for note in notes), *tables], folded=True)


def _function_notes(functions: Functions) -> list[str]:
    first = "Instructions of the median operation, counted by a plug-in; means over the random seeds."
    most = f"The {SHOWN} functions with the largest differences are shown, without functions that do not differ."
    return [first, most] if functions.against else [first]


def _part(line: Line, column: str, functions: Functions) -> document.Cell:
    """Return the cell of a function: its instructions, or the difference to the compared column."""
    difference = line.differences.get(column)
    if column not in line.values:
        return document.Cell(UNKNOWN)
    if difference is None:
        return document.Cell(f"{line.values[column]:,.10g}", line.values[column])
    more = line.more_calls(column, functions.against[column])
    calls = f" ({more:+,.10g} {'call' if more in (1, -1) else 'calls'})" if more else ""
    tone = "" if not difference else Word.WORSE if difference > 0 else Word.BETTER
    text = f"{difference:+,.10g}" if difference else "0"
    return document.Cell(text + calls, difference, tone, 0.5 if difference else None)


def _lines(cache: Cache) -> Section:
    numbers = [*cache.sources, "instructions [ns]", "lines [ns]", "predicted [ns]", "change"]
    lines = []
    for (path, column), cell in cache.cells.items():
        share = cache.share(path, column)
        texts = [f"{cell.sources[source]:,.1f}" for source in cache.sources]
        texts += [f"{ns:,.0f}" for ns in (cell.instructions_ns, cell.lines_ns, cell.ns)]
        lines.append([path, column, *texts, "" if share is None else change(1 + share)])
    notes = [
        "Lines by their source: means over the middle half of the operations and over the random seeds.",
        f"Predicted: instructions by the time per instruction of {cache.machine}, lines by their source's latency.",
        "A store to a line that other caches have counts as a line of the farthest of them.",
        "Instruction fetches and page tables are not counted.",
    ]
    headings = {"path": "name", "kernel": "name", **dict.fromkeys(numbers, "number")}
    summary = document.table(headings, lines, notes=notes)  # type: ignore[arg-type]
    waits = _functions("Waits for cache lines", cache.waits, ["Nanoseconds in which functions wait for lines."])
    return Section(f"Cache lines on {cache.machine}", [summary, waits], folded=True)


def _commands(cost: Cost, functions: Functions | None, repeat: Sequence[str], report: Sequence[str]) -> Iterator[Next]:
    undecided = [cell for cell in cost.undecided if cell.seeds_needed]
    if repeat and undecided:
        seeds = undecided[0].seeds_needed
        decided = [cell for cell in undecided if cell.seeds_needed == seeds]
        reason = f"decides {len(decided)} of {counted(len(undecided), 'inconclusive difference')}"
        others = (
            "" if len(decided) == len(undecided) else f"; the last needs {undecided[-1].seeds_needed:,} random seeds"
        )
        yield Next(shlex.join([*repeat, "--seeds", str(seeds)]), reason + others)
    if repeat and functions is None and cost.against:
        words = [*repeat, "--seeds", str(cost.run.design.blocks), "--functions"]
        yield Next(shlex.join(words), "name the kernel functions behind the differences")
    if report:
        yield Next(shlex.join(report), f"intervals of the same verdicts, beside {cost.columns[0]}")

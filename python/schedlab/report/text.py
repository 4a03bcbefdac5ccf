"""The report for a terminal, 80 columns wide or more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from schedlab.analysis.tables import Checked
from schedlab.analysis.verdicts import Question, Verdict
from schedlab.findings import Findings
from schedlab.report import effects, printed, telling
from schedlab.report.numbers import change, figure, interval
from schedlab.report.verdict_words import evidence, evidence_headings, heading_of_interval, method, word

LISTED = 10
"""Failed trials and unmatched rows that are listed; the store and the JSON have them all."""

NAMES = 22
"""Columns that a variant's name may take before it is folded."""

_STYLE = {"better": "green", "worse": "red", "equivalent": "cyan", "inconclusive": "yellow"}


Beside = Mapping[tuple[str, str, str], str]
"""Words to put beside verdicts, by workload, parameters (canonical JSON) and variant."""


def render(findings: Findings, beside: Beside | None = None) -> RenderableType:
    """The whole report as one thing to print, with the words ``beside`` below the variants that have some."""
    return Group(*_parts(findings, beside or {}))


def to_text(findings: Findings, width: int, beside: Beside | None = None) -> str:
    """The report as plain text of this width."""
    return plain(render(findings, beside), width)


def plain(part: RenderableType, width: int) -> str:
    """Anything to print as plain text of this width, without spaces at the ends of lines."""
    console = plain_console(width)
    with console.capture() as capture:
        console.print(part)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def plain_console(width: int) -> Console:
    """A console for pipes and files: this wide, no colours, no escapes."""
    return Console(width=width, no_color=True, highlight=False, markup=False, force_terminal=False)


def _parts(findings: Findings, beside: Beside) -> Iterator[RenderableType]:
    yield _heading(findings)
    if summary := telling.counted(findings):
        yield Text("\n" + "\n".join(summary))
    for question, verdicts in groupby(findings.verdicts, key=lambda verdict: verdict.question):
        yield Text()
        yield _row_title(question)
        of_row = list(verdicts)
        yield Padding(_row_table(of_row, findings), (0, 0, 0, 2))
        for verdict in of_row:
            if words := beside.get((question.workload, question.parameters, verdict.variant)):
                yield Padding(Text(f"{verdict.variant}: {words}", style="dim"), (0, 0, 0, 2))
    if said := telling.alone(findings):
        yield Text(f"\n{said}")
    if findings.verdicts:
        yield Text(f"\n{method(findings)}", style="dim")
    yield from _effects(findings)
    yield from _printed(findings)
    yield from _listed("Not compared throughout", list(telling.unmatched_lines(findings)), "dim")
    yield from _listed(f"Failed trials: {len(findings.failures)}", _failures(findings), "red")
    if findings.warnings:
        yield Text("\nWarnings", style="bold")
    for _, of_kind in groupby(findings.warnings, key=lambda warning: warning.kind):
        for warning in (alike := list(of_kind)):
            yield Text.assemble(("! ", "yellow"), warning.seen)
        yield Padding(Text(f"→ {alike[0].todo}", style="dim"), (0, 0, 0, 2))
    if findings.notes:
        yield Text("\n" + "\n".join(findings.notes), style="dim")


def _heading(findings: Findings) -> RenderableType:
    text = Text(telling.subject(findings), style="bold")
    if findings.run.design.question:
        text.append(f"\n{findings.run.design.question}", style="italic not bold")
    if len(findings.runs) == 1:
        run = findings.run
        where = ", ".join(part for part in (run.target, telling.machine(run)) if part)
        known = f" (machine {run.fingerprint_hash})" if run.fingerprint_hash != "-" else ""
        place = f"{telling.began(run)} on {where}{known}\n" if run.design.paired else ""
        text.append(f"\n{place}{telling.design(run)}", style="not bold dim")
        return text
    return Group(text, Padding(_columns(findings), (0, 0, 0, 2)))


def _columns(findings: Findings) -> Table:
    """What each column of a comparison is."""
    table = _plain_table()
    table.add_column("column", overflow="fold", max_width=NAMES)
    table.add_column("what it is", overflow="fold")
    for column in findings.columns:
        machine = telling.machine(column.run)
        told = f"{telling.column_line(column)}{f'; {machine}' if machine else ''}"
        table.add_row(column.name, Text(told, style="dim"))
    return table


def _row_title(question: Question) -> Text:
    better = f"{question.direction} is better"
    given = telling.parameters(question)
    told = f"{given}  {question.metric}" if given else f" {question.metric}"
    return Text.assemble((f"{question.workload} ", "bold"), f"{told} [{question.unit}], {better}")


def _row_table(verdicts: Sequence[Verdict], findings: Findings) -> Table:
    table = _plain_table()
    table.add_column("variant", overflow="fold", max_width=NAMES)
    for name in ("mean", "change"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(heading_of_interval(findings), justify="right", no_wrap=True)
    for name in evidence_headings(findings):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    empty = [""] * (2 + len(evidence_headings(findings)))
    table.add_row(findings.baseline, figure(verdicts[0].baseline_mean), *empty, Text("baseline", style="dim"))
    for verdict in verdicts:
        table.add_row(
            verdict.variant,
            figure(verdict.mean),
            change(verdict.ratio),
            interval(verdict.low, verdict.high),
            *evidence(verdict, findings),
            _word(verdict, findings),
        )
    return table


def _plain_table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False, header_style="dim")


def _word(verdict: Verdict, findings: Findings) -> Text:
    told, more = word(verdict, findings)
    if verdict.control:
        return Text(told, style="yellow" if told.endswith("off") else "dim")
    text = Text(told, style=_STYLE[verdict.word])
    return text.append(f" {more}", style="dim") if more else text


def _effects(findings: Findings) -> Iterator[RenderableType]:
    """The tables of a stack's steps and of a factorial's effects, where the experiment has them."""
    for title, of_title in groupby(effects.sections(findings), key=lambda section: section.title):
        yield Text(f"\n{title}", style="bold")
        for section in of_title:
            yield Text()
            yield _row_title(section.question)
            table = _plain_table()
            for name in section.headings:
                is_number = name in section.headings[2:5]
                table.add_column(name, justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
            for line, verdict in zip(section.lines, section.words, strict=True):
                table.add_row(*line[:-1], Text(line[-1], style=_STYLE.get(verdict, "")))
            yield Padding(table, (0, 0, 0, 2))
            yield from (Padding(Text(remark, style="dim"), (0, 0, 0, 2)) for remark in section.remarks)
    if told := effects.explanation(findings):
        yield Text(f"\n{told}", style="dim")


def _printed(findings: Findings) -> Iterator[RenderableType]:
    """Tables that a source printed, each over as many parts as its columns need."""
    for checked in findings.checked:
        yield Text(f"\n{printed.title(checked)}", style="bold")
        yield _Lines(checked)
        yield from (Text(remark, style="yellow" if remark[:1] == "!" else "dim") for remark in printed.remarks(checked))
    if findings.checked:
        yield Text(f"\n{printed.explanation(findings.checked)}", style="dim")


@dataclass(frozen=True)
class _Lines:
    """A printed table, as wide as what it is printed on."""

    checked: Checked

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in printed.lines(self.checked, options.max_width):
            yield Text(line, no_wrap=True, overflow="ignore")


def _failures(findings: Findings) -> list[str]:
    return [
        f"{row['position']}: {row['workload']} under {row['variant']}: {row['reason'].strip().partition(chr(10))[0]}"
        for row in findings.failures.iter_rows(named=True)
    ]


def _listed(title: str, lines: Sequence[str], style: str) -> Iterator[RenderableType]:
    """A title and the first of the lines; nothing for none."""
    if lines:
        yield Text(f"\n{title}", style="bold")
        yield from (Text(line, style=style) for line in lines[:LISTED])
        if len(lines) > LISTED:
            yield Text(f"and {len(lines) - LISTED} more", style="dim")

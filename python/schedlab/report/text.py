"""The report for a terminal, 80 columns wide or more."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from schedlab.analysis.verdicts import Question, Verdict
from schedlab.findings import Findings
from schedlab.report.numbers import change, figure, interval, p_value

LISTED = 10
"""Failed trials that are listed; the store has them all."""

_STYLE = {"better": "green", "worse": "red", "equivalent": "cyan", "inconclusive": "yellow"}


Beside = Mapping[tuple[str, str, str], str]
"""Words to put beside verdicts, by workload, parameters (canonical JSON) and variant."""


def render(findings: Findings, beside: Beside | None = None) -> RenderableType:
    """The whole report as one thing to print, with the words ``beside`` below the variants that have some."""
    return Group(*_parts(findings, beside or {}))


def to_text(findings: Findings, width: int) -> str:
    """The report as plain text of this width."""
    console = plain_console(width)
    with console.capture() as capture:
        console.print(render(findings))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def plain_console(width: int) -> Console:
    """A console for pipes and files: this wide, no colours, no escapes."""
    return Console(width=width, no_color=True, highlight=False, markup=False, force_terminal=False)


def _parts(findings: Findings, beside: Beside) -> Iterator[RenderableType]:
    yield _heading(findings)
    for question, verdicts in groupby(findings.verdicts, key=lambda verdict: verdict.question):
        yield Text()
        yield _row_title(question)
        of_row = list(verdicts)
        yield Padding(_row_table(of_row, findings), (0, 0, 0, 2))
        for verdict in of_row:
            if words := beside.get((question.workload, question.parameters, verdict.variant)):
                yield Padding(Text(f"{verdict.variant}: {words}", style="dim"), (0, 0, 0, 2))
    if not findings.verdicts:
        yield Text("\nOne variant and no control: there is nothing to compare.")
    yield _explanation(findings)
    yield from _failures(findings)
    if findings.warnings:
        yield Text("\nWarnings", style="bold")
    for warning in findings.warnings:
        yield Text.assemble(("! ", "yellow"), warning.seen)
        yield Padding(Text(f"→ {warning.todo}", style="dim"), (0, 0, 0, 2))


def _heading(findings: Findings) -> Text:
    run = findings.run
    began = datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M UTC")
    kernel = (run.fingerprint.get("kernel") or {}).get("release")
    machine = (run.fingerprint.get("cpu") or {}).get("model")
    where = ", ".join(str(part) for part in (run.target, machine, kernel) if part)
    label = "" if run.kind == "real" else f" [{run.kind}]"
    quick = ", quick" if run.quick else ""
    text = Text(f"run {run.id}: {run.name}{label}", style="bold")
    if run.design.question:
        text.append(f"\n{run.design.question}", style="italic not bold")
    design = f"{run.design.blocks} blocks × {run.design.iterations}{quick}, seed {run.seed}"
    text.append(f"\n{began} on {where} (machine {run.fingerprint_hash})\n{design}", style="not bold dim")
    return text


def _row_title(question: Question) -> Text:
    parameters = " ".join(f"{name}={value}" for name, value in json.loads(question.parameters).items())
    better = f"{question.direction} is better"
    return Text.assemble(
        (f"{question.workload} ", "bold"), parameters, f"  {question.metric} [{question.unit}], {better}"
    )


def _row_table(verdicts: list[Verdict], findings: Findings) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False, header_style="dim")
    table.add_column("variant", overflow="fold", max_width=22)
    for name in ("mean", "change"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(f"{100 * (1 - findings.options.alpha):g} % interval", justify="right", no_wrap=True)
    table.add_column("p", justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    first = verdicts[0]
    table.add_row(
        findings.run.design.variants[0],
        figure(first.baseline_mean),
        "",
        "",
        "",
        Text("baseline", style="dim"),
    )
    for verdict in verdicts:
        table.add_row(
            verdict.variant,
            figure(verdict.mean),
            change(verdict.ratio),
            interval(verdict.low, verdict.high),
            p_value(verdict.p),
            _word(verdict, findings),
        )
    return table


def _word(verdict: Verdict, findings: Findings) -> Text:
    if verdict.control:
        alarm = verdict.p <= findings.options.alpha
        return Text("noise band, off" if alarm else "noise band", style="yellow" if alarm else "dim")
    text = Text(verdict.word, style=_STYLE[verdict.word])
    if verdict.word == "inconclusive":
        text.append(f" {_what_it_takes(verdict)}", style="dim")
    elif verdict.in_noise_band and verdict.word != "equivalent":
        text.append(" (in the noise band)", style="yellow")
    if verdict.n < findings.run.design.blocks:
        text.append(f" (n={verdict.n})", style="dim")
    if verdict.failed and not verdict.reason:
        text.append(f" ({verdict.failed} failed)", style="red")
    return text


def _what_it_takes(verdict: Verdict) -> str:
    if verdict.reason:
        return f"({verdict.reason})"
    return f"(sees {100 * verdict.detectable:.1f} %)"


def _failures(findings: Findings) -> Iterator[RenderableType]:
    """The failed trials, the first ten of them with their reasons."""
    if not len(findings.failures):
        return
    yield Text(f"\nFailed trials: {len(findings.failures)}", style="bold")
    for row in findings.failures.head(LISTED).iter_rows(named=True):
        reason = row["reason"].strip().partition("\n")[0]
        yield Text(f"{row['position']}: {row['workload']} under {row['variant']}: {reason}", style="red")
    if len(findings.failures) > LISTED:
        yield Text(f"and {len(findings.failures) - LISTED} more", style="dim")


def _explanation(findings: Findings) -> Text:
    """What the columns mean, and what the inconclusive rows would need."""
    options = findings.options
    over = "all rows of the run" if options.family == "run" else "each variant's rows"
    text = Text(
        f"\nchange: variant against baseline, paired by block. p: sign-flip permutation, raw; verdicts at "
        f"α = {options.alpha:g} after {options.correction} over {over}. equivalent: within "
        f"±{100 * options.delta:g} %. sees: the change that this run would have found 4 times in 5.",
        style="dim",
    )
    open_rows = [verdict for verdict in findings.verdicts if verdict.word == "inconclusive" and not verdict.control]
    needed = [verdict.blocks_needed for verdict in open_rows if verdict.blocks_needed is not None]
    if needed:
        text.append(f" Changes of {100 * options.delta:g} % would need {_span(needed)} blocks.")
    return text


def _span(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"

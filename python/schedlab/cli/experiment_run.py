"""The steps of ``schedlab run``."""

from __future__ import annotations

import shlex
from typing import Any

from schedlab.cli import plan_json, plan_text
from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.console import Console, make
from schedlab.cli.echo import echo
from schedlab.cli.gate import ExitAs, FailOn, verdict_code
from schedlab.cli.options import again, resuming, store_words
from schedlab.cli.watching import Shown
from schedlab.errors import Exit
from schedlab.execution import runs
from schedlab.execution.runs import Examined, Pilot, Request
from schedlab.findings.run import Findings, findings
from schedlab.report.answers.report import compose
from schedlab.report.build import build
from schedlab.report.render import json


def status(examined: Examined) -> Exit:
    """Return the exit code of ``--dry-run``."""
    return Exit.CANNOT_RUN if examined.missing else Exit.FINE


def fields(examined: Examined) -> dict[str, Any]:
    """Return the plan for JSON."""
    downloads = [each.what for each in examined.downloads]
    return plan_json.fields(examined.plan, examined.expected, downloads, examined.missing, examined.sizing)


def show_plan(request: Request, pilot: Pilot | None = None, *, verbose: bool, as_json: bool) -> Exit:
    """``--dry-run``: print what would run, the estimated time, and the reasons why the run cannot start here."""
    here = runs.examine(request, pilot)
    if as_json:
        echo(plan_json.text(fields(here)))
        return status(here)
    console = make()
    plan_text.show(console, here.plan, here.target, here.expected, here.downloads, here.missing, here.sizing)
    if here.sizing is not None:
        plan_text.show_sizing(console, here.plan, here.sizing)
    if verbose:
        plan_text.show_details(console, here.plan, here.expected)
    return status(here)


def run_and_report(request: Request, fail_on: FailOn | None, exit_as: ExitAs, *, as_json: bool = False) -> int:
    """Run the experiment, store its trials and print the report; return the exit code.

    As JSON, the report is all of standard output; progress and hints go to standard error.
    """
    console = make()
    aside = make(stderr=True) if as_json else console
    results = judged(request, aside)
    answer = compose(build(results, request.store if store_words(request.store) else None))
    if as_json:
        echo(json.render(answer), nl=False)
    else:
        present(answer, AnswerFormat.TEXT, width=console.width)
        console.hint("\nstore:", "" if request.store.temporary else str(request.store))
    shown = ["schedlab", "report", str(results.run.id), *store_words(request.store)]
    aside.hint("again:", shlex.join(again(request.store, shown)))
    return verdict_code(results, fail_on, exit_as)


def judged(request: Request, aside: Console, *, complete: bool = False) -> Findings:
    """Run the experiment and judge the trials; progress and messages go to ``aside``.

    With ``complete``, a resumed run may be complete: its trials are judged again.
    """
    watch = Shown(aside, resuming(request.store))
    return findings(*runs.run(request, watch, complete=complete))

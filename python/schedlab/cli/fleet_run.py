"""``schedlab run`` on several machines: the plans, and the summary."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from schedlab.analysis.verdicts import Verdict
from schedlab.cli import plan_json
from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.appearance import appearance
from schedlab.cli.console import make
from schedlab.cli.echo import echo
from schedlab.cli.experiment_run import fields, show_plan, status
from schedlab.cli.gate import SKIP, ExitAs, FailOn, print_judged, require_verdicts
from schedlab.cli.options import again, resuming, store_words
from schedlab.cli.watching import Shown
from schedlab.errors import Exit, SchedlabError
from schedlab.execution.fleet import run_fleet
from schedlab.execution.runs import Pilot, Request, examine
from schedlab.findings.machines import Fleet, Machine, fleet
from schedlab.report.answers.machines import compose
from schedlab.results.words import UNDECIDED


def show_plans(request: Request, names: Sequence[str], pilot: Pilot | None, *, verbose: bool, as_json: bool) -> int:
    """``--dry-run``: print the plan of each machine that can be reached."""
    worst = 0
    console = make()
    plans: list[dict[str, Any]] = []
    for name in names:
        of_machine = replace(request, target=name)
        try:
            if as_json:
                here = examine(of_machine, pilot)
                plans.append({"machine": name} | fields(here))
                ended = status(here)
            else:
                console.print(f"\n{name}", style="bold")
                ended = show_plan(of_machine, pilot, verbose=verbose, as_json=False)
        except SchedlabError as error:
            ended = error.exit_code
            if as_json:
                plans.append({"machine": name, "cannot_run": [str(error)]})
            else:
                console.say("cannot run here:", str(error))
        worst = max(worst, ended)
    if as_json:
        echo(plan_json.text({"schema": plan_json.SCHEMA, "machines": plans}))
    return worst


def run_and_summarise(
    request: Request, names: Sequence[str], fail_on: FailOn | None, exit_as: ExitAs, *, as_json: bool
) -> int:
    """Run the experiment on all machines, print the summary, and return the exit code."""
    aside = make(stderr=True)
    flags = [flag for flag, is_set in (("-q", appearance.quiet), ("-v", appearance.verbose)) if is_set]
    watch = Shown(aside, resuming(request.store))
    engine, ended = run_fleet(request, names, watch, flags)
    machines = [Machine(each.name, each.run, each.fault) for each in ended]
    if not any(machine.complete for machine in machines):
        for machine in machines:
            aside.say(f"{machine.name}:", machine.fault or "no complete run", "red")
        return Exit.CANNOT_RUN
    judged = fleet(engine, machines)
    present(compose(judged), AnswerFormat.JSON if as_json else AnswerFormat.TEXT)
    number = next(machine.run.id for machine in machines if machine.run)
    for words in (["report", "RUN"], ["report", str(number), "--machines"]):
        aside.hint("again:", shlex.join(again(request.store, ["schedlab", *words, *store_words(request.store)])))
    return code(judged, fail_on, exit_as)


def code(judged: Fleet, fail_on: FailOn | None, exit_as: ExitAs) -> int:
    """Return the exit code: machines without a complete run come first, then failed trials, then verdicts.

    SchedlabError if ``fail_on`` is given and a variant has no row that could be worse, on any machine.
    """
    if not all(machine.complete for machine in judged.machines):
        return Exit.CANNOT_RUN
    if judged.failed:
        return Exit.TRIALS_FAILED
    compared = [row for row in judged.rows if not row.control]
    verdicts: dict[str, list[Verdict]] = {}
    for row in compared:
        verdicts.setdefault(row.variant, []).extend(row.verdicts.values())
    if fail_on is not None and verdicts:
        print_judged([verdict for of_variant in verdicts.values() for verdict in of_variant], " of all machines")
    if judged.has_regression and (fail_on is FailOn.WORSE or exit_as is ExitAs.BISECT):
        return Exit.REGRESSION
    if exit_as is ExitAs.BISECT:
        return SKIP if any(row.word is None or row.word in UNDECIDED for row in compared) else Exit.FINE
    if fail_on is not None:
        require_verdicts(verdicts)
    return Exit.FINE

"""``schedlab run`` on several machines: one ``schedlab run`` for each machine, side by side, and the summary.

Each machine has a process, so that a failure of one machine cannot end the others. The processes write to one store;
the runs share the identity of the fleet.
"""

from __future__ import annotations

import secrets
import shlex
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Engine

from schedlab.analysis.verdicts import Verdict
from schedlab.cli import plan_json
from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.appearance import appearance
from schedlab.cli.console import Console, make
from schedlab.cli.echo import echo
from schedlab.cli.experiment_run import Pilot, Request, examined, resuming, same_place, show_plan
from schedlab.cli.gate import SKIP, ExitAs, FailOn, require_verdicts
from schedlab.cli.interruption import UNDONE, Left, ending, exit_code
from schedlab.cli.options import again, store_words
from schedlab.errors import Exit, SchedlabError, StoreError
from schedlab.experiment.seeds import machine_seed
from schedlab.findings.machines import Fleet, Machine, fleet, runs_of
from schedlab.report.answers.machines import compose
from schedlab.results.words import UNDECIDED
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.tunables import deferred_signals

HINTS = ("again:",)
"""Labels of lines of a machine's run that the summary replaces."""


def show_plans(request: Request, names: Sequence[str], pilot: Pilot | None, *, verbose: bool, as_json: bool) -> int:
    """``--dry-run``: print the plan of each machine that can be reached."""
    worst = 0
    console = make()
    plans: list[dict[str, Any]] = []
    for name in names:
        of_machine = replace(request, target=name)
        try:
            if as_json:
                here = examined(of_machine, pilot)
                plans.append({"machine": name} | here.fields())
                status = here.status
            else:
                console.print(f"\n{name}", style="bold")
                status = show_plan(of_machine, pilot, verbose=verbose, as_json=False)
        except SchedlabError as error:
            status = error.exit_code
            if as_json:
                plans.append({"machine": name, "cannot_run": [str(error)]})
            else:
                console.say("cannot run here:", str(error))
        worst = max(worst, status)
    if as_json:
        echo(plan_json.text({"schema": plan_json.SCHEMA, "machines": plans}))
    return worst


def run_and_summarise(
    request: Request, names: Sequence[str], fail_on: FailOn | None, exit_as: ExitAs, *, as_json: bool
) -> int:
    """Run the experiment on all machines, print the summary, and return the exit code."""
    aside = make(stderr=True)
    if request.resume:
        engine = open_store(request.store, create=False)
        identity, earlier = _interrupted(engine, request, names)
    else:
        engine = open_store(request.store, create=True)
        identity, earlier = secrets.token_hex(8), {}
    processes = [
        _Process(name, _argv(request, name, identity, earlier.get(name)), aside, max(map(len, names)))
        for name in names
        if name not in earlier or earlier[name].state != "complete"
    ]
    _run(processes, aside, request)
    machines = _machines(engine, identity, names, {process.name: process for process in processes})
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
    if judged.has_regression and (fail_on is FailOn.WORSE or exit_as is ExitAs.BISECT):
        return Exit.REGRESSION
    compared = [row for row in judged.rows if not row.control]
    if exit_as is ExitAs.BISECT:
        return SKIP if any(row.word is None or row.word in UNDECIDED for row in compared) else Exit.FINE
    if fail_on is not None:
        verdicts: dict[str, list[Verdict]] = {}
        for row in compared:
            verdicts.setdefault(row.variant, []).extend(row.verdicts.values())
        require_verdicts(verdicts)
    return Exit.FINE


def _interrupted(engine: Engine, request: Request, names: Sequence[str]) -> tuple[str, Mapping[str, reader.Run]]:
    """Return the newest unfinished fleet of this file on these machines, and its runs by machine; StoreError."""
    experiment, source = request.source.load()
    name = experiment.experiment.name
    for run in reader.runs(engine):
        if run.name == name and run.experiment_file == source and run.design.fleet:
            earlier = {each.target: each for each in runs_of(engine, run)}
            is_over = len(earlier) == len(names) and all(each.state == "complete" for each in earlier.values())
            if earlier.keys() <= set(names) and not is_over:
                return run.design.fleet, earlier
    raise StoreError(
        f"contains no unfinished run of {name!r} on these machines",
        where=str(request.store),
        todo="repeat file, options and machines of the run, or start a new run: omit --resume",
    )


def _argv(request: Request, name: str, identity: str, earlier: reader.Run | None) -> list[str]:
    """Return the command of one machine's run."""
    common = [flag for flag, is_set in (("-q", appearance.quiet), ("-v", appearance.verbose)) if is_set]
    if earlier is not None:
        course = ["--resume"]
    else:
        experiment, _ = request.source.load()
        seed = experiment.design.seed if request.seed is None else request.seed
        # The same order of trials on all machines could look like a difference between variants.
        drawn = secrets.randbits(32) if seed is None else machine_seed(seed, name)
        course = ["--seed", str(drawn), *(["--quick"] if request.quick else [])]
    place = same_place(replace(request, target=name))
    return [sys.executable, "-m", "schedlab", *request.source.words, *common, *place, *course,
            "--fleet", identity, "--format", "json"]  # fmt: skip


@dataclass
class _Process:
    """A machine's run. Its lines are printed with the machine's name, ``width`` characters wide, until it is mute."""

    name: str
    argv: Sequence[str]
    console: Console
    width: int
    mute: bool = False
    lines: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Start the process, which ends in order when its standard input ends, as with this process."""
        self.process = subprocess.Popen(
            self.argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True,
        )  # fmt: skip
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            text = line.rstrip()
            self.lines.append(text)
            if text and not self.mute and not text.startswith(HINTS):
                self.console.say(f"{self.name:<{self.width}}", text, "dim")

    def wait(self) -> None:
        """Wait for the process and its last line."""
        self.process.wait()
        self.reader.join()

    @property
    def fault(self) -> str:
        """Why the run has no figures: the first line of its error, or its exit status."""
        errors = [line.removeprefix("error: ") for line in self.lines if line.startswith("error: ")]
        return errors[0] if errors else f"its run ended with status {self.process.returncode}"


def _run(processes: Sequence[_Process], aside: Console, request: Request) -> None:
    """Run the processes side by side until all have ended. A signal ends all of them, and the command."""
    with ending(aside, UNDONE, again(request.store, resuming(request))):
        try:
            for process in processes:
                process.start()
            for process in processes:
                process.wait()
        except KeyboardInterrupt as error:
            with deferred_signals():
                left = _end(processes, exit_code(error) - 128, aside)
            raise (Left() if left else error) from None


def _end(processes: Sequence[_Process], signal: int, aside: Console) -> bool:
    """Pass a signal on to the processes, wait for their ends, and print the values that they could not put back.

    Return whether there are such values.
    """
    left = False
    started = [process for process in processes if hasattr(process, "process")]
    for process in started:
        process.mute = True
        process.process.send_signal(signal)
    for process in started:
        process.wait()
        for line in process.lines:
            if line.startswith("not put back:"):
                aside.say(process.name, line, "red")
                left = True
    return left


def _machines(engine: Engine, identity: str, names: Sequence[str], processes: Mapping[str, _Process]) -> list[Machine]:
    newest = {run.target: run for run in reversed(reader.runs(engine)) if run.design.fleet == identity}
    machines = []
    for name in sorted(names):
        run, process = newest.get(name), processes.get(name)
        is_complete = run is not None and run.state == "complete"
        machines.append(Machine(name, run, process.fault if process and not is_complete else ""))
    return machines

"""A run on several machines: one ``schedlab run`` for each machine, side by side.

Each machine has a process, so that a failure of one machine cannot end the others. The processes write to one store;
the runs share the identity of the fleet.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from signal import SIGINT

from sqlalchemy import Engine

from schedlab.errors import StoreError
from schedlab.execution.runs import Request
from schedlab.execution.watch import Left, Watch
from schedlab.experiment.seeds import machine_seed, run_seed
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.tunables import Interrupted, deferred_signals

HINTS = ("again:",)
"""Labels of lines of a machine's run that the summary replaces."""


@dataclass(frozen=True)
class Ended:
    """The end of a machine's run: its name and its run; why the run is not complete, or an empty text."""

    name: str
    run: reader.Run | None
    fault: str


def run_fleet(
    request: Request, names: Sequence[str], watch: Watch, flags: Sequence[str] = ()
) -> tuple[Engine, list[Ended]]:
    """Run an experiment on all machines, or go on with its newest unfinished fleet; return the store and the ends.

    Args:
        request: the run, whose source has the words of a command line.
        names: the machines, as ``--target`` names them.
        watch: gets the lines of the machines' runs.
        flags: further words for the command of each machine.
    """
    engine = open_store(request.store, create=not request.resume)
    identity, earlier = _interrupted(engine, request, names) if request.resume else (secrets.token_hex(8), {})
    width = max(map(len, names))
    processes = {
        name: Process(name, [*_argv(request, name, identity, earlier.get(name)), *flags], watch, width)
        for name in names
        if name not in earlier or earlier[name].state != "complete"
    }
    with watch.interruptible():
        _run([*processes.values()], watch)
    newest = {run.target: run for run in reversed(reader.runs(engine)) if run.design.fleet == identity}
    ended = []
    for name in sorted(names):
        run, process = newest.get(name), processes.get(name)
        is_complete = run is not None and run.state == "complete"
        ended.append(Ended(name, run, process.fault if process and not is_complete else ""))
    return engine, ended


def runs_of(engine: Engine, run: reader.Run) -> list[reader.Run]:
    """Return the newest run of each machine of a run's fleet, by name; the run alone if it belongs to no fleet."""
    fleet = run.design.fleet
    if not fleet:
        return [run]
    newest = {other.target: other for other in reversed(reader.runs(engine)) if other.design.fleet == fleet}
    return [newest[target] for target in sorted(newest)]


def _interrupted(engine: Engine, request: Request, names: Sequence[str]) -> tuple[str, Mapping[str, reader.Run]]:
    """Return the newest unfinished fleet of this file on these machines, and its runs by machine; StoreError."""
    name, source = request.source.experiment.experiment.name, request.source.text
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
    if earlier is not None:
        course = ["--resume"]
    else:
        seed = request.source.experiment.design.seed if request.seed is None else request.seed
        # The same order of trials on all machines could look like a difference between variants.
        drawn = run_seed(None if seed is None else machine_seed(seed, name), None)
        course = ["--seed", str(drawn), *(["--quick"] if request.quick else [])]
    words = replace(request, target=name).words
    return [sys.executable, "-m", "schedlab", *words, *course, "--fleet", identity, "--format", "json"]


@dataclass
class Process:
    """A machine's run. Its lines are printed with the machine's name, ``width`` characters wide, until it is mute."""

    name: str
    argv: Sequence[str]
    watch: Watch
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
                self.watch.remark(f"{self.name:<{self.width}}", text, "dim")

    def wait(self) -> None:
        """Wait for the process and its last line."""
        self.process.wait()
        self.reader.join()

    @property
    def fault(self) -> str:
        """Why the run has no figures: the first line of its error, or its exit status."""
        errors = [line.removeprefix("error: ") for line in self.lines if line.startswith("error: ")]
        return errors[0] if errors else f"its run ended with status {self.process.returncode}"


def _run(processes: Sequence[Process], watch: Watch) -> None:
    """Run the processes side by side until all have ended. A signal ends all of them."""
    try:
        for process in processes:
            process.start()
        for process in processes:
            process.wait()
    except KeyboardInterrupt as error:
        with deferred_signals():
            left = _end(processes, error.signum if isinstance(error, Interrupted) else SIGINT, watch)
        raise (Left() if left else error) from None


def _end(processes: Sequence[Process], signal: int, watch: Watch) -> bool:
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
                watch.remark(process.name, line, "red")
                left = True
    return left

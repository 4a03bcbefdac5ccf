"""A trial on another machine: the request to the agent, and the measurement from its reply."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schedlab.experiment.plan import Trial
from schedlab.observe.conditions import Watch, between
from schedlab.observe.counters.collection import Counters
from schedlab.observe.counters.histograms import ABSENT
from schedlab.results.measurement import Conditions, Measurement
from schedlab.targets.groups import Groups
from schedlab.targets.ssh.agent import Agent
from schedlab.targets.trial import (
    PreparedRow,
    attributes,
    cpu_seconds,
    interpret,
    kernel_files,
    measured,
    remarks,
    under,
)
from schedlab.targets.vm.jobs import WATCHED
from schedlab.tunables.journal.replies import Trial as Reply
from schedlab.workloads.base import Command
from schedlab.workloads.launcher import Launched, run_by

FREQUENCIES = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq"

FILES = (*WATCHED, FREQUENCIES)
"""Patterns of the files that the agent reads before and after a trial."""

NO_PERF = "cpu-migrations are not known: the agent of another machine opens no perf events"


class Observer:
    """Reader of the files that the agent copies around trials: they are written to two trees, before and after."""

    def __init__(self, folder: Path) -> None:
        self._trees = folder / "before", folder / "after"
        self._written: set[str] = set()
        self._first = self._last = Counters(())
        self._watches: list[Watch] = []

    def observed(self, reply: Reply, launched: Launched, cpus: int) -> tuple[dict[str, float], Conditions, list[str]]:
        """Return counters, conditions and remarks of a trial from the agent's reply."""
        reply.before.write(self._trees[0])
        reply.after.write(self._trees[1])
        if self._written != (paths := reply.before.files.keys() & reply.after.files.keys()):
            # Counters look once for their files, which take longer to find than to read.
            for tree in self._trees:
                for path in self._written - paths:
                    (tree / path.lstrip("/")).unlink(missing_ok=True)
            self._written = set(paths)
            self._first, self._last = (Counters.open(tree) for tree in self._trees)
            self._watches = [Watch(tree) for tree in self._trees]
        snapshot = self._first.snapshot()
        rises = self._first.delta(snapshot, self._last.snapshot())
        notes = [NO_PERF if note == ABSENT else note for note in self._first.notes]
        start, end = (watch.snapshot() for watch in self._watches)
        during = [int(text) for sample in reply.samples for text in sample.files.values()]
        conditions = between(start, end, during, reply.elapsed, cpu_seconds(launched), cpus)
        return rises, conditions, notes + self._first.remarks(snapshot)


def run(
    agent: Agent,
    row: PreparedRow,
    command: Command,
    loads: Sequence[Command],
    trial: Trial,
    samples: Sequence[str],
    observer: Observer,
    groups: Groups,
) -> tuple[Measurement, list[str]]:
    """Run a trial; return its measurement, and remarks on it. Garbled for forged kernel files."""
    variant, timeout = trial.variant, trial.row.timeout
    files = [*FILES, *groups.observed(trial.row)]
    words = [*attributes(variant), *groups.options(trial.row, loads)]
    launched = run_by(agent, under(command, variant), timeout, words, files=files, samples=samples)
    reply = launched.reply
    assert reply is not None
    outcome = interpret(row.adapter, row.parameters, launched, timeout)
    with kernel_files():
        counters, conditions, missing = observer.observed(reply, launched, agent.facts.cpus)
    result = measured(launched, outcome, (reply.started, reply.elapsed), conditions, counters)
    return groups.completed(result, trial.row, reply), [*missing, *remarks(trial, launched), *groups.remarks(reply)]

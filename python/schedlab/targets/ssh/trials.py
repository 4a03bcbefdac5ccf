"""A trial on another machine: the request to the agent, and the measurement from its reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedlab.experiment.plan import Row, Trial
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
from schedlab.workloads.base import Command, Place, Tool
from schedlab.workloads.launcher import Launched, run_by
from schedlab.workloads.tools import SCHEDLOAD, find

FREQUENCIES = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq"

FILES = (*WATCHED, FREQUENCIES)
"""Patterns of the files that the agent reads before and after a trial."""

NO_PERF = "cpu-migrations are not known: the agent of another machine opens no perf events"


@dataclass(frozen=True)
class RemoteRow(PreparedRow):
    """A row for another machine; ``programs`` are the paths there by the tool's program, ``place`` its folders."""

    programs: Mapping[str, str]
    place: Place

    @classmethod
    def of(cls, row: Row, agent: Agent | None = None) -> RemoteRow:
        """Look up the row's tools there."""
        assert agent is not None
        prepared = PreparedRow.of(row)
        paths = programs(prepared.adapter.tools, agent)
        folder = Path(agent.folder)
        return cls(prepared.adapter, prepared.parameters, paths, Place(folder, folder, cpus=agent.facts.cpus))

    @property
    def missing(self) -> list[Tool]:
        """The adapter's tools that the machine lacks."""
        return [tool for tool in self.adapter.tools if tool.program not in self.programs]

    def command(self) -> Command:
        """Return a trial's command, with the paths of the tools there."""
        command = self.adapter.trial_command(self.parameters, self.place)
        tools = (SCHEDLOAD, *self.adapter.tools)
        paths = {str(find(tool) or tool.program): self.programs[tool.program] for tool in tools}

        def there(argv: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(paths.get(word, word) for word in argv)

        servers = tuple(replace(server, argv=there(server.argv)) for server in command.servers)
        return replace(command, argv=there(command.argv), servers=servers)


def programs(tools: Iterable[Tool], agent: Agent) -> dict[str, str]:
    """Return the paths of the tools that the machine has, by the tool's program."""
    wanted = {tool.program: [path.replace("[0-9]", "*") for path in tool.paths]
              for tool in tools if tool is not SCHEDLOAD}  # fmt: skip
    paths = agent.find(wanted) if wanted else {}
    return paths | {SCHEDLOAD.program: agent.program}


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
    rows: Mapping[tuple[str, str], RemoteRow],
    trial: Trial,
    samples: Sequence[str],
    observer: Observer,
    groups: Groups,
) -> tuple[Measurement, list[str]]:
    """Run a trial; return its measurement, and remarks on it. Garbled for forged kernel files."""
    row, variant, timeout = rows[trial.row.key], trial.variant, trial.row.timeout
    options = groups.options(trial.row, [rows[load.key].command() for load in trial.row.beside])
    files = [*FILES, *groups.observed(trial.row)]
    words = [*attributes(variant), *options]
    launched = run_by(agent, under(row.command(), variant), timeout, words, files=files, samples=samples)
    reply = launched.reply
    assert reply is not None
    outcome = interpret(row.adapter, row.parameters, launched, timeout)
    with kernel_files():
        counters, conditions, missing = observer.observed(reply, launched, agent.facts.cpus)
    result = measured(launched, outcome, (reply.started, reply.elapsed), conditions, counters)
    return groups.completed(result, trial.row, reply), [*missing, *remarks(trial, launched), *groups.remarks(reply)]

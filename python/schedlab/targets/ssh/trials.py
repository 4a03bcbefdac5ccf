"""A trial on another machine: the request to the agent, and the measurement from its reply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Row, Trial
from schedlab.observe.conditions import Watch, between
from schedlab.observe.counters.collection import Counters
from schedlab.observe.counters.histograms import ABSENT
from schedlab.results.measurement import Measurement
from schedlab.targets.ssh.agent import Agent, contents
from schedlab.targets.trial import PreparedRow, attributes, cpu_seconds, interpret, process_counters
from schedlab.targets.vm.jobs import WATCHED
from schedlab.workloads.base import Command, Place, Tool
from schedlab.workloads.launcher import GRACE, LARGEST_OUTPUT, Launched, command_line
from schedlab.workloads.tools import SCHEDLOAD, find

FREQUENCIES = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq"

FILES = (*(path.replace("[0-9]*", "*") for path in WATCHED), FREQUENCIES)
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
        tools = [tool for tool in prepared.adapter.tools if tool is not SCHEDLOAD]
        programs = {tool.program: [path.replace("[0-9]", "*") for path in tool.paths] for tool in tools}
        paths = dict(agent.ask("find", programs=programs)["paths"]) if programs else {}
        paths[SCHEDLOAD.program] = f"{agent.folder}/schedload"
        folder = Path(agent.folder)
        return cls(prepared.adapter, prepared.parameters, paths, Place(folder, folder, cpus=agent.facts["cpus"]))

    @property
    def missing(self) -> list[Tool]:
        """The adapter's tools that the machine lacks."""
        return [tool for tool in self.adapter.tools if tool.program not in self.programs]

    def command(self) -> Command:
        """Return a trial's command, with the paths of the tools there."""
        command = self.adapter.command(self.parameters, self.place)
        tools = (SCHEDLOAD, *self.adapter.tools)
        paths = {str(find(tool) or tool.program): self.programs[tool.program] for tool in tools}

        def there(argv: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(paths.get(word, word) for word in argv)

        servers = tuple(replace(server, argv=there(server.argv)) for server in command.servers)
        return replace(command, argv=there(command.argv), servers=servers)


def trial_request(
    command: Command, variant: Variant, timeout: float, files: Sequence[str] = (), samples: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the fields of a request to run a command under a variant's attributes and environment."""
    _, _, *words = command_line("", command, attributes(variant), timeout, "")
    return {
        "seconds": timeout + 3 * GRACE,
        "argv": [word for word in words if word != "--report="],
        "environment": dict(command.environment) | variant.environment,
        "files": list(files),
        "samples": list(samples),
        "limit": timeout + GRACE,
        "largest_output": LARGEST_OUTPUT,
    }


def run(agent: Agent, row: RemoteRow, trial: Trial, samples: Sequence[str]) -> tuple[Measurement, list[str]]:
    """Run a trial; return its measurement, and remarks on missing counters."""
    command = row.command()
    timeout = trial.row.timeout
    request = trial_request(command, trial.variant, timeout, FILES, samples)
    reply = agent.ask("run", **request)
    argv = (row.programs[SCHEDLOAD.program], "exec", *request["argv"])
    launched = Launched(argv, _report(reply["report"]), reply["status"], reply["stdout"], reply["stderr"])
    state, metrics, reason = interpret(row.adapter, row.parameters, launched, timeout)
    during = [int(text) for sample in reply["samples"] for text in contents(sample).values()]
    counters, conditions, remarks = _observed(reply, launched, during, agent.facts["cpus"])
    measured = Measurement(
        state=state,
        started=reply["started"],
        elapsed=reply["elapsed"],
        metrics=metrics,
        reason=reason,
        conditions=conditions,
        counters=counters | _tree(launched) | process_counters(launched),
        command=launched.argv,
        stdout=launched.stdout,
        stderr=launched.stderr,
    )
    return measured, remarks


def copied(reply: Mapping[str, Any], root: Path) -> Path:
    """Write the files of a reply below ``root``, and return it."""
    write(contents(reply), root)
    return root


def write(files: Mapping[str, bytes], root: Path) -> None:
    """Write files of another machine below ``root``, for the code that parses this machine's files."""
    for path, data in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _observed(
    reply: Mapping[str, Any], launched: Launched, during: Sequence[int], cpus: int
) -> tuple[dict[str, float], Any, list[str]]:
    with TemporaryDirectory(prefix="schedlab-files-") as folder:
        trees = [copied(reply[when], Path(folder) / when) for when in ("before", "after")]
        with Counters.open(trees[0]) as first, Counters.open(trees[1]) as last:
            before = first.snapshot()
            rises = first.delta(before, last.snapshot())
            remarks = [NO_PERF if note == ABSENT else note for note in first.notes] + first.remarks(before)
        start, end = (Watch(tree).snapshot() for tree in trees)
    return rises, between(start, end, during, reply["elapsed"], cpu_seconds(launched), cpus), remarks


def _report(text: str) -> Mapping[str, Any] | None:
    try:
        report: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return None
    return report


def _tree(launched: Launched) -> dict[str, float]:
    """Context switches of the trial's own processes, from the launcher's report."""
    if launched.report is None:
        return {}
    names = {"tree.voluntary-switches": "voluntary_switches", "tree.involuntary-switches": "involuntary_switches"}
    return {name: float(launched.report[key]) for name, key in names.items()}

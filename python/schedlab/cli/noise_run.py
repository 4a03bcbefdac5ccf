"""The steps of ``schedlab noise``: the options, the measurement by the machine's agent, and its document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from schedlab.cli.noise_correlation import with_correlations
from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.notation.cpulist import format_cpu_list, parse_cpu_list
from schedlab.notation.units import parse_time_ns
from schedlab.report.noise import Noise, noise_of
from schedlab.targets.selection import SSH, VM
from schedlab.tunables.journal.client import Client
from schedlab.workloads.base import Command
from schedlab.workloads.launcher import run_by

AROUND = 60.0
"""Seconds beyond the measurement's time for warming up and for reading the trace of a busy machine."""

AROUND_GUEST = 600.0
"""The same in a guest, which may be emulated."""

LONGEST = 3600.0
"""Longest measurement in seconds: the trace is kept in memory."""


@dataclass(frozen=True)
class Wanted:
    """The options of a measurement, as written; ``parts``: whether the parts of all gaps are wanted."""

    cpus: str | None
    time: str
    threshold: str
    priority: str | None
    target: str
    cmdline: str | None
    trace: bool
    parts: bool = False


def measured(wanted: Wanted) -> Noise:
    """Measure on a machine; SchedlabError for wrong options, CannotRunHere when the machine refuses."""
    target = wanted.target
    if wanted.cpus is None:
        raise SchedlabError("no CPUs are named", where="--cpus", todo="name the CPUs under test: --cpus 3")
    if wanted.cmdline is not None and not target.startswith(VM):
        todo = "name a guest: --target vm:debian-6.12@1x2"
        raise SchedlabError("only a guest is booted with these parameters", where="--cmdline", todo=todo)
    seconds = _nanoseconds(wanted.time, "--for") / 1e9
    if not 0.01 <= seconds <= LONGEST:
        raise SchedlabError(f"{wanted.time!r} is not between 10ms and 1h", where="--for", todo="for example --for 60s")
    words = ["--cpus", _cpus(wanted.cpus), "--for", f"{seconds:.9f}s"]
    if wanted.threshold != "auto":
        words += ["--threshold", str(_nanoseconds(wanted.threshold, "--threshold"))]
    if wanted.priority is not None:
        words += ["--fifo", _fifo(wanted.priority)]
    if not wanted.trace:
        words.append("--untraced")
    if wanted.parts:
        words.append("--parts")
    if target.startswith(VM):
        from schedlab.cli import noise_guest

        text = noise_guest.measured(target, wanted.cmdline, words, seconds + AROUND_GUEST)
    else:
        text = _on_machine(target, words, seconds + AROUND)
    return with_correlations(noise_of(json.loads(text), target))


def _on_machine(target: str, words: list[str], limit: float) -> str:
    with _agent(target) as agent:
        launched = run_by(agent, Command((agent.program, "noise", *words)), limit)
    if launched.status != 0:
        lines = [line.removeprefix("schedload: ") for line in launched.stderr.strip().splitlines()]
        raise CannotRunHere(lines[-1] if lines else f"schedload ended with {launched.status}", where=target)
    return launched.stdout


def stored(path: Path) -> Noise:
    """Return a stored measurement; SchedlabError when the file is not one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return noise_of(document, document.get("target", "host"))
    except (ValueError, AttributeError) as error:
        text = str(error).splitlines()[0]
        todo = "name a file that 'schedlab noise --format json' has written"
        raise SchedlabError(f"is not a measurement: {text}", where=str(path), todo=todo) from error


@contextmanager
def _agent(target: str) -> Iterator[Client]:
    if target == "host":
        from schedlab.tunables.journal.local import LocalAgent

        with closing(LocalAgent()) as agent:
            yield agent
        return
    if not target.startswith(SSH):
        todo = "name host, ssh:[USER@]HOST[:PORT] or vm:KERNEL[@TOPOLOGY]"
        raise SchedlabError(f"{target!r} is not a machine whose CPUs can be measured", where="--target", todo=todo)
    from schedlab.targets.ssh.target import Remote

    with closing(Remote(target.removeprefix(SSH))) as remote:
        yield remote.reached()


def _nanoseconds(text: str, option: str) -> int:
    try:
        return parse_time_ns(text)
    except ValueError as error:
        raise SchedlabError(str(error), where=option) from error


def _cpus(text: str) -> str:
    try:
        return format_cpu_list(parse_cpu_list(text))
    except ValueError as error:
        raise SchedlabError(str(error), where="--cpus") from error


def _fifo(text: str) -> str:
    policy, _, number = text.partition(":")
    if policy != "fifo" or not number.isdecimal() or not 1 <= int(number) <= 99:
        raise SchedlabError(f"{text!r} is not a real-time priority", where="--priority", todo="write fifo:1 to fifo:99")
    return number

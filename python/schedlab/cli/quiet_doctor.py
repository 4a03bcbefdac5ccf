"""``schedlab doctor --quiet CPUS``: what keeps CPUs from being quiet, with the lines that mend it. Nothing is changed.

The files of the machine are read twice; the counters between the two readings show the rate of each interruption. A
stored measurement of ``schedlab noise`` shows the time that each remedy can give back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.findings.quiet import quiet
from schedlab.notation.cpulist import format_cpu_list, parse_cpu_list
from schedlab.observe.quiet import FILES, Machine
from schedlab.report.answer import Answer
from schedlab.report.answers.quiet import compose
from schedlab.results.interruptions import Noise

SECONDS = 2.0
"""Time between the two readings: eight ticks of the slowest usual kernel (CONFIG_HZ_100) would be 0.08 s, but workers
such as vmstat_update run about once a second."""

Read = Callable[[Sequence[str]], Mapping[str, bytes]]


def examine_quiet(cpus: str, target: str, measured: Path | None) -> Answer:
    """Return what disturbs CPUs of this machine, or of the machine of an ssh target.

    Args:
        measured: file of ``schedlab noise --format json`` about the same CPUs, which gives the gains.
    """
    with _reader(target) as read:
        examined = _cpus(cpus, read)
        noise = None if measured is None else _measurement(measured, examined, target)
        machine = observed(read, examined)
    return compose(quiet(target, machine, noise))


def _measurement(path: Path, cpus: Sequence[int], target: str) -> Noise:
    from schedlab.execution.noise import stored

    noise = stored(path)
    if (noise.target, {cpu.cpu for cpu in noise.cpus}) != (target, set(cpus)):
        what = f"measured CPUs {format_cpu_list(cpu.cpu for cpu in noise.cpus)} of {noise.target}"
        todo = f"schedlab noise --cpus {format_cpu_list(cpus)} --target {target} --format json --output FILE"
        raise SchedlabError(what, where=f"--noise {path}", todo=todo)
    return noise


def observed(read: Read, cpus: Sequence[int]) -> Machine:
    """Read the files of the machine twice."""
    before, began = read(FILES), time.monotonic()
    time.sleep(SECONDS)
    return Machine(before, read(FILES), time.monotonic() - began, cpus)


def _cpus(text: str, read: Read) -> list[int]:
    path = "/sys/devices/system/cpu/online"
    online = read([path])[path].decode().strip()
    try:
        cpus = parse_cpu_list(text)
    except ValueError as error:
        raise SchedlabError(str(error), where="--quiet") from error
    if absent := sorted(set(cpus) - set(parse_cpu_list(online))):
        raise SchedlabError(f"CPU {absent[0]} is not online", where="--quiet", todo=f"the CPUs are {online}")
    return cpus


@contextmanager
def _reader(target: str) -> Iterator[Read]:
    if target == "host":
        from schedlab.targets.settling import read_here

        yield read_here
        return
    from schedlab.targets.selection import SSH
    from schedlab.targets.ssh.target import Remote

    with closing(Remote(target.removeprefix(SSH))) as remote:
        agent = remote.reached()
        yield lambda paths: agent.read(paths)[0]

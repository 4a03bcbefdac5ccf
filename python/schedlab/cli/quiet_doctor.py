"""``schedlab doctor --quiet CPUS``: what keeps CPUs from being quiet, with the lines that mend it. Nothing is changed.

The files of the machine are read twice; the counters between the two readings show the rate of each interruption. A
stored measurement of ``schedlab noise`` shows the time that each remedy can give back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.cli.json_output import print_json
from schedlab.errors import SchedlabError
from schedlab.notation.cpulist import format_cpu_list, parse_cpu_list
from schedlab.notation.units import counted
from schedlab.observe.quiet import FILES, Finding, Machine, boot_parameters, findings

if TYPE_CHECKING:
    from schedlab.report.noise import Noise

SECONDS = 2.0
"""Time between the two readings: eight ticks of the slowest usual kernel (CONFIG_HZ_100) would be 0.08 s, but workers
such as vmstat_update run about once a second."""

Read = Callable[[Sequence[str]], Mapping[str, bytes]]


def examine_quiet(cpus: str, target: str, measured: Path | None, *, as_json: bool) -> None:
    """Print the findings about CPUs of this machine, or of the machine of an ssh target.

    Args:
        measured: file of ``schedlab noise --format json`` about the same CPUs, which gives the gains.
    """
    with _reader(target) as read:
        examined = _cpus(cpus, read)
        noise = None if measured is None else _measurement(measured, examined, target)
        machine = observed(read, examined)
    found = findings(machine)
    if as_json:
        print_json({
            "cpus": list(machine.examined),
            "seconds": machine.seconds,
            "findings": [{**vars(each), "gain": gain(each, noise)} for each in found],
            "boot_parameters": boot_parameters(found),
        })  # fmt: skip
    else:
        _print(machine, found, noise)


def gain(finding: Finding, noise: Noise | None) -> float | None:
    """Return the share of the CPUs' time that the causes of a finding took in a measurement.

    None without a trace, or if no cause of the trace belongs to the finding.
    """
    if noise is None or not noise.tracing.traced or not finding.causes:
        return None
    time_ns = sum(cause.total_ns for cause in noise.causes if finding.removes(cause.name))
    return time_ns / (1e9 * sum(cpu.seconds for cpu in noise.cpus))


def _measurement(path: Path, cpus: Sequence[int], target: str) -> Noise:
    from schedlab.cli.noise_run import stored

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


def _print(machine: Machine, found: Sequence[Finding], noise: Noise | None) -> None:
    from schedlab.cli.console import make
    from schedlab.report.noise import percent

    console = make()
    names = format_cpu_list(machine.examined)
    subject = f"CPU {names} is" if len(machine.examined) == 1 else f"CPUs {names} are"
    if not found:
        console.print(f"{subject} quiet, as far as settings and counters show")
        return
    console.print(
        f"{subject} not quiet: {counted(len(found), 'finding')}; rates were observed for {machine.seconds:.0f} s\n"
    )
    for finding in found:
        rate = "" if finding.per_second is None else f" ({finding.per_second:,.1f}/s)"
        console.say(f"{finding.subject:<10}", f"{finding.text}{rate}")
        for label, line in (("now:", finding.remedy), ("boot:", finding.boot)):
            if line:
                console.print(f"           {label:<5} {line}", soft_wrap=True)
        if (share := gain(finding, noise)) is not None:
            console.print(f"           gain: at most {percent(share)} of the time, as measured")
    if words := boot_parameters(found):
        console.print(f"\nboot parameters together:\n  {words}", soft_wrap=True)
    if noise is None:
        console.print(f"\n'schedlab noise --cpus {names}' measures how long each interruption takes; with")
        console.print("--format json --output FILE, and --noise FILE here, the gain of each remedy is printed")

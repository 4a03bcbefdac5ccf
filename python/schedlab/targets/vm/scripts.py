"""From a trial to the shell script that runs it in the guest, and the programs that must be in there for it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from schedlab.experiment.model import Variant
from schedlab.experiment.rows import Row
from schedlab.targets.host.launch import launcher_words
from schedlab.targets.sched_ext import guest
from schedlab.vm.jobs import FIRST
from schedlab.vm.packing import GUEST_SCHEDLOAD
from schedlab.workloads.base import Adapter, AnyAdapter, Command, Parameters, Place
from schedlab.workloads.registry import adapter
from schedlab.workloads.tools import SCHEDLOAD, find

NOWHERE = Place(Path("/tmp"), Path("/tmp"))
"""Folders of the guest: empty at each boot."""


@dataclass(frozen=True)
class Prepared:
    """A row with its adapter and its validated parameters."""

    adapter: AnyAdapter
    parameters: Parameters

    @classmethod
    def of(cls, row: Row) -> Prepared:
        """The row's."""
        found = adapter(row.use)
        return cls(found, found.parameters.model_validate(row.parameters))

    @property
    def needs_files(self) -> bool:
        """Whether it makes files on this machine before its trials, which a guest does not see."""
        own = type(self.adapter)
        return own.prepared is not Adapter.prepared or own.before_trial is not Adapter.before_trial

    def command(self) -> Command:
        """What a trial starts, with the guest's schedload in place of this machine's."""
        return _in_guest(self.adapter.command(self.parameters, NOWHERE))


def _in_guest(command: Command) -> Command:
    here = str(find(SCHEDLOAD) or SCHEDLOAD.program)

    def words(argv: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(GUEST_SCHEDLOAD if word == here else word for word in argv)

    servers = tuple(replace(server, argv=words(server.argv)) for server in command.servers)
    return replace(command, argv=words(command.argv), servers=servers)


def programs(command: Command) -> Iterator[str]:
    """The first words of a command and its servers, but for those that every guest has."""
    for argv in (command.argv, *(server.argv for server in command.servers)):
        if argv[0] not in (GUEST_SCHEDLOAD, SCHEDLOAD.program):
            yield argv[0]


def located(program: str) -> Path | None:
    """Where this machine has a program; None where it does not."""
    found = shutil.which(program)
    return Path(found) if found else None


def scheduler(variant: Variant) -> str:
    """The script that loads the variant's sched_ext scheduler, at its place here; empty where it has none."""
    if variant.sched_ext is None:
        return ""
    program, *arguments = variant.sched_ext
    return guest.script([str(located(program) or program), *arguments])


def words(command: Command, variant: Variant, timeout: float, number: int) -> list[str]:
    """The launcher's command line for job ``number`` of a boot, counted from 0."""
    return launcher_words(GUEST_SCHEDLOAD, command, variant, timeout, f"/run/{FIRST + number}/report")


def script(command: Command, variant: Variant, timeout: float, number: int) -> str:
    """The shell script of this job."""
    environment: Mapping[str, str] = dict(command.environment) | variant.environment
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
    return f"{exports}exec {shlex.join(words(command, variant, timeout, number))}\n"

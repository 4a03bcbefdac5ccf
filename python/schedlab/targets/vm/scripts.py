"""From a trial to the shell script that runs it in the guest, and the programs that must be in there for it."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from schedlab.experiment.model import Variant
from schedlab.experiment.rows import Row
from schedlab.targets.host.launch import launcher_words
from schedlab.targets.sched_ext import guest
from schedlab.vm.jobs import FIRST
from schedlab.vm.packing import GUEST_SCHEDLOAD
from schedlab.vm.sharing import HIDDEN
from schedlab.workloads.base import Adapter, AnyAdapter, Command, Parameters, Place
from schedlab.workloads.registry import adapter
from schedlab.workloads.tools import SCHEDLOAD, find

NOWHERE = Place(Path("/tmp"), Path("/tmp"))
"""Folders of the guest: empty at each boot."""

SHARED_SCHEDLOAD = "/run/schedload"
"""Where schedload is for trials in this machine's file tree: the guest's ``init`` puts it there."""

SCHEDLOADS = (GUEST_SCHEDLOAD, SHARED_SCHEDLOAD, SCHEDLOAD.program)


@dataclass(frozen=True)
class Prepared:
    """A row with its adapter and its validated parameters, and whether it runs in this machine's file tree."""

    adapter: AnyAdapter
    parameters: Parameters
    host_files: bool = False

    @classmethod
    def of(cls, row: Row, host_files: bool = False) -> Prepared:
        """The row's."""
        found = adapter(row.use)
        return cls(found, found.parameters.model_validate(row.parameters), host_files)

    @property
    def schedload(self) -> str:
        """Where the trial finds schedload."""
        return SHARED_SCHEDLOAD if self.host_files else GUEST_SCHEDLOAD

    @property
    def needs_files(self) -> bool:
        """Whether it makes files on this machine before its trials, which a guest does not see."""
        own = type(self.adapter)
        return own.prepared is not Adapter.prepared or own.before_trial is not Adapter.before_trial

    def command(self) -> Command:
        """What a trial starts, with the guest's schedload in place of this machine's."""
        return _in_guest(self.adapter.command(self.parameters, NOWHERE), self.schedload)


def _in_guest(command: Command, schedload: str) -> Command:
    here = str(find(SCHEDLOAD) or SCHEDLOAD.program)

    def words(argv: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(schedload if word == here else word for word in argv)

    servers = tuple(replace(server, argv=words(server.argv)) for server in command.servers)
    return replace(command, argv=words(command.argv), servers=servers)


def programs(command: Command) -> Iterator[str]:
    """The first words of a command and its servers, but for those that every guest has."""
    for argv in (command.argv, *(server.argv for server in command.servers)):
        if argv[0] not in SCHEDLOADS:
            yield argv[0]


def located(program: str) -> Path | None:
    """Where this machine has a program; None where it does not."""
    found = shutil.which(program)
    return Path(found) if found else None


def hidden(path: Path) -> str | None:
    """The folder of the guest's own that this path of this machine lies in; None where it is seen there."""
    ways = (path.absolute(), path.resolve())
    return next((folder for folder in HIDDEN if any(way.is_relative_to(folder) for way in ways)), None)


def scheduler(variant: Variant) -> str:
    """The script that loads the variant's sched_ext scheduler, at its place here; empty where it has none."""
    if variant.sched_ext is None:
        return ""
    program, *arguments = variant.sched_ext
    return guest.script([str(located(program) or program), *arguments])


def launched_words(prepared: Prepared, variant: Variant, timeout: float, number: int) -> list[str]:
    """The launcher's command line for job ``number`` of a boot, counted from 0."""
    report = f"/run/{FIRST + number}/report"
    return launcher_words(prepared.schedload, prepared.command(), variant, timeout, report)


def script(prepared: Prepared, variant: Variant, timeout: float, number: int) -> str:
    """The shell script of this job; in this machine's file tree it has its ``PATH``, and /tmp to write to."""
    command = prepared.command()
    environment = dict(command.environment) | variant.environment
    started = shlex.join(launched_words(prepared, variant, timeout, number))
    if prepared.host_files:
        environment = {"PATH": os.environ.get("PATH", os.defpath)} | environment
        enter = shlex.join(["sh", "-c", 'cd "$0" && exec "$@"', str(command.cwd or NOWHERE.scratch)])
        started = f"/bin/busybox chroot /host /bin/{enter} {started}"
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
    return f"{exports}exec {started}\n"

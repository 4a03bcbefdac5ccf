"""The request that runs a trial in a guest, and the programs that the trial needs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Row
from schedlab.kernels.images import Image
from schedlab.targets.sched_ext.protocol import shell_text
from schedlab.targets.trial import PreparedRow, attributes, under
from schedlab.targets.vm.host_files import HIDDEN
from schedlab.targets.vm.initramfs import GUEST_SCHEDLOAD
from schedlab.targets.vm.jobs import HISTOGRAMS, SCHEDULER, WATCHED
from schedlab.workloads.base import Command, Place
from schedlab.workloads.launcher import command_words, request
from schedlab.workloads.machine import Machine
from schedlab.workloads.tools import SCHEDLOAD, find

FOLDER = Path("/tmp")
"""Folder for an adapter's files in the guest, empty at each boot."""

SHARED_SCHEDLOAD = "/run/schedload"
"""Path of schedload for trials in this machine's file tree. The guest's ``init.sh`` copies schedload to this path."""

SCHEDLOADS = (GUEST_SCHEDLOAD, SHARED_SCHEDLOAD, SCHEDLOAD.program)


@dataclass(frozen=True)
class GuestRow(PreparedRow):
    """A row for guests; ``host_files``: whether trials run in this machine's file tree."""

    host_files: bool = False

    @classmethod
    def of(cls, row: Row, host_files: bool = False) -> GuestRow:
        """Look up the adapter and validate the parameters."""
        prepared = PreparedRow.of(row)
        return cls(prepared.adapter, prepared.parameters, host_files)

    @property
    def schedload(self) -> str:
        """Path of schedload for the trial."""
        return SHARED_SCHEDLOAD if self.host_files else GUEST_SCHEDLOAD

    def command(self, cpus: int) -> Command:
        """Return a trial's command in a guest with so many CPUs; the guest's schedload takes the place of this one."""
        command = self.adapter.trial_command(self.parameters, Place(FOLDER, FOLDER, machine=Machine(cpus=cpus)))
        host_schedload = str(find(SCHEDLOAD) or SCHEDLOAD.program)

        def in_guest(argv: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(self.schedload if word == host_schedload else word for word in argv)

        servers = tuple(replace(server, argv=in_guest(server.argv)) for server in command.servers)
        return replace(command, argv=in_guest(command.argv), servers=servers)


def programs(command: Command) -> Iterator[str]:
    """Yield the programs of a command and of its servers. schedload is left out, because every guest has it."""
    for argv in (command.argv, *(server.argv for server in command.servers)):
        if argv[0] not in SCHEDLOADS:
            yield argv[0]


def located(program: str) -> Path | None:
    """Return a program's path on this machine; None where the program is not installed."""
    path = shutil.which(program)
    return Path(path) if path else None


def hidden(path: Path) -> str | None:
    """Return the guest's folder that hides this path of this machine; None if the path is visible in the guest."""
    forms = (path.absolute(), Path(os.path.realpath(path)))
    return next((folder for folder in HIDDEN if any(form.is_relative_to(folder) for form in forms)), None)


def scheduler_files(variant: Variant, image: Image) -> dict[str, bytes]:
    """Return the script that loads the variant's sched_ext scheduler and the kernel's configuration, by path.

    The guest has the program under its path on this machine. Many schedulers read the configuration: libbpf looks for
    externs of the section ``.kconfig`` in ``/boot/config-RELEASE`` and ``/proc/config.gz``. A variant without a
    scheduler has no files.
    """
    if variant.sched_ext is None:
        return {}
    program, *arguments = variant.sched_ext
    files = {SCHEDULER: shell_text([str(located(program) or program), *arguments]).encode()}
    if image.config is not None:
        files[f"/boot/config-{image.release}"] = image.config.read_bytes()
    return files


def launched_words(
    row: GuestRow, variant: Variant, timeout: float, cpus: int, options: Sequence[str] = ()
) -> list[str]:
    """Return the launcher's command line in a guest with so many CPUs, with further options."""
    return [row.schedload, "exec", *command_words(row.command(cpus), [*attributes(variant), *options], timeout)]


def trial_request(
    row: GuestRow,
    variant: Variant,
    timeout: float,
    cpus: int,
    options: Sequence[str] = (),
    files: Sequence[str] = (),
) -> dict[str, object]:
    """Return the request that runs a trial in a guest with so many CPUs, with further options of the launcher and files
    to read before and after.

    With ``host_files`` the trial runs in this machine's file tree, with this machine's ``PATH``, and can write to /tmp.
    """
    command = under(row.command(cpus), variant)
    folder = FOLDER
    if row.host_files:
        folder = command.cwd or folder
        path = {"PATH": os.environ.get("PATH", os.defpath)}
        command = replace(command, environment=path | dict(command.environment))
    options = [*attributes(variant), *options]
    return request(command, timeout, str(folder), options, files=[*WATCHED, *HISTOGRAMS, *files])

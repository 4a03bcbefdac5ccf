"""``schedlab kernels boot``: restart a remote machine into a kernel for one boot, and back."""

from __future__ import annotations

import os
import shlex
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.echo import echo
from schedlab.notation.units import seconds_of

SSH = "ssh:"


class Method(StrEnum):
    """A way to start a kernel."""

    KEXEC = "kexec"
    GRUB = "grub"
    SYSTEMD_BOOT = "systemd-boot"
    COMMAND = "command"


def boot(
    machine: Annotated[
        str, typer.Argument(metavar="MACHINE", help="ssh:[user@]host[:port], another machine; the user must be root.")
    ],
    kernel: Annotated[
        str | None,
        typer.Argument(
            autocompletion=complete.built_kernels,
            help="debian-6.12, built:NAME+01, tree:FOLDER, a bzImage, or installed:RELEASE of the machine; by default "
            "the machine's default kernel, with the parameters of --cmdline.",
        ),
    ] = None,
    cmdline: Annotated[
        str,
        typer.Option(
            metavar="WORDS", help=("Boot parameters that replace or follow the parameters of the default command line.")
        ),
    ] = "",
    back: Annotated[
        bool,
        typer.Option("--back", help="Return the machine to its default kernel and remove schedlab's files from it."),
    ] = False,
    method: Annotated[
        Method, typer.Option(help="Start the kernel by kexec, or through the firmware and a boot loader, for one boot.")
    ] = Method.KEXEC,
    boot_command: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="The command of the machine for --method command; see the documentation."),
    ] = None,
    limit: Annotated[
        str, typer.Option(metavar="TIME", help="A kernel that does not answer by then has failed to come up.")
    ] = "5min",
    power: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="A command here that switches a hanging machine off and on.")
    ] = None,
    console: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="A command here that prints the machine's console all the time."),
    ] = None,
    ssh_config: Annotated[
        Path | None,
        typer.Option(envvar="SCHEDLAB_SSH_CONFIG", metavar="FILE", help="OpenSSH's configuration; default yours."),
    ] = None,
) -> None:
    """Restart another machine into a kernel for one boot. The machine's default kernel does not change.

    A panic, a reset, and a kernel that does not answer in time lead back to the default kernel.
    """
    from schedlab.cli.console import make
    from schedlab.cli.interruption import INTERRUPTED, ending
    from schedlab.errors import CannotRunHere, SchedlabError
    from schedlab.targets.boots.boot import BootFailed, Boots
    from schedlab.targets.boots.control import control
    from schedlab.targets.ssh.connection import CONFIG, Address, Connection
    from schedlab.workloads.tools import SCHEDLOAD, find

    if (method is Method.COMMAND) != (boot_command is not None):
        todo = "give both, or neither of them"
        raise SchedlabError("--method command needs --boot-command", where="--boot-command", todo=todo)
    if not machine.startswith(SSH) or machine == SSH:
        raise SchedlabError(
            f"{machine!r} is not a remote machine", where="MACHINE", todo="write ssh:[user@]host[:port]"
        )
    if back and (kernel or cmdline):
        raise SchedlabError("--back starts the default kernel", where="--back", todo="remove KERNEL and --cmdline")
    seconds = seconds_of(limit, "--limit")
    if (program := find(SCHEDLOAD)) is None:
        raise CannotRunHere("schedload is missing", todo=SCHEDLOAD.package)
    if ssh_config is not None:
        os.environ[CONFIG] = str(ssh_config)
    address = Address.parse(machine.removeprefix(SSH))
    with (
        ending(make(stderr=True), INTERRUPTED),
        control(shlex.split(power) if power else None, shlex.split(console) if console else None) as commands,
        closing(Connection(address)) as connection,
    ):
        boots = Boots(
            connection, machine, program.read_bytes(), limit=seconds, method=method.value, command=boot_command,
            control=commands,
        )  # fmt: skip
        try:
            if back:
                echo(f"{machine} runs its default kernel {boots.end().release}")
                return
            boots.begin()
            wanted = boots.kernel(kernel)
            echo(f"restarting {machine} into {wanted.release} …")
            booted = boots.boot(wanted, cmdline)
        except BootFailed as error:
            if error.tail:
                echo(error.tail, err=True)
            todo = (
                f"'schedlab kernels boot {machine} --back' returns to the default kernel when the machine answers again"
            )
            raise CannotRunHere(error.reason, where=machine, todo=todo) from error
    parts = ", ".join(f"{what} {seconds:.0f} s" for what, seconds in booted.seconds.items())
    echo(f"{machine} runs {booted.seen.release} ({parts})")
    echo(f"its default kernel is {boots.default.seen.release}: 'schedlab kernels boot {machine} --back' starts it")

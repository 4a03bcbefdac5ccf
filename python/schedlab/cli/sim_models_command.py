"""``schedlab sim machines`` and ``schedlab sim kernels``: the models of the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.commands import Commands
from schedlab.cli.echo import echo, print_table
from schedlab.cli.options import GivenFormat, Output, OutputFormat, Sysroot

machines = Commands(help="The machines that can be simulated, and machine files of this machine.")
kernels = Commands(help="The kernel models that a simulated machine runs.")

MachineName = Annotated[
    str, typer.Argument(autocompletion=complete.machines, help="A shipped machine, or the path of a TOML file.")
]
KernelName = Annotated[
    str, typer.Argument(autocompletion=complete.kernels, help="A shipped kernel model, or the path of a TOML file.")
]


@machines.command("list")
def list_machines(form: GivenFormat = OutputFormat.TEXT) -> None:
    """List the shipped machines."""
    from schedlab.cli.json_output import print_json
    from schedlab.simulation import models

    shipped = [models.machine(name) for name in models.machine_names()]
    if form is OutputFormat.JSON:
        keys = [{"name": m.name, "cpus": m.cpus, "nodes": m.nodes, "about": m.about} for m in shipped]
        print_json({"machines": keys})
        return
    print_table(
        ("machine", "CPUs", "nodes", "description"), [(m.name, str(m.cpus), str(m.nodes), m.about) for m in shipped]
    )


@machines.command("show")
def show_machine(name: MachineName, form: GivenFormat = OutputFormat.TEXT) -> None:
    """Print a machine's definition: topology, caches, idle states and costs."""
    from schedlab.cli.json_output import print_json
    from schedlab.simulation import models

    machine = models.machine(name)
    if form is OutputFormat.JSON:
        print_json({"name": machine.name, "about": machine.about, "machine": machine.data})
    else:
        echo(machine.text, nl=False)


@machines.command("from-host")
def from_host(
    output: Output = None,
    name: Annotated[str | None, typer.Option(help="The machine's name; default this host's.")] = None,
    sysroot: Sysroot = None,
) -> None:
    """Make a machine file of this host: its topology, with the costs of the most similar shipped machine.

    The file marks every value of another machine; edit the values that you know better.
    """
    from schedlab.simulation.host import machine_file

    _write(machine_file(sysroot or Path("/"), name), output)


@machines.command("calibrate")
def calibrate(
    output: Output = None,
    name: Annotated[str | None, typer.Option(help="The machine's name; default this host's.")] = None,
    tries: Annotated[int, typer.Option(min=1, max=100, help="Repetitions of a measurement; the mean is used.")] = 9,
) -> None:
    """Make a machine file of this host with costs that are measured on it, in less than two minutes.

    Small programs measure single costs, on one CPU and between CPUs. Costs that they do not measure come from the
    most similar shipped machine. The file names the origin of each cost. Do not use the machine meanwhile.
    """
    from schedlab.cli.console import make
    from schedlab.cli.interruption import INTERRUPTED, ending
    from schedlab.simulation.host.calibrate import calibrated
    from schedlab.workloads.tools import SCHEDLOAD, need

    with ending(make(stderr=True), INTERRUPTED):
        text = calibrated(need(SCHEDLOAD), tries, name)
    _write(text, output)


def _write(text: str, output: Path | None) -> None:
    from schedlab.files.output_file import remedy, write_whole

    if output is None:
        echo(text, nl=False)
    else:
        write_whole(output, text, remedy("--output"))


@kernels.command("list")
def list_kernels(form: GivenFormat = OutputFormat.TEXT) -> None:
    """List the shipped kernel models."""
    from schedlab.cli.json_output import print_json
    from schedlab.simulation import models

    shipped = [models.kernel(name) for name in models.kernel_names()]
    if form is OutputFormat.JSON:
        keys = [
            {"name": k.name, "about": k.about, "policy": k.data["policy"], "tunables": sorted(k.tunables)}
            for k in shipped
        ]
        print_json({"kernels": keys})
        return
    print_table(
        ("kernel", "policy", "tunables", "distinguishing feature"),
        [(k.name, str(k.data["policy"]).upper(), str(len(k.tunables)), k.about) for k in shipped],
    )


@kernels.command("show")
def show_kernel(name: KernelName, form: GivenFormat = OutputFormat.TEXT) -> None:
    """Print a kernel model's definition: policy, mechanisms, tunables."""
    from schedlab.cli.json_output import print_json
    from schedlab.simulation import models

    kernel = models.kernel(name)
    if form is OutputFormat.JSON:
        print_json({"name": kernel.name, "about": kernel.about, "kernel": kernel.data})
    else:
        echo(kernel.text, nl=False)

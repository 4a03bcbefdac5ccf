"""``schedlab machines`` and ``schedlab kernels``: models of machines and kernels, and kernels to boot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.commands import Commands
from schedlab.cli.echo import echo
from schedlab.cli.kernel_boot_command import boot
from schedlab.cli.kernel_build_command import build
from schedlab.cli.options import GivenFormat, OutputFormat, Sysroot

machines = Commands(help="The machines that can be simulated, and machine files of this machine.")
kernels = Commands(help="Kernel models that a simulated machine runs; kernels that a virtual machine boots.")

MachineName = Annotated[
    str, typer.Argument(autocompletion=complete.machines, help="A shipped machine, or the path of a TOML file.")
]
KernelName = Annotated[
    str,
    typer.Argument(
        autocompletion=complete.shown_kernels,
        help="A shipped kernel model, the path of a TOML file, or a built kernel: built:NAME+01.",
    ),
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
    _table(("machine", "CPUs", "nodes", "description"), [(m.name, str(m.cpus), str(m.nodes), m.about) for m in shipped])


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
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file; default: print.")] = None,
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
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file; default: print.")] = None,
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
    from schedlab.cli.output_file import remedy, write_whole

    if output is None:
        echo(text, nl=False)
    else:
        write_whole(output, text, remedy("--output"))


@kernels.command("list")
def list_kernels(
    form: GivenFormat = OutputFormat.TEXT,
    available: Annotated[
        bool, typer.Option("--available", help="List the kernels that 'schedlab kernels fetch' can download instead.")
    ] = False,
) -> None:
    """List the shipped kernel models, and the kernels that were built or downloaded on this machine."""
    if available:
        _list_available(form)
        return
    from schedlab.cli import kernel_build
    from schedlab.cli.json_output import print_json
    from schedlab.simulation import models

    shipped = [models.kernel(name) for name in models.kernel_names()]
    if form is OutputFormat.JSON:
        keys = [{"name": k.name, "about": k.about, "policy": k.data["policy"]} for k in shipped]
        for fields, model in zip(keys, shipped, strict=True):
            fields["tunables"] = sorted(model.tunables)
        entries = [
            {"name": name, "release": release, "size": size, "about": about}
            for name, release, size, about in kernel_build.available()
        ]
        print_json({"kernels": keys, "bootable": entries})
        return
    _table(
        ("kernel", "policy", "tunables", "distinguishing feature"),
        [(k.name, str(k.data["policy"]).upper(), str(len(k.tunables)), k.about) for k in shipped],
    )
    if bootable := kernel_build.available():
        echo()
        _table(("to boot", "release", "size", "description"), bootable)


def _list_available(form: OutputFormat) -> None:
    """List Debian's kernels by series, the newest series and release first."""
    from schedlab.cli.json_output import print_json
    from schedlab.kernels import debian
    from schedlab.report.words import listed

    packages = debian.newest_first(debian.available())
    here = {(package.name, package.version) for package in debian.cached_packages()}
    if form is OutputFormat.JSON:
        entries = [
            {
                "name": f"debian-{package.release}",
                "version": package.version,
                "suites": list(package.suites),
                "download": package.megabytes,
                "cached": (package.name, package.version) in here,
            }
            for package in packages
        ]
        print_json({"available": entries})
        return
    rows: list[tuple[str, ...]] = []
    for series in dict.fromkeys(package.series for package in packages):
        newest, *older = [package for package in packages if package.series == series]
        state = "cached" if (newest.name, newest.version) in here else newest.megabytes
        further = listed(list(dict.fromkeys(package.release for package in older)))
        rows.append((f"debian-{series}", newest.release, state, ", ".join(newest.suites), further))
    _table(("name", "release", "download", "suites", "further releases"), rows)


@kernels.command("show")
def show_kernel(name: KernelName, form: GivenFormat = OutputFormat.TEXT) -> None:
    """Print a kernel model's definition (policy, mechanisms, tunables), or how a built kernel was made."""
    from schedlab.cli.json_output import print_json
    from schedlab.kernels.build_cache import BUILT
    from schedlab.simulation import models

    if name.startswith(BUILT):
        from schedlab.cli import kernel_build

        if form is OutputFormat.JSON:
            print_json({"name": name, "built": kernel_build.facts(name)})
        else:
            echo(kernel_build.describe(name), nl=False)
        return
    kernel = models.kernel(name)
    if form is OutputFormat.JSON:
        print_json({"name": kernel.name, "about": kernel.about, "kernel": kernel.data})
    else:
        echo(kernel.text, nl=False)


@kernels.command("fetch")
def fetch_kernels(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="debian-7.2, debian-5.10, or a release: debian-6.12.117+deb12."),
    ],
) -> None:
    """Download the newest of Debian's cloud kernels of each name into the cache; nothing is installed.

    The kernels come from all of Debian's suites, whichever this machine runs. 'schedlab kernels list --available' shows
    their names.
    """
    from schedlab.errors import SchedlabError
    from schedlab.kernels import debian

    if wrong := [name for name in names if not debian.is_name(name)]:
        raise SchedlabError(
            f"{wrong[0]!r} is not a kernel of Debian", todo="name debian-6.12, debian-7.2 or a release of Debian"
        )
    for index, name in enumerate(names):
        package = debian.fetch(name, max_age=debian.DAY if index else 0.0)
        echo(f"{package.name} {package.version}")


@kernels.command("probe")
def probe_kernels(
    names: Annotated[
        list[str],
        typer.Argument(metavar="KERNEL...", help="debian-6.12, tree:FOLDER, built:NAME+01, or the path of a bzImage."),
    ],
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Show what kernels can do in a deterministic guest of two CPUs and two nodes.

    Each kernel is booted once; then a cache has the results for this QEMU.
    """
    from schedlab.cli.console import make
    from schedlab.cli.interruption import INTERRUPTED, ending
    from schedlab.cli.json_output import print_json
    from schedlab.files import scratch
    from schedlab.targets.vm import initramfs, machine, probe

    base = initramfs.base()
    with ending(make(stderr=True), INTERRUPTED), scratch.locked_folder("schedlab-probe-") as folder:
        found = {name: probe.abilities(machine.image(name), base, folder) for name in names}
    if form is OutputFormat.JSON:
        print_json({"kernels": [{"name": name, "abilities": each} for name, each in found.items()]})
        return
    _table(("ability", *found), [(ability, *(each[ability] for each in found.values())) for ability in probe.ABILITIES])


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    from schedlab.cli.console import make, table

    listed = table(*columns, right=("CPUs", "nodes", "tunables"), no_wrap=(columns[0], "release"))
    for row in rows:
        listed.add_row(*row)
    make().print(listed)


kernels.command("build")(build)
kernels.command("boot")(boot)

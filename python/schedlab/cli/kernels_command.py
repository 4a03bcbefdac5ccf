"""``schedlab kernels``: kernels that a virtual machine or another machine boots."""

from __future__ import annotations

from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.commands import Commands
from schedlab.cli.echo import echo, print_table
from schedlab.cli.kernel_boot_command import boot
from schedlab.cli.kernel_build_command import build
from schedlab.cli.options import GivenFormat, OutputFormat

app = Commands(help="Kernels to boot: Debian's kernels, and kernels that were built here from a patch series.")


@app.command("list")
def list_kernels(
    form: GivenFormat = OutputFormat.TEXT,
    available: Annotated[
        bool, typer.Option("--available", help="List the kernels that 'schedlab kernels fetch' can download instead.")
    ] = False,
) -> None:
    """List the kernels that were built or downloaded on this machine."""
    if available:
        _list_available(form)
        return
    from schedlab.cli import kernel_build
    from schedlab.cli.json_output import print_json

    bootable = kernel_build.available()
    if form is OutputFormat.JSON:
        print_json(
            {"kernels": [dict(zip(("name", "release", "size", "about"), each, strict=True)) for each in bootable]}
        )
    elif bootable:
        print_table(("kernel", "release", "size", "description"), bootable)
    else:
        echo("no kernel is here yet: 'schedlab kernels fetch' downloads kernels, 'schedlab kernels build' builds them")


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
    print_table(("name", "release", "download", "suites", "further releases"), rows)


@app.command("show")
def show_kernel(
    name: Annotated[
        str, typer.Argument(autocompletion=complete.built_kernels, help="A built kernel, such as built:NAME+01.")
    ],
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Print how a kernel was built: source, compiler, configuration, files."""
    from schedlab.cli import kernel_build
    from schedlab.cli.json_output import print_json

    if form is OutputFormat.JSON:
        print_json({"name": name, "built": kernel_build.facts(name)})
    else:
        echo(kernel_build.describe(name), nl=False)


@app.command("fetch")
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


@app.command("probe")
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
    print_table(
        ("ability", *found), [(ability, *(each[ability] for each in found.values())) for ability in probe.ABILITIES]
    )


app.command("build")(build)
app.command("boot")(boot)

"""``schedlab kernels build``: build the kernels of a patch series for virtual machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def build(
    tree: Annotated[
        str,
        typer.Argument(help="A kernel's git repository or unpacked source, or linux-source for Debian's package."),
    ],
    patches: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help=("The series: a folder of *.patch, a mailbox or one patch. Each value makes a build.")
        ),
    ] = None,
    commits: Annotated[
        str | None,
        typer.Option("--range", metavar="A..B", help="The series: the commits after A up to B, with A as the base."),
    ] = None,
    config: Annotated[
        str,
        typer.Option(
            metavar="TARGET",
            help="A make target, to which the options for guests are added; or the path of a complete .config.",
        ),
    ] = "tinyconfig",
    fragment: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help=("More options, which override all other options; may be repeated.")),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the series; default the tree's name.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help=("make -j; default one job for each CPU."))
    ] = None,
    nice: Annotated[int | None, typer.Option(min=0, max=19, help="Niceness of the build.")] = None,
    timeout: Annotated[
        str, typer.Option(metavar="TIME", help="Limit of each run of make, such as 30min; a slower prefix is a gap.")
    ] = "2h",
    again: Annotated[bool, typer.Option("--again", help="Retry prefixes that did not build before.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print what would be built, and its time; --verbose adds the kernels."),
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write an experiment file over the prefixes; default: print its variants."),
    ] = None,
) -> None:
    """Build a kernel for each prefix of a patch series: the base, then with one more patch each time.

    Your tree is only read. Kernels are built once and then cached. A prefix that does not build is a gap with a reason.
    """
    from schedlab.cli import kernel_build

    arguments = kernel_build.Arguments(
        tree, patches, commits, config, fragment or [], name, jobs, nice, timeout, again=again, dry_run=dry_run, to=to
    )
    raise typer.Exit(kernel_build.build_series(arguments))

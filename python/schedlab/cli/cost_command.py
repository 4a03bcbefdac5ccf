"""``schedlab cost``: the instructions of kernel paths on kernels and their variants, in deterministic guests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from schedlab.api.defaults import COST_DELTA, COST_LOOPS, COST_SEEDS, COST_TOPOLOGY, Compared
from schedlab.cli.answering import AnswerForm, AnswerFormat
from schedlab.cli.appearance import appearance
from schedlab.cli.options import NoStore, Output, Store, again, measured_path, resuming, store_words


def cost(
    kernels: Annotated[
        list[str],
        typer.Argument(
            metavar="KERNEL...",
            help="Kernels to boot: debian-6.12, tree:FOLDER, built:NAME+01, the path of a bzImage, or series:NAME for "
            "all kernels of a built series.",
        ),
    ],
    variant: Annotated[
        list[str] | None,
        typer.Option(
            "--variant",
            metavar="NAME:KEY=VALUE,...",
            help="A state to compare with each kernel as it boots: boot parameters and tunables, such as "
            "stats:cmdline=schedstats=enable; may be repeated.",
        ),
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option(
            "--path",
            metavar="PATH[:BYTES]",
            help="A path to measure, with the bytes of its messages (default 4); may be repeated ('schedlab workloads "
            "kernel-path' lists paths). Default all but unix-queue; sleep needs --functions, remote paths and "
            "fork-round two CPUs.",
        ),
    ] = None,
    loops: Annotated[int, typer.Option(metavar="N", min=3, help="Operations, whose median is counted.")] = COST_LOOPS,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=2, help="Random seeds; each boots every column once.")
    ] = COST_SEEDS,
    topology: Annotated[
        str, typer.Option(metavar="SOCKETSxCORES", help="CPUs of the guest. With several, tasks may run on any.")
    ] = COST_TOPOLOGY,
    delta: Annotated[
        str, typer.Option(metavar="SHARE", help="Largest change that --fail-on worse accepts.")
    ] = COST_DELTA,
    compare: Annotated[
        Compared, typer.Option(help="Compare each kernel with the first kernel, or with the kernel before.")
    ] = Compared.FIRST,
    store: Store = None,
    no_store: NoStore = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and missing requirements; boot nothing.")
    ] = False,
    form: AnswerForm = AnswerFormat.TEXT,
    output: Output = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run of the same words, or print a complete run again.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed of the run; default a new seed.")] = None,
    functions: Annotated[
        bool, typer.Option("--functions", help="Count instructions by kernel function, with a plug-in for QEMU.")
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(
            "--cache",
            metavar="MACHINE",
            help="Also count cache lines on a machine model ('schedlab sim machines list'), and predict times on it.",
        ),
    ] = None,
    folded: Annotated[
        Path | None,
        typer.Option("--folded", metavar="FILE", help="Write folded stacks for flame graphs (with --functions)."),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="LIMIT",
            help="Exit with status 1 if a row is worse ('worse'), or if a path, any path or a function exceeds a limit "
            "('pipe-round > 1%', 'any > 1%', 'try_to_wake_up > 0%'); may be repeated.",
        ),
    ] = None,
) -> None:
    """Count the instructions of kernel paths in deterministic guests, on several kernels or with several settings.

    schedlab cost debian-6.12 --variant stats:cmdline=schedstats=enable --path pipe-round
    """
    from schedlab.api.cost import count, draft_of, measurable_paths
    from schedlab.cli import cost_gate, experiment_run
    from schedlab.cli.answering import present
    from schedlab.cli.console import make
    from schedlab.cli.watching import Shown
    from schedlab.execution.runs import Request, Source
    from schedlab.files.output_file import remedy, write_whole
    from schedlab.findings import functions as counting
    from schedlab.kernels.build_cache import BuildCache
    from schedlab.report.answers.cost import compose

    paths = measurable_paths(path, topology, has_plugin=functions or cache is not None)
    gate = cost_gate.Gate.parse(fail_on or [], paths, functions)
    cost_gate.require_functions(folded, functions)
    booted = BuildCache.of().expanded(kernels)
    drafted, against = draft_of(booted, variant or [], paths, loops, seeds, topology, delta, functions, compare, cache)
    gate.require_comparison(against)
    repeat = [
        "cost", *kernels, *_repeated("--variant", variant), *_repeated("--path", path),
        "--loops", str(loops), "--topology", topology, "--delta", delta,
        *(["--functions"] if functions else []),
        *(["--cache", cache] if cache else []),
        *(["--compare", compare.value] if compare is not Compared.FIRST else []),
    ]  # fmt: skip
    source = Source("cost.toml", drafted.parsed(), drafted.text)
    where = measured_path(store, no_store=no_store, resume=resume)
    request = Request(source, where, seed=seed, resume=resume)
    if dry_run:
        as_json = form is AnswerFormat.JSON
        raise typer.Exit(experiment_run.show_plan(request, verbose=appearance.verbose, as_json=as_json))
    aside = make(stderr=True)
    watch = Shown(aside, resuming(where))
    found, table, by_function, by_line = count(request, booted, against, functions=functions, cache=cache, watch=watch)
    at = store_words(request.store)
    shown = again(request.store, ["schedlab", "report", str(found.run.id), *at])
    answer = compose(table, by_function, by_line, ["schedlab", *repeat, *again(request.store, at)], shown)
    present(answer, form, output)
    if folded is not None and by_function is not None:
        write_whole(folded, "".join(f"{line}\n" for line in counting.folded(by_function)), remedy("--folded"))
    raise typer.Exit(gate.code(found, table, by_function, aside))


def _repeated(option: str, values: Sequence[str] | None) -> list[str]:
    return [word for value in values or [] for word in (option, value)]

"""``schedlab cost``: the instructions of kernel paths on kernels and their variants, in deterministic guests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedlab.cli.answering import AnswerForm, AnswerFormat
from schedlab.cli.appearance import appearance
from schedlab.cli.options import NoStore, Output, Store, again, measured_path, store_words

if TYPE_CHECKING:
    from schedlab.experiment.draft import Draft


class Compared(StrEnum):
    """The kernel that each other kernel is compared with."""

    FIRST = "first"
    PREVIOUS = "previous"


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
    loops: Annotated[int, typer.Option(metavar="N", min=3, help="Operations, whose median is counted.")] = 300,
    seeds: Annotated[int, typer.Option(metavar="N", min=2, help="Random seeds; each boots every column once.")] = 2,
    topology: Annotated[
        str, typer.Option(metavar="SOCKETSxCORES", help="CPUs of the guest. With several, tasks may run on any.")
    ] = "1x1/1",
    delta: Annotated[str, typer.Option(metavar="SHARE", help="Largest change that --fail-on worse accepts.")] = "0.1%",
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
    from schedlab.cli import cost_gate, experiment_run
    from schedlab.cli.answering import present
    from schedlab.cli.console import make
    from schedlab.cli.output_file import remedy, write_whole
    from schedlab.findings import cache as line_counting
    from schedlab.findings import functions as counting
    from schedlab.findings.cost import cost as cost_of
    from schedlab.kernels.build_cache import BuildCache
    from schedlab.report.answers.cost import compose
    from schedlab.simulation import models
    from schedlab.store.file import open_store

    has_plugin = functions or cache is not None
    paths = measurable_paths(path, topology, has_plugin)
    gate = cost_gate.Gate.parse(fail_on or [], paths, functions)
    cost_gate.require_functions(folded, functions)
    booted = BuildCache.of().expanded(kernels)
    drafted, against = draft_of(booted, variant or [], paths, loops, seeds, topology, delta, functions, compare, cache)
    gate.require_comparison(against)
    experiment, text = drafted.parsed(), drafted.text
    repeat = [
        "cost", *kernels, *_repeated("--variant", variant), *_repeated("--path", path),
        "--loops", str(loops), "--topology", topology, "--delta", delta,
        *(["--functions"] if functions else []),
        *(["--cache", cache] if cache else []),
        *(["--compare", compare.value] if compare is not Compared.FIRST else []),
    ]  # fmt: skip
    ends = [*(["--folded", str(folded)] if folded else []), *_repeated("--fail-on", fail_on)]
    words = [*repeat, "--seeds", str(seeds), *ends]
    source = experiment_run.Source("cost.toml", words, lambda: (experiment, text))
    where = measured_path(store, no_store=no_store, resume=resume)
    request = experiment_run.Request(source, where, False, seed, resume, None)
    if dry_run:
        as_json = form is AnswerFormat.JSON
        raise typer.Exit(experiment_run.show_plan(request, verbose=appearance.verbose, as_json=as_json))
    found = experiment_run.judged(request, make(stderr=True), complete=True)
    stored = open_store(request.store, create=False)
    counted = counting.sums(stored, found.run.id) if has_plugin else {}
    table = cost_of(found, against, BuildCache.of().titles(booted), counted)
    by_function = counting.functions(stored, table) if functions else None
    by_line = line_counting.cache(stored, table, models.machine(cache)) if cache else None
    at = store_words(request.store)
    shown = again(request.store, ["schedlab", "report", str(found.run.id), *at])
    answer = compose(table, by_function, by_line, ["schedlab", *repeat, *again(request.store, at)], shown)
    present(answer, form, output)
    if folded is not None and by_function is not None:
        write_whole(folded, "".join(f"{line}\n" for line in counting.folded(by_function)), remedy("--folded"))
    raise typer.Exit(gate.code(found, table, by_function, make(stderr=True)))


def _repeated(option: str, values: Sequence[str] | None) -> list[str]:
    return [word for value in values or [] for word in (option, value)]


def _workloads(paths: Sequence[str], loops: int) -> Iterator[str]:
    """Yield the words of a workload for each size of messages, with the paths of this size."""
    by_size: dict[str, list[str]] = {}
    for path in paths:
        name, _, size = path.partition(":")
        by_size.setdefault(size, []).append(name)
    for size, names in by_size.items():
        yield from ("kernel-path", f"path={','.join(names)}", f"loops={loops}")
        if size:
            yield from (f"size={size}", f"label=kernel-path {size}")


def measurable_paths(asked: Sequence[str] | None, topology: str, has_plugin: bool) -> list[str]:
    """Return the paths that were asked for, or else all others than unix-queue that can be measured, in their order.

    ExperimentError for a path that needs the plug-in or a second CPU.
    """
    from schedlab.errors import ExperimentError
    from schedlab.experiment.topology import Topology
    from schedlab.findings.cost import BETWEEN_CPUS, IDLE, MANY_MESSAGES
    from schedlab.workloads.declarations import definitions

    remedies = {} if has_plugin else dict.fromkeys(IDLE, ("all CPUs are idle in this path", "add --functions"))
    if Topology.parse(topology).cpus < 2:
        remedies |= dict.fromkeys(BETWEEN_CPUS, ("this path needs two CPUs", "add --topology 2x1/1"))
    for each in asked or []:
        if (name := each.partition(":")[0]) in remedies:
            reason, todo = remedies[name]
            raise ExperimentError(reason, where=f"--path {each}", todo=todo)
    (path,) = (each for each in definitions()["kernel-path"]["parameters"] if each["name"] == "path")
    left_out = {*remedies, *MANY_MESSAGES}
    return list(asked or (choice["name"] for choice in path["choices"] if choice["name"] not in left_out))


def draft_of(
    kernels: list[str],
    variants: list[str],
    paths: list[str],
    loops: int,
    seeds: int,
    topology: str,
    delta: str,
    functions: bool = False,
    compare: Compared = Compared.FIRST,
    cache: str | None = None,
) -> tuple[Draft, dict[str, str]]:
    """Return the experiment of these words, and the column that each column but the first is compared with.

    ExperimentError for a kernel that is named twice, and for words that are no variant or path.
    """
    from schedlab.errors import ExperimentError
    from schedlab.experiment.draft import Draft, draft

    design: dict[str, tuple[str, Any]] = {
        "design.blocks": ("--seeds", seeds),
        "design.warmup": ("--warmup", 0),
        "design.control": ("--control", True),
        "analysis.delta": ("--delta", delta),
    }
    target = {"kind": "vm", "kernel": kernels[0], "topology": topology, "deterministic": True}
    target |= {"functions": True} if functions or cache else {}
    target |= {"cache": cache} if cache else {}
    about = {"name": "cost", "question": f"How many instructions do kernel paths execute on {', '.join(kernels)}?"}
    words = list(_workloads(paths, loops))
    plain = draft(words, variants, design, target, about)
    settings = plain.data["variant"][1:]
    states: list[dict[str, Any]] = []
    sources, against, beside = dict(plain.sources), {}, ""
    # Names have at most 60 characters. The end of a long path tells kernels apart.
    room = max(60 - max((len(table["name"]) + 1 for table in settings), default=0), 8)
    for kernel in kernels:
        base = kernel.replace("/", "-")[-room:].strip("-")
        if any(state["name"] == base for state in states):
            raise ExperimentError(f"kernel {kernel!r} is named twice", where="schedlab cost", todo="name it once")
        if states:
            against[base] = beside if compare is Compared.PREVIOUS else states[0]["name"]
        beside = base
        states.append({"name": base, "kernel": kernel})
        for number, table in enumerate(settings, start=1):
            name = f"{base} {table['name']}"
            copied = {key: words for key, words in plain.sources.items() if key[:2] == ("variant", number)}
            sources |= {("variant", len(states), *key[2:]): words for key, words in copied.items()}
            against[name] = base
            states.append({"kernel": kernel} | table | {"name": name})
    return Draft({**plain.data, "variant": states}, sources), against

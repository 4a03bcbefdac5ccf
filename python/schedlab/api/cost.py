"""``schedlab.cost``: the instructions of kernel paths on kernels and their variants, in deterministic guests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from schedlab.api.arguments import Store, recovered, store_of
from schedlab.api.defaults import COST_DELTA, COST_LOOPS, COST_SEEDS, COST_TOPOLOGY, Compared
from schedlab.errors import ExperimentError
from schedlab.execution import runs
from schedlab.execution.runs import Request, Source
from schedlab.execution.watch import SILENT, Watch
from schedlab.experiment.draft import Draft, draft
from schedlab.experiment.topology import Topology
from schedlab.findings import cache as line_counting
from schedlab.findings import functions as counting
from schedlab.findings.cache import Cache
from schedlab.findings.cost import BETWEEN_CPUS, IDLE, MANY_MESSAGES, Cost
from schedlab.findings.cost import cost as cost_of
from schedlab.findings.functions import Functions
from schedlab.findings.run import Findings, findings
from schedlab.kernels.build_cache import BuildCache
from schedlab.simulation import models
from schedlab.workloads.declarations import definitions


class Counted(NamedTuple):
    """A run that counted paths: its verdicts, its table, the counts by function, and the counts of cache lines."""

    found: Findings
    table: Cost
    functions: Functions | None
    cache: Cache | None


def cost(
    *kernels: str,
    variant: Sequence[str] = (),
    path: Sequence[str] = (),
    loops: int = COST_LOOPS,
    seeds: int = COST_SEEDS,
    topology: str = COST_TOPOLOGY,
    delta: str = COST_DELTA,
    compare: str = Compared.FIRST,
    functions: bool = False,
    cache: str | None = None,
    store: Store = None,
    resume: bool = False,
    seed: int | None = None,
    watch: Watch = SILENT,
) -> Counted:
    """Count the instructions of kernel paths in deterministic guests, on several kernels or with several settings.

    Args:
        kernels: kernels to boot: ``debian-6.12``, ``tree:FOLDER``, ``built:NAME+01``, the path of a bzImage, or
            ``series:NAME`` for all kernels of a built series.
        variant: states to compare with each kernel as it boots, such as ``stats:cmdline=schedstats=enable``.
        path: paths to measure, ``PATH[:BYTES]``; default all that can be measured but unix-queue.
        loops: operations, whose median is counted.
        seeds: random seeds; each boots every column once.
        topology: CPUs of the guest.
        delta: margin of equivalence.
        compare: ``first`` or ``previous``: the kernel that each other kernel is compared with.
        functions: whether instructions are counted by kernel function, with a plug-in for QEMU.
        cache: machine model for counts of cache lines and predicted times.
        store: as for :func:`schedlab.run`.
        resume: go on with a run of the same arguments, or return a complete run again.
        seed: random seed of the run; default a new seed.
        watch: gets the progress.

    Raises:
        ExperimentError: the arguments are no kernels, paths or variants.
        CannotRunHere: a requirement is missing.
    """
    recovered()
    paths = measurable_paths(path, topology, has_plugin=functions or cache is not None)
    booted = BuildCache.of().expanded(list(kernels))
    drafted, against = draft_of(
        booted, list(variant), paths, loops, seeds, topology, delta, functions, Compared(compare), cache
    )
    source = Source("cost.toml", drafted.parsed(), drafted.text)
    request = Request(source, store_of(store), seed=seed, resume=resume)
    return count(request, booted, against, functions=functions, cache=cache, watch=watch)


def count(
    request: Request,
    kernels: Sequence[str],
    against: Mapping[str, str],
    *,
    functions: bool,
    cache: str | None,
    watch: Watch,
) -> Counted:
    """Run the experiment of :func:`draft_of`, or go on with it, and compare its columns.

    Args:
        request: the run.
        kernels: the kernels that boot.
        against: the column that each column but the first is compared with.
        functions, cache: as for :func:`cost`.
        watch: gets the progress.
    """
    engine, number = runs.run(request, watch, complete=True)
    found = findings(engine, number)
    counted = counting.sums(engine, number) if functions or cache else {}
    table = cost_of(found, against, BuildCache.of().titles(kernels), counted)
    by_function = counting.functions(engine, table) if functions else None
    by_line = line_counting.cache(engine, table, models.machine(cache)) if cache else None
    return Counted(found, table, by_function, by_line)


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


def measurable_paths(asked: Sequence[str] | None, topology: str, *, has_plugin: bool) -> list[str]:
    """Return the paths that were asked for, or else all others than unix-queue that can be measured, in their order.

    ExperimentError for a path that needs the plug-in or a second CPU.
    """
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

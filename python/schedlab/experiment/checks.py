"""Rules across the fields of an experiment file. Each mistake is a key path and a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Any

from pydantic import ValidationError

from schedlab.experiment import toml_data
from schedlab.experiment.explanations import Finding, explain_field, nearest
from schedlab.experiment.groups import metrics, states
from schedlab.experiment.model import BesideTable, Experiment, WorkloadTable
from schedlab.experiment.plan import CONTROL, combinations
from schedlab.workloads.base import AnyAdapter
from schedlab.workloads.registry import UnknownWorkload, adapter
from schedlab.workloads.registry import names as workload_names

MOST_TRIALS = 1_000_000

MOST_ROWS = 10_000
"""Most rows of a workload table: the check of a row's parameters takes about 1 ms."""


def check(experiment: Experiment) -> Iterator[Finding]:
    """Check rules across fields: repeated labels, sequential designs, workloads and their parameters."""
    yield from _check_labels(experiment)
    yield from _check_stopping(experiment)
    for i, table in enumerate(experiment.workload):
        yield from _check_workload(i, table)
        yield from _check_loads(i, table)
    yield from _check_groups(experiment)


def check_variants(experiment: Experiment) -> Iterator[Finding]:
    """Check rules for all variants, including the variants of a factorial."""
    yield from _check_names(experiment)
    yield from _check_placement(experiment)
    yield from _check_size(experiment)
    yield from _check_stack(experiment)


def _check_names(experiment: Experiment) -> Iterator[Finding]:
    counts = Counter(variant.name for variant in experiment.variant)
    for i, variant in enumerate(experiment.variant):
        if counts[variant.name] > 1 and variant.name in {v.name for v in experiment.variant[:i]}:
            yield ("variant", i, "name"), f"two variants are called {variant.name!r}"
        if variant.name == CONTROL and experiment.design.control:
            yield (
                ("variant", i, "name"),
                f"{CONTROL!r} is the A/A control's name; choose another or set control = false",
            )


def _check_labels(experiment: Experiment) -> Iterator[Finding]:
    labels = [table.label or table.use for table in experiment.workload]
    for i, (table, label) in enumerate(zip(experiment.workload, labels, strict=True)):
        if (times := labels.count(label)) > 1:
            path = ("workload", i, "label" if table.label else "use")
            yield path, f"{label!r} is used {times} times: give each table a different label"


def _check_groups(experiment: Experiment) -> Iterator[Finding]:
    """Check that groups have different names, and that variants and workloads name groups of the file."""
    names = [group.name for group in experiment.group]
    for i, name in enumerate(names):
        if name in names[:i]:
            yield ("group", i, "name"), f"two groups are called {name!r}"
    named: list[tuple[toml_data.Path, str]] = []
    for i, variant in enumerate(experiment.variant):
        named += [(("variant", i, "groups", name), name) for name in variant.groups]
    for i, table in enumerate(experiment.workload):
        if table.group is not None:
            named.append((("workload", i, "group"), table.group))
        named += [
            (("workload", i, "beside", k, "group"), each.group) for k, each in enumerate(table.loads) if each.group
        ]
    for switch, state in experiment.factorial.switches.items() if experiment.factorial else ():
        named += [(("factorial", "switches", switch, "groups", name), name) for name in state.groups]
    for path, name in named:
        if name not in names:
            hint = nearest(name, names) if names else "; declare it in a [[group]] table"
            yield path, f"no group is called {name!r}{hint.replace('keys of this table', 'groups')}"


def _check_placement(experiment: Experiment) -> Iterator[Finding]:
    """Check that the settings of groups fit each other, and the attributes of tasks that run in the groups."""
    measured = {table.group for table in experiment.workload}
    for i, variant in enumerate(experiment.variant):
        faults = {
            f"group {name!r}: {fault}": None
            for name, settings in states(experiment.group, variant.groups)
            if (fault := settings.conflict or (variant.conflict_in(settings) if name in measured else None))
        }
        yield from ((("variant", i), fault) for fault in faults)


def _check_size(experiment: Experiment) -> Iterator[Finding]:
    """Check the number of trials: a plan is a list in memory, and nobody waits for a million trials."""
    design = experiment.design
    cells = sum(map(_rows, experiment.workload))
    trials = cells * (len(experiment.variant) + design.control) * (design.blocks * design.iterations + design.warmup)
    if trials > MOST_TRIALS:
        yield ("design", "blocks"), f"the plan has {trials:,} trials; at most {MOST_TRIALS:,} are possible"


def _check_stopping(experiment: Experiment) -> Iterator[Finding]:
    """Check that the analysis of a run that may stop early is possible at interim analyses."""
    if experiment.design.stopping == "fixed":
        return
    path = ("design", "stopping")
    if experiment.analysis.correction == "benjamini-hochberg":
        yield (
            path,
            'a sequential run needs "max-t", "holm" or "none": Benjamini-Hochberg has no bound over interim analyses',
        )
    for table in ("attribution", "factorial"):
        if getattr(experiment, table) is not None:
            yield path, f'[{table}] is judged by all blocks of the design: use stopping = "fixed"'


def _check_stack(experiment: Experiment) -> Iterator[Finding]:
    names, stack = [variant.name for variant in experiment.variant], experiment.attribution
    for name, times in Counter(stack.stack if stack else ()).items():
        if name not in names:
            yield ("attribution", "stack"), f"no variant is called {name!r}{nearest(name, names)}"
        if times > 1:
            yield ("attribution", "stack"), f"{name!r} is in the stack {times} times"


def _check_workload(i: int, table: WorkloadTable) -> Iterator[Finding]:
    try:
        workload = adapter(table.use)
    except UnknownWorkload as error:
        hint = "" if error.reason else nearest(table.use, workload_names())
        yield ("workload", i, "use"), f"{error}{hint}"
        return
    for key, value in (table.parameters | table.quick).items():
        fault = _list_fault(value) if isinstance(value, list) else ""
        if fault:
            yield ("workload", i, *(("quick",) if key not in table.parameters else ()), key), fault
            return
    if (rows := _rows(table)) > MOST_ROWS:
        yield ("workload", i), f"the table makes {rows:,} rows; at most {MOST_ROWS:,} are possible"
        return
    for quick in (False, True) if table.quick else (False,):
        yield from _check_parameters(i, table, workload, quick)
    yield from _check_metrics(i, table, workload)


def _check_loads(i: int, table: WorkloadTable) -> Iterator[Finding]:
    for k, load in enumerate(table.loads):
        path = ("workload", i, "beside", k)
        try:
            workload = adapter(load.use)
            workload.parameters.model_validate(load.parameters)
        except UnknownWorkload as error:
            yield (*path, "use"), f"{error}{'' if error.reason else nearest(load.use, workload_names())}"
        except ValidationError as error:
            names = [*workload.parameters.model_fields, *BesideTable.model_fields]
            yield from (_parameter_fault(item, load.use, names, path) for item in error.errors())


def _parameter_fault(item: Any, use: str, names: list[str], path: toml_data.Path) -> Finding:
    place, message = explain_field(item, tuple(item["loc"]))
    if item["type"] == "extra_forbidden":
        message = f"{use!r} has no parameter {place[-1]!r}{nearest(str(place[-1]), names)}"
    return (*path, *place), message


def _rows(table: WorkloadTable) -> int:
    return prod(len(value) if isinstance(value, list) else 1 for value in table.parameters.values())


def _check_metrics(i: int, table: WorkloadTable, workload: AnyAdapter) -> Iterator[Finding]:
    """Check the names in ``metrics``, and the metrics that the table declares."""
    path, names = ("workload", i, "metrics"), [spec.name for spec in workload.metrics]
    names += [spec.name for group in table.groups for spec in metrics(group)]
    if table.figures:
        try:
            workload.with_figures(table.figures)
        except ValueError as error:
            yield path, str(error)
            return
    for figure in table.figures:
        if figure.name in names:
            yield path, f"{table.use!r} already has a metric {figure.name!r}: choose another name"
    metric_names = [metric if isinstance(metric, str) else metric.name for metric in table.metrics or ()]
    for name, times in Counter(metric_names).items():
        if times > 1:
            yield path, f"{name!r} is named {times} times"
        if name not in (every := [*names, *(figure.name for figure in table.figures)]):
            yield path, f"{table.use!r} has no metric {name!r}{nearest(name, every)}"


def _list_fault(values: list[Any]) -> str:
    """The fault of a list of parameter values; empty for a correct list."""
    if not values:
        return "is an empty list: give at least one value"
    # Values may be lists or tables, which a set cannot contain. TOML's 1 and 1.0 make the same row.
    shown = [repr(value) if isinstance(value, list | dict | str) else value for value in values]
    repeated = next((value for value, times in Counter(shown).items() if times > 1), None)
    return "" if repeated is None else f"contains {repeated} twice: each value is a row"


def _check_parameters(i: int, table: WorkloadTable, workload: AnyAdapter, quick: bool) -> Iterator[Finding]:
    reported: set[tuple[toml_data.Path, str]] = set()
    rows: dict[str, dict[str, Any]] = {}
    for values in combinations(table, quick=quick):
        try:
            same = rows.setdefault(repr(workload.parameters.model_validate(values)), values)
            if same is not values:
                name = next(key for key, value in values.items() if value != same[key])
                inside = ("quick",) if quick and name in table.quick else ()
                message = f"{same[name]!r} and {values[name]!r} are the same value: each value is a row"
                yield ("workload", i, *inside, name), message
                return
        except ValidationError as error:
            for item in error.errors():
                names = [*workload.parameters.model_fields, *WorkloadTable.model_fields]
                path, message = _parameter_fault(item, table.use, names, ())
                inside = ("quick",) if path and path[0] in table.quick and quick else ()
                if (path, message) not in reported:
                    reported.add((path, message))
                    yield ("workload", i, *inside, *path), message

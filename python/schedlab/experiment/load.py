"""Reading an experiment file. All mistakes are reported at once, with file, line, key path and the nearest name."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from schedlab.errors import ExperimentError
from schedlab.experiment import factorial, toml_data
from schedlab.experiment.groups import Group, metrics, states
from schedlab.experiment.hooks import HookTable, RunTable
from schedlab.experiment.model import (
    BESIDE,
    METRIC_NAME,
    METRIC_TABLE,
    About,
    AttributionTable,
    BesideTable,
    Design,
    Experiment,
    FactorialTable,
    Judging,
    SettleTable,
    Variant,
    WorkloadTable,
)
from schedlab.experiment.plan import CONTROL, combinations
from schedlab.experiment.state import State
from schedlab.experiment.sweep_table import SweepTable
from schedlab.experiment.target_table import MachineTable, TargetTable
from schedlab.experiment.values import BAD_TUNABLES
from schedlab.notation import toml_text
from schedlab.tunables import local
from schedlab.tunables.library import entries, with_entries
from schedlab.workloads.base import AnyAdapter
from schedlab.workloads.command.figures import Figure
from schedlab.workloads.registry import UnknownWorkload, adapter
from schedlab.workloads.registry import names as workload_names

_TABLES: dict[str, type[BaseModel]] = {
    "experiment": About,
    "target": TargetTable,
    "machine": MachineTable,
    "design": Design,
    "settle": SettleTable,
    "run": RunTable,
    "analysis": Judging,
    "attribution": AttributionTable,
    "factorial": FactorialTable,
    "sweep": SweepTable,
    "group": Group,
    "variant": Variant,
    "workload": WorkloadTable,
}

MOST_TRIALS = 1_000_000

MOST_ROWS = 10_000
"""Most rows of a workload table: the check of a row's parameters takes about 1 ms."""

Finding = tuple[toml_data.Path, str]

Place = Callable[[toml_data.Path], str]
"""Return the place of a key path, which starts an error message."""


def load(path: Path) -> tuple[Experiment, str]:
    """Return the experiment in a file, and the file's text; :class:`ExperimentError` has every finding."""
    text = read(path)
    return parse(text, str(path)), text


def read(path: Path) -> str:
    """Return the text of a file; ExperimentError if the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ExperimentError(
            f"cannot be read: {error.strerror}", where=str(path), todo="give the path of an experiment file"
        ) from error
    except UnicodeDecodeError as error:
        raise ExperimentError(
            f"is not UTF-8 text (byte {error.start})", where=str(path), todo="an experiment is a TOML file"
        ) from error


def parse(text: str, name: str, place: Place | None = None) -> Experiment:
    """Return the experiment in this text; messages call the file ``name``.

    ``place`` names the source of a key, for texts that were made from other input than a file: ``--blocks``.
    """
    place = place or _lines_of(text, name)
    data = toml_data.read(text, name)
    if findings := list(toml_data.faults(data)):
        raise _error(findings, place)
    with _entries(data.pop("tunable", []), place):
        experiment, bad_tunables = _validated(data, place)
    # Later checks treat the variants of a factorial like written variants. A factorial that cannot be expanded is
    # reported together with the other mistakes.
    faults = [*bad_tunables, *factorial.faults(experiment)]
    expanded = experiment if faults else factorial.expand(experiment)
    findings = [*faults, *_check(experiment), *(() if faults else _check_variants(expanded))]
    if findings:
        raise _error(findings, place)
    return expanded


@contextmanager
def _entries(tables: Any, place: Place) -> Iterator[None]:
    """Let the file's ``[[tunable]]`` tables describe tunables for the block."""
    if not isinstance(tables, list):
        raise _error([(("tunable",), "write the table as [[tunable]]")], place)
    described: list[local.Entry] = []
    findings: list[Finding] = []
    for i, table in enumerate(tables):
        try:
            described.append(local.entry(table))
            with with_entries(described):
                pass
        except (ValidationError, TypeError) as error:
            findings.append((("tunable", i), local.first_fault(error)))
        except ValueError as error:
            findings.append((("tunable", i), str(error)))
    if findings:
        raise _error(findings, place)
    with with_entries(described):
        yield


def complete(text: str, experiment: Experiment) -> str:
    """Return an experiment's text with the entries of the user's files that its variants need: the text alone repeats
    the run."""
    present = {str(table.get("name")) for table in tomllib.loads(text).get("tunable", [])}
    settings = {name: each for variant in experiment.variant for name, each in variant.tunables.items()}
    needed = [entry.table for name, entry in entries().items() if name in settings and name not in present]
    return "\n".join([text, *(toml_text.table("[[tunable]]", table) for table in needed)]) if needed else text


def _validated(data: dict[str, Any], place: Place) -> tuple[Experiment, list[Finding]]:
    """The experiment without the tunables that cannot be set, and the findings about these tunables."""
    bad_tunables: list[Finding] = []
    while True:  # pydantic checks a variant as a whole only once all its fields are valid
        try:
            return Experiment.model_validate(data), bad_tunables
        except ValidationError as error:
            findings = [finding for item in error.errors() for finding in _explain(item)]
            if any(item["type"] != BAD_TUNABLES for item in error.errors()):
                raise _error([*bad_tunables, *findings], place) from error
        bad_tunables += findings
        for (*parents, tunable), _ in findings:
            table: Any = data
            for part in parents:
                table = table[part]
            del table[tunable]


def _error(findings: list[Finding], place: Place) -> ExperimentError:
    return ExperimentError("\n".join(f"{place(path)}: {message}" for path, message in findings))


def _lines_of(text: str, name: str) -> Place:
    """Return the function that names file, line and key: ``first.toml:7: design.blocks``."""

    lines = cache(lambda: toml_data.lines(text))

    def place(path: toml_data.Path) -> str:
        line = toml_data.line_of(path, lines())
        file = f"{name}:{line}" if line else name
        return f"{file}: {toml_data.dotted(path)}" if path else file

    return place


def _explain(item: Any) -> list[Finding]:
    """The findings of one validation error of pydantic, in the terms of the file."""
    parts = (part for part in item["loc"] if part not in (METRIC_NAME, METRIC_TABLE))
    path: toml_data.Path = tuple("beside" if part == BESIDE else part for part in parts)
    if item["type"] == BAD_TUNABLES:
        return [((*path, name), message) for name, message in item["ctx"]["faults"]]
    return [_explain_field(item, path)]


def _explain_field(item: Any, path: toml_data.Path) -> Finding:
    kind, message = item["type"], str(item["msg"])
    if kind == "extra_forbidden":
        return path, f"unknown key{_elsewhere(path) or _nearest(str(path[-1]), _keys_at(path))}"
    if kind == "missing":
        return path, "is missing" + (
            " (a table: write the table as [[…]])" if path in (("variant",), ("workload",)) else ""
        )
    if kind == "too_short":
        return path, "is empty: give at least one value"
    if kind in ("literal_error", "enum"):
        expected = str(item["ctx"]["expected"])
        names = [word.strip("'\" ") for word in expected.replace(" or ", ",").split(",")]
        return (
            path,
            f"{_shortened(item['input'])} is not one of {', '.join(names)}{_nearest(str(item['input']), names)}",
        )
    if kind == "string_pattern_mismatch":
        is_switch = path[:2] == ("factorial", "switches")
        return path[:3] if is_switch else path, f"{_shortened(item['input'])} cannot be {_allowed(path, is_switch)}"
    message = message.removeprefix("Value error, ").replace("Input should be", "should be")
    shown = "" if kind == "value_error" else f" (is {_shortened(item['input'])})"
    # pydantic appends the type's name for each branch of a union; the file has no such key.
    return tuple(part for part in path if part not in ("int", "bool", "float", "str")), message + shown


def _allowed(path: toml_data.Path, is_switch: bool) -> str:
    """Return what a text with a pattern is, and the characters that it may have."""
    characters = "letters, digits, '_', '.' and '-' only"
    if path[2:3] == ("metrics",) and path[-1] == "unit":
        return "a unit: no blank, comma or bracket"
    if path[2:3] == ("metrics",):
        return f"a name: {characters} (no blank), a letter first"
    if is_switch or path[:1] == ("group",):
        return f"a name: {characters}"
    if path[-1] == "target":
        return "a target of make: letters, digits, '_', '-', '/' and '.' only"
    return "a name: no slash, comma, newline or leading blank"


def _shortened(value: object) -> str:
    """The value as Python writes it, in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text)} characters)"


def _keys_at(path: toml_data.Path) -> list[str]:
    if path[2:3] == ("metrics",):
        return [field.alias or name for name, field in Figure.model_fields.items()]
    table = _TABLES.get(str(path[0])) if len(path) > 1 else None
    if path[:2] == ("factorial", "switches") and len(path) > 3:
        table = State
    if "hook" in path[:-1]:
        table = HookTable
    return list(table.model_fields) if table else [*_TABLES, "tunable"]


def _elsewhere(path: toml_data.Path) -> str:
    """A hint for a key that another table has."""
    tables = [name for name, table in _TABLES.items() if path[-1] in table.model_fields and name != path[0]]
    return f"; it belongs in {' or '.join(f'[{name}]' for name in tables)}" if tables else ""


def _nearest(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; keys of this table: {', '.join(sorted(names))}"


def _check(experiment: Experiment) -> Iterator[Finding]:
    """Check rules across fields: repeated labels, sequential designs, workloads and their parameters."""
    yield from _check_labels(experiment)
    yield from _check_stopping(experiment)
    for i, table in enumerate(experiment.workload):
        yield from _check_workload(i, table)
        yield from _check_loads(i, table)
    yield from _check_groups(experiment)


def _check_variants(experiment: Experiment) -> Iterator[Finding]:
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
            hint = _nearest(name, names) if names else "; declare it in a [[group]] table"
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
            yield ("attribution", "stack"), f"no variant is called {name!r}{_nearest(name, names)}"
        if times > 1:
            yield ("attribution", "stack"), f"{name!r} is in the stack {times} times"


def _check_workload(i: int, table: WorkloadTable) -> Iterator[Finding]:
    try:
        workload = adapter(table.use)
    except UnknownWorkload as error:
        hint = "" if error.reason else _nearest(table.use, workload_names())
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
            yield (*path, "use"), f"{error}{'' if error.reason else _nearest(load.use, workload_names())}"
        except ValidationError as error:
            names = [*workload.parameters.model_fields, *BesideTable.model_fields]
            yield from (_parameter_fault(item, load.use, names, path) for item in error.errors())


def _parameter_fault(item: Any, use: str, names: list[str], path: toml_data.Path) -> Finding:
    place, message = _explain_field(item, tuple(item["loc"]))
    if item["type"] == "extra_forbidden":
        message = f"{use!r} has no parameter {place[-1]!r}{_nearest(str(place[-1]), names)}"
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
            yield path, f"{table.use!r} has no metric {name!r}{_nearest(name, every)}"


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

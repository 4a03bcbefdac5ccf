"""The search space of ``schedlab tune``, its points, and the experiment that confirms a winner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.errors import ExperimentError
from schedlab.experiment import toml_data
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment, Variant
from schedlab.experiment.plan import rows
from schedlab.experiment.sweep import attribute_texts, attributes
from schedlab.experiment.sweep_table import Factor, TuneTable, Value
from schedlab.notation import toml_text
from schedlab.notation.units import counted
from schedlab.tunables import lookup, model_setting

WINNER = "winner"
"""Name of the best point in the run that confirms it."""

WIDE = 100
"""Ratio of the ends of a catalogue range from which the search is logarithmic."""


@dataclass(frozen=True)
class Wanted:
    """What the command line adds to a file: objectives and constraints (metrics), tunables, and the first points."""

    objectives: Sequence[str] = ()
    constraints: Sequence[str] = ()
    tunables: Sequence[str] = ()
    first: Sequence[Mapping[str, Value]] = ()


def tunable_file(text: str, name: str, wanted: Wanted) -> str:
    """Return the text of the file with these objectives, constraints and first points, and with factors for tunables
    of the catalogue. The workload judges the objectives and constraints.

    ExperimentError for a tunable without a range in the catalogue.
    """
    data = toml_data.read(text, name)
    table = data.get("tune", {})
    if not isinstance(table, dict) or (not table and wanted == Wanted()):
        return text
    named = {"objectives": [*wanted.objectives], "constraints": [*wanted.constraints], "first": [*wanted.first]}
    table = {**table, **{key: values for key, values in named.items() if values}}
    if table:
        objectives = table.get("objectives") or _judged(parse(text, name), table.get("constraints", []))
        data["tune"] = {**table, "objectives": objectives}
        for workload in data.get("workload", []):
            declared = {each["name"]: each for each in workload.get("metrics", []) if isinstance(each, dict)}
            metrics = [*objectives, *table.get("constraints", [])]
            workload["metrics"] = [declared.get(metric, metric) for metric in metrics]
    if wanted.tunables:
        factors = data.setdefault("sweep", {}).setdefault("factors", {})
        factors |= {tunable: _catalogue_range(tunable) for tunable in wanted.tunables}
    return toml_text.document(data)


def _judged(experiment: Experiment, constraints: Sequence[str]) -> list[str]:
    """Return the judged metrics that are no constraints; ExperimentError unless there is one."""
    judged = [metric for row in rows(experiment) for metric in row.judged if metric not in constraints]
    if len(judged) != 1:
        message = (
            f"the file judges {counted(len(judged), 'metric')} apart from the constraints: {', '.join(judged[:5])}"
        )
        todo = "name the metrics to improve: --metric NAME, --objective NAME"
        raise ExperimentError(message, where=experiment.experiment.name, todo=todo)
    return judged


def roles(experiment: Experiment) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the metrics that a search improves (() for the file's judged metric), and those that limit the search."""
    table = experiment.tune or TuneTable()
    return table.objectives, table.constraints


def first_points(experiment: Experiment, factors: Mapping[str, Factor]) -> list[dict[str, Value]]:
    """Return the points that a search measures first; ExperimentError for values outside the search space."""
    points = []
    for values in (experiment.tune or TuneTable()).first:
        for name, factor in factors.items():
            if name not in values or not factor.has(values[name]):
                todo = "each point of [tune] first has a value of the range or list of every factor"
                where = experiment.experiment.name
                raise ExperimentError(f"{name} = {values.get(name)} is not in the search space", where=where, todo=todo)
        points.append({name: values[name] for name in factors})
    return points


def _catalogue_range(name: str) -> dict[str, Any] | list[Any]:
    """Return the factor of a tunable with the range or the choices of the catalogue."""
    tunable = lookup(name)
    if tunable.choices:
        return [choice.value for choice in tunable.choices]
    if tunable.kind in ("bool", "feature"):
        return [False, True]
    if tunable.minimum is None or tunable.maximum is None:
        todo = f'write the range into the file: [sweep.factors] "{name}" = {{ from = 1, to = 100 }}'
        raise ExperimentError(f"the catalogue has no range of {name!r}", where="--tunable", todo=todo)
    low, high = tunable.minimum, tunable.maximum
    if low <= 0 and high > WIDE:
        return {"from": 1, "to": high, "scale": "log"}
    return {"from": low, "to": high, "scale": "log" if low > 0 and high / low > WIDE else "linear"}


def space(experiment: Experiment) -> dict[str, Factor]:
    """Return the factors of the search; ExperimentError when the file has none, other variants or other factors."""
    where = experiment.experiment.name
    if experiment.sweep is None:
        todo = "add tunables to [sweep.factors], or name tunables of the catalogue with --tunable"
        raise ExperimentError("the file has no search space", where=where, todo=todo)
    if len(experiment.variant) != 1:
        todo = "keep one [[variant]], the default that the points are compared with"
        raise ExperimentError("a search has one variant", where=where, todo=todo)
    factors = experiment.sweep.factors
    if other := [name for name, factor in factors.items() if not factor.is_tunable and not factor.is_attribute]:
        todo = "'schedlab sweep' varies machines, models and parameters of the workload"
        raise ExperimentError(f"{other[0]} is not a tunable, and a search sets tunables", where=where, todo=todo)
    return dict(experiment.sweep.factors)


def without_space(experiment: Experiment) -> Experiment:
    """Return the experiment without the search space."""
    return experiment.model_copy(update={"sweep": None, "tune": None})


def point_name(values: Mapping[str, Value]) -> str:
    """Return the name of a point, which identifies its values in the store: ``sched.migration_cost_ns=65000``."""
    return " ".join(f"{name}={value}" for name, value in values.items())


def values_of(name: str, factors: Mapping[str, Factor]) -> dict[str, Value]:
    """Return the values of a point by its name."""
    written = dict(part.split("=", 1) for part in name.split(" "))
    return {key: _value(factor, written[key]) for key, factor in factors.items()}


def _value(factor: Factor, text: str) -> Value:
    if factor.low is None:
        return next(level for level in factor.levels if str(level) == text)
    return int(text) if isinstance(factor.low, int) and isinstance(factor.high, int) else float(text)


def point_variant(baseline: Variant, factors: Mapping[str, Factor], values: Mapping[str, Value]) -> Variant:
    """Return the baseline with the values of a point."""
    settings = [model_setting(name, value) for name, value in values.items() if factors[name].is_tunable]
    tunables = {**baseline.tunables, **{setting.name: setting for setting in settings}}
    changes = {"name": point_name(values), "description": "", "tunables": tunables, **attributes(factors, values)}
    return baseline.model_copy(update=changes)


def winner_names(number: int) -> list[str]:
    """Return the names of winners in the run that confirms them."""
    return [WINNER] if number == 1 else [f"{WINNER}-{place}" for place in range(1, number + 1)]


def confirmation(
    text: str, factors: Mapping[str, Factor], points: Sequence[Mapping[str, Value]], blocks: int | None, alpha: float
) -> tuple[Experiment, str]:
    """Return the experiment of the baseline and the winners, and its text. All its verdicts are corrected together.

    Args:
        text: text of the search's file.
        factors: the search space.
        points: the values of each winner.
        blocks: number of blocks; default the file's.
        alpha: error rate of all verdicts together.
    """
    data = {key: value for key, value in toml_data.read(text, "the search").items() if key not in ("sweep", "tune")}
    (baseline,) = data["variant"]
    winners = [
        {
            **baseline,
            "name": name,
            "description": "",
            "tunables": baseline.get("tunables", {})
            | {key: value for key, value in values.items() if factors[key].is_tunable},
            **attribute_texts(factors, values),
        }
        for name, values in zip(winner_names(len(points)), points, strict=True)
    ]
    data["variant"] = [baseline, *winners]
    data["analysis"] = data.get("analysis", {}) | {"family": "run", "alpha": alpha}
    if blocks is not None:
        data["design"] = data.get("design", {}) | {"blocks": blocks}
    confirming = toml_text.document(data)
    return parse(confirming, "the confirmation"), confirming

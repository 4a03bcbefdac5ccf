"""The search space of ``schedlab tune``, its points, and the experiment that confirms a winner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.errors import ExperimentError
from schedlab.experiment import toml_data
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment, Variant
from schedlab.experiment.sweep_table import Factor, Value
from schedlab.notation import toml_text
from schedlab.tunables import lookup, model_setting

WINNER = "winner"
"""Name of the best point in the run that confirms it."""

WIDE = 100
"""Ratio of the ends of a catalogue range from which the search is logarithmic."""


def tunable_file(text: str, name: str, metric: str | None, tunables: Sequence[str]) -> str:
    """Return the text of the file with the metric of the search, and with factors for tunables of the catalogue.

    ExperimentError for a tunable without a range in the catalogue.
    """
    if metric is None and not tunables:
        return text
    data = toml_data.read(text, name)
    if metric is not None:
        for table in data.get("workload", []):
            declared: list[Any] = [
                each for each in table.get("metrics", []) if isinstance(each, dict) and each["name"] == metric
            ]
            table["metrics"] = declared or [metric]
    if tunables:
        factors = data.setdefault("sweep", {}).setdefault("factors", {})
        factors |= {tunable: _catalogue_range(tunable) for tunable in tunables}
    return toml_text.document(data)


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
    if other := [name for name, factor in experiment.sweep.factors.items() if not factor.is_tunable]:
        todo = "'schedlab sweep' varies machines, models and parameters of the workload"
        raise ExperimentError(f"{other[0]} is not a tunable, and a search sets tunables", where=where, todo=todo)
    return dict(experiment.sweep.factors)


def without_space(experiment: Experiment) -> Experiment:
    """Return the experiment without the search space."""
    return experiment.model_copy(update={"sweep": None})


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


def point_variant(baseline: Variant, values: Mapping[str, Value]) -> Variant:
    """Return the baseline with the values of a point."""
    settings = [model_setting(name, value) for name, value in values.items()]
    tunables = {**baseline.tunables, **{setting.name: setting for setting in settings}}
    return baseline.model_copy(update={"name": point_name(values), "description": "", "tunables": tunables})


def confirmation(text: str, values: Mapping[str, Value], blocks: int | None) -> tuple[Experiment, str]:
    """Return the experiment of the baseline and the winner, and its text.

    Args:
        text: text of the search's file.
        values: the winner's values.
        blocks: number of blocks; default the file's.
    """
    data = {key: value for key, value in toml_data.read(text, "the search").items() if key != "sweep"}
    (baseline,) = data["variant"]
    tunables = {**baseline.get("tunables", {}), **values}
    data["variant"] = [baseline, {**baseline, "name": WINNER, "description": "", "tunables": tunables}]
    if blocks is not None:
        data["design"] = data.get("design", {}) | {"blocks": blocks}
    confirming = toml_text.document(data)
    return parse(confirming, "the confirmation"), confirming

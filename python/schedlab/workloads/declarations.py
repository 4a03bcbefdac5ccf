"""The registry of native workloads, ``crates/workload/src/library``, without pydantic: a simulation starts quickly.

Each workload is declared in one Rust file: its parameters with ranges, defaults and documentation, its metrics, and the
program that it runs. :mod:`schedlab.workloads.native` derives the adapters from the same declarations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from schedlab.extension import extension
from schedlab.notation.units import parse_time_ns


@dataclass(frozen=True)
class Prepared:
    """A workload with its parameters: the program as JSON, the arguments of ``schedload``, an estimate.

    ``metrics`` are the names of the metrics that the program reports.
    """

    program: str
    arguments: tuple[str, ...]
    seconds: float
    metrics: frozenset[str]


@cache
def definitions() -> dict[str, Any]:
    """Return the registry's entries by name, in the order of the documentation."""
    return {each["name"]: each for each in json.loads(extension().workloads())}


def names() -> list[str]:
    """Return the names of the native workloads, in the order of the documentation."""
    return list(definitions())


@lru_cache(maxsize=8192)
def prepared(workload: str, parameters: str, cpus: int) -> Prepared:
    """Prepare a workload for a machine of ``cpus`` CPUs; ValueError names the parameter that is wrong.

    ``parameters`` is a JSON object; times are nanoseconds.
    """
    program, arguments, seconds = extension().native_program(workload, parameters, cpus)
    metrics = frozenset(metric["name"] for metric in json.loads(program)["metrics"])
    return Prepared(program, tuple(arguments), seconds, metrics)


def prepared_if_valid(workload: str, parameters: Mapping[str, Any], cpus: int) -> Prepared | None:
    """Prepare a workload with parameters as in an experiment file; None unless the crate accepts all parameters.

    The model of :mod:`schedlab.workloads.native` accepts the same parameters, and names every fault of refused
    parameters.
    """
    times = {each["name"]: each for each in definitions()[workload]["parameters"] if each["kind"] == "time"}
    try:
        values = {
            name: time_parser(times[name])(value) if name in times else value for name, value in parameters.items()
        }
        return prepared(workload, json.dumps(values), cpus)
    except (ValueError, TypeError):
        return None


def time_parser(parameter: Mapping[str, Any]) -> Callable[[object], int]:
    """Return the function that reads a time with a unit, or a number of seconds where the parameter allows it."""
    shortest, longest = parameter["minimum"], parameter["maximum"]

    def parse(value: object) -> int:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        ns = parse_time_ns(f"{value:f}s" if is_number and parameter["seconds"] else value)
        if not parse_time_ns(shortest) <= ns <= parse_time_ns(longest):
            raise ValueError(f"{value!r} is not from {shortest} to {longest}")
        return ns

    return parse
